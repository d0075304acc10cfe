"""libnmstate: shows the world as a document, compares one with it, and applies one through NetworkManager.

An apply makes a checkpoint, writes profiles, activates them, and looks until the result is what was asked for; it rolls
back by itself where it is not. What a worker can do wrong is a `Trouble`.
"""

from __future__ import annotations

import contextlib
import errno
import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nodenet.core.network_manager.profiles import Profile
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.nmstate.state import addresses, still_asked, uplinks
from nodenet.core.ownership.things import NO_OTHERS, Others
from simulation.addressing import NICS
from simulation.disk import NO_DESCRIPTORS
from simulation.kernel import USUAL_MTU
from simulation.keyfile import FAMILIES, gateways_of, ip_address, is_port, static_of
from simulation.manager_memory import Point
from simulation.names import as_written
from simulation.nmstate_change import write_bridges, write_nics
from simulation.nmstate_document import (
    Document,
    document_of,
    ip_settings,
    refuse_unknown_types,
    shown,
    wanted_destinations,
)

if TYPE_CHECKING:
    from simulation.life import Life

VERIFY_SECONDS = 5.0
SILENT = "NetworkManager does not answer"
"""What an apply ends with that NetworkManager, or the bus, does not answer."""


@dataclass(slots=True, eq=False)
class Trouble:
    """What goes wrong with the worker: *where* in an apply (``before``, ``made``, ``after``), and *how*.

    *how* is a kind of failure, ``hang`` or ``die``; *times*: with how many applies. Two of them that are alike are two.
    """

    where: str
    how: str
    times: int = 1


class Nmstate:
    """The port."""

    def __init__(self, life: Life) -> None:
        self._life, self._world = life, life.world
        self._shown: tuple[tuple[int, int, int], Document] | None = None
        self._is_file = False
        """Whether the apply is one of a node file."""

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Nmstate]:
        await self._cross("begin", 0.02)
        if self._world.disk.closed:
            raise OSError(errno.EMFILE, NO_DESCRIPTORS)  # the process that runs libnmstate has no pipes
        yield self

    async def _cross(self, name: str, seconds: float) -> None:
        await self._life.cross(f"nmstate.{name}", seconds)

    async def validate(self, text: str) -> bool:
        await self._cross("validate", 0.01)
        document_of(text)
        return False

    async def show(self, *, secrets: bool = False) -> Document:  # noqa: ARG002  (nothing is secret here)
        await self._cross("show", self._world.show_seconds)
        self._need_manager()
        return self.state()

    async def difference(self, text: str, others: Others = NO_OTHERS) -> Document:
        await self._cross("difference", self._world.show_seconds)
        self._need_manager()
        return self._with_hand(document_of(text), self.missing(document_of(text), self.state(), others))

    async def compare(self, text: str, state: Mapping[str, Any]) -> Document:
        await self._cross("compare", self._world.show_seconds)
        return self.missing(document_of(text), state)

    async def of_policy(self, text: str, filled: str, state: Mapping[str, Any]) -> Document:  # noqa: ARG002
        await self._cross("of_policy", self._world.show_seconds)
        return self.missing(document_of(filled), state)

    async def difference_below(self, text: str, bridges: Collection[str], others: Others = NO_OTHERS) -> Document:
        await self._cross("difference_below", self._world.show_seconds)
        self._need_manager()
        moved = uplinks(self.state(), bridges)
        missing = self.missing(document_of(text), self.state(), others)
        return self._with_hand(document_of(text), still_asked(missing, moved))

    async def apply(
        self,
        text: str,
        rollback_timeout: int,
        seconds: float,
        made: Callable[[str], None],
        patched: Collection[str] = (),  # noqa: ARG002  (no program has patch ports here)
    ) -> str | None:
        self._world.apply_until = deadline = self._world.now + seconds
        self._world.apply_began_dark = not self._world.kernel.has_network
        if self._world.panics:
            self._world.panics.applied(text)
        node_files = self._world.disk.node_files
        self._is_file = text.encode() in node_files or as_written(self._world, text).encode() in node_files
        if self._is_file:
            self._world.rules.hands.applied()
            self._world.rules.committed = False
        else:
            self._world.rules.bridge_tried()
        try:
            return await self._apply(document_of(text), rollback_timeout, deadline, made)
        finally:
            self._world.apply_until = 0.0

    async def _apply(self, document: Document, seconds: int, deadline: float, made: Callable[[str], None]) -> str:
        self._world.applying = True
        try:
            point = await self._make_point(seconds, deadline)
        finally:
            self._world.applying = False
        made(point.path)
        await self._cross("apply.made", 0.05)
        try:
            await self._meet("made", deadline)
            self._need_manager()
            refuse_unknown_types(document)
            write_bridges(self._world, document)
            await self._cross("apply.half", 0.0)  # each profile is a call of its own
            self._need_manager()
            write_nics(self._world, document)
            await self._cross("apply.written", 0.1)
            await self._meet("after", deadline)
            await self._verify(document, deadline)
        except NmstateFailure as failure:
            await self._back(point, failure)
            raise
        return point.path

    async def _make_point(self, seconds: float, deadline: float) -> Point:
        await self._cross("apply.begin", 0.05)
        self._need_manager()
        await self._meet("before", deadline)
        if self._world.manager.memory.points:
            raise NmstateFailure(FailureKind.BUSY, "another checkpoint exists")
        return self._world.manager.checkpoint(seconds, foreign=False)

    async def _back(self, point: Point, failure: NmstateFailure) -> None:
        """Libnmstate rolls back what it has refused itself; a process that is gone does not."""
        if failure.kind in (FailureKind.KILLED, FailureKind.DIED):
            return
        await self._cross("apply.back", 0.2)
        if self._world.manager.running and point.path in self._world.manager.memory.points:
            self._world.manager.roll_back(point.path)

    async def _meet(self, where: str, deadline: float) -> None:
        trouble = next((one for one in self._world.troubles if one.where == where and one.times > 0), None)
        if trouble is None:
            return
        trouble.times -= 1
        if trouble.how == "die":
            raise NmstateFailure(FailureKind.DIED, "the process that runs libnmstate died (signal 11)")
        if trouble.how == "hang":
            await self._life.cross("nmstate.apply.hangs", max(deadline - self._world.now, 0.0), exactly=True)
            raise NmstateFailure(FailureKind.KILLED, "libnmstate did not finish `apply` in time")
        raise NmstateFailure(FailureKind(trouble.how), f"libnmstate failed ({trouble.how})")

    async def _verify(self, document: Document, deadline: float) -> None:
        until = self._world.now + VERIFY_SECONDS
        while True:
            self._need_manager()
            if not (left := self.missing(document)):
                return
            if self._world.now > min(until, deadline):
                raise NmstateFailure(FailureKind.VERIFICATION, f"not as asked for: {json.dumps(left)[:200]}")
            await self._cross("apply.verify", 0.25)

    async def commit(self, checkpoint: str | None) -> None:
        await self._cross("commit", 0.05)
        self._need_manager()
        if checkpoint is None or not self._world.manager.commit(checkpoint):
            raise NmstateFailure(FailureKind.PLUGIN, f"the checkpoint {checkpoint} does not exist")
        self._world.rules.committed = self._world.rules.committed or self._is_file
        if self._is_file:
            self._world.rules.leases_are_held()
        else:
            self._world.rules.bridge_failed_at = None

    def _need_manager(self) -> None:
        manager = self._world.manager
        if not manager.running or manager.hung or not self._world.bus_up:
            raise NmstateFailure(FailureKind.UNAVAILABLE, SILENT)

    # -- what is there

    def state(self) -> Document:
        """Return the document of the present state."""
        world = self._world
        version = world.kernel.version, world.manager.version, world.ovs.version
        if self._shown is None or self._shown[0] != version:
            self._shown = version, shown(world)
        return self._shown[1]

    def missing(
        self, document: Document, state: Mapping[str, Any] | None = None, others: Others = NO_OTHERS
    ) -> Document:
        """Return what *document* asks for beyond what is there. Raises NmstateFailure for what cannot be.

        An address that *state* shows and no *others* have put there is a difference where the document lists others.
        """
        nics = [item for item in document.get("interfaces", ()) if item["type"] in NICS and item["state"] == "up"]
        if gone := [item["name"] for item in nics if item["name"] not in self._world.kernel.links]:
            raise NmstateFailure(FailureKind.INVALID, f"Interface {gone[0]} does not exist")
        items = [
            item
            for item in document.get("interfaces", ())
            if not self._is_there(item, document) or self._has_more(item, state, others)
        ]
        return {"interfaces": items} if items else {}

    def _with_hand(self, document: Document, missing: Document) -> Document:
        """Return what a file asks for beyond the network, with the values that were changed by hand."""
        items = {item["name"]: item for item in missing.get("interfaces", ())}
        for item in document.get("interfaces", ()):
            name = item["name"]
            changed = set(self._world.rules.hands.standing(name))
            if "mtu" in changed:
                items[name] = items.get(name, {key: item[key] for key in ("name", "type", "state")}) | {
                    "mtu": USUAL_MTU
                }
            if "gateway" in changed:
                items[name] = items.get(name, item)
        return {"interfaces": list(items.values())} if items else {}

    def _has_more(self, item: Document, shown: Mapping[str, Any] | None, others: Others) -> bool:
        """Whether the link has a static address that *item*, which lists all, does not name."""
        link = self._world.kernel.links.get(item["name"])
        if shown is None or link is None or item["type"] == "ovs-bridge" or item["state"] == "absent":
            return False
        listed = {one["ip"] for family in FAMILIES for one in item.get(family, {}).get("address") or ()}
        theirs = {str(address) for address, (_, _, who) in link.addresses.items() if who == "ovn"}
        return bool(theirs & addresses(shown, item["name"]) - listed - others.addresses(item["name"]))

    def _has_bridge(self, item: Document) -> bool:
        row = self._world.ovs.rows.get(item["name"]) if self._world.ovs.database_up else None
        if row is None or item["state"] == "absent":
            return (row is None) is (item["state"] == "absent")
        mark: Document = item.get("ovs-db", {}).get("external_ids", {})
        ports = {port["name"] for port in item["bridge"]["port"]}
        return ports == set(row.ports) and mark.items() <= row.external_ids.items()

    def _is_there(self, item: Document, document: Document) -> bool:
        world, name = self._world, item["name"]
        if item["type"] == "ovs-bridge":
            return self._has_bridge(item)
        if item["state"] == "absent":
            return name not in world.kernel.links
        device = world.manager.memory.devices.get((item["type"], name))
        profile = world.manager.memory.profiles.get(device.profile or "") if device else None
        if name not in world.kernel.links or profile is None or device is None:
            return False
        return all(self._has_ip(item, document, profile, family) for family in FAMILIES)

    def _has_ip(self, item: Document, document: Document, profile: Profile, family: str) -> bool:
        link = self._world.kernel.links[item["name"]]
        wanted = ip_settings(item, document, family)
        if wanted is None:
            return True
        if is_port(profile) and item["type"] in NICS:
            return bool(wanted["method"] == "disabled")
        version = int(family[-1])
        held = {str(one) for one in static_of(profile) if one.version == version}
        asked = {f"{one['address']}/{one['prefix']}" for one in wanted["address-data"]}
        known = gateways_of(item["type"], profile)
        gateways = {str(gateway) for gateway in known if gateway.version == version}
        same = profile.setting(family, "method", "disabled") == wanted["method"]
        there = all(ip_address(one["address"]) in link.addresses for one in wanted["address-data"])
        return bool(same and there and held == asked and gateways == wanted_destinations(wanted))
