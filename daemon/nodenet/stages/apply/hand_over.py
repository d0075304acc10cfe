"""How does traffic go on when a change puts a link in the place of another one below a bridge?

The flows of OVN-Kubernetes have the port number of the link, and the switches send what is for the bridge to the old
cable. libnmstate verifies for a second or two before it returns. So, as soon as the new port is there, it asks for the
number, and the addresses of the bridge are announced. A question to the gateway would not do: the kernel repeats one
that is lost after a second, and only the switches on its way see it.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterable
from collections.abc import Set as AbstractSet

import structlog

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.open_vswitch import Numbers, OvsBridge, handed_over, kept, links_of, parse, render
from nodenet.core.ownership.rule import is_of_another
from nodenet.core.value import frozen
from nodenet.ports import Files, Kernel, Neighbours, Ovsdb, Profiles, Store
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.records import OFPORTS, Records

log = structlog.get_logger()


@frozen
class Ofports:
    """The numbers of the links below the bridges of this node."""

    ovsdb: Ovsdb
    profiles: Profiles
    files: Files
    store: Store

    async def keep(self) -> None:
        """Let each link ask for its number. Raises Unavailable, PublishFailed."""
        if not self.ovsdb.answers():
            return
        bridges = [bridge for bridge in await self.ovsdb.bridges() if links_of(bridge)]
        if not bridges:
            return
        known = self.known()
        if (wanted := kept(bridges, known)) != known:
            Records(self.files, self.store).save(OFPORTS, render(wanted))
        for bridge in bridges:
            for link, item in links_of(bridge).items():
                number = wanted.get(bridge.name, {}).get(link)
                if number and item.ofport_request != number:
                    await self.note(link, number)  # first: the database forgets it with the port
                    await self.ovsdb.request_ofport(link, number)
                    if item.ofport not in (None, number):
                        text = f"{link} is port {number} of {bridge.name} again; Open vSwitch had made it {item.ofport}"
                        log.warning(text, message=Message.BRIDGE_MENDED, stage="configure-ovs")

    def known(self) -> dict[str, dict[str, int]]:
        """Return the numbers as they were after the last pass. Raises PublishFailed."""
        return Records(self.files, self.store).load(OFPORTS, parse) or {}

    async def note(self, link: str, number: int) -> None:
        """Let the profile of *link* ask for *number*. Raises Unavailable."""
        devices = (await self.profiles.inventory()).devices
        # The port of Open vSwitch has the name of its link, and a device and a profile of its own.
        device = next((each for each in devices if each.link == link and not each.kind.startswith("ovs-")), None)
        if device and device.profile:
            await self.profiles.set(device.profile.uuid, {"ovs-interface": {"ofport-request": number}})


LOOK_SECONDS = 0.05
EACH_OF, THEN_ONE_IN = 8, 8
"""How many looks after a port of a bridge has changed announce its addresses, and how many of those after them: Open
vSwitch takes a moment to give a port another number and loses what is sent meanwhile, and a bond or a switch port may
carry later."""


@frozen
class HandOver:
    """Watches the bridges during a change."""

    ofports: Ofports
    neighbours: Neighbours
    kernel: Kernel

    @classmethod
    def of(cls, edges: StageEdges) -> HandOver:
        """Return that of this node."""
        ofports = Ofports(edges.ovsdb, edges.profiles, edges.files, edges.store)
        return cls(ofports, edges.neighbours, edges.kernel)

    @contextlib.asynccontextmanager
    async def watched(self, links: AbstractSet[str]) -> AsyncIterator[None]:
        """Let the links that the block puts below a bridge take over; *links* are those of the change.

        Nothing is raised: the next pass asks for the numbers as well.
        """
        try:
            bridges = [each for each in await self._bridges() if links & {each.name, *links_of(each)}]
            known = self.ofports.known() if bridges else {}
        except (Unavailable, PublishFailed) as error:
            log.info(f"The ports of Open vSwitch are not watched: {error.cause}", stage="configure-ovs")
            known = {}
        if not known:
            yield
            return
        given: dict[str, int] = {}
        looks: dict[str, int] = {}
        watch = asyncio.create_task(self._watch(bridges, known, given, looks))
        try:
            yield
            if looks:  # the first announcements may be lost with the old number of the port
                await asyncio.sleep(EACH_OF * LOOK_SECONDS)
        finally:
            watch.cancel()
            await asyncio.wait([watch])
        try:
            await self._hand_over(await self._bridges(), known, given)  # the watch may have missed the last port
            for link, number in given.items():
                await self.ofports.note(link, number)
        except Unavailable as error:
            log.info(f"A port number is not asked for yet: {error.cause}", stage="configure-ovs")

    async def _hand_over(self, bridges: Iterable[OvsBridge], known: Numbers, given: dict[str, int]) -> None:
        """Ask for the numbers in the database, and add them to *given*. Raises Unavailable."""
        for bridge in bridges:
            for link, number in handed_over(bridge, known).items():
                await self.ofports.ovsdb.request_ofport(link, number)
                given[link] = number

    async def _watch(
        self, before: Iterable[OvsBridge], known: Numbers, given: dict[str, int], looks: dict[str, int]
    ) -> None:
        """Hand over what there is to hand over, and announce it: libnmstate has the profiles meanwhile."""
        below = {bridge.name: _ports(bridge) for bridge in before}
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            with contextlib.suppress(Unavailable):
                bridges = await self._bridges()
                await self._hand_over(bridges, known, given)
                for bridge in bridges:
                    if bridge.name in below and below[bridge.name] != (now := _ports(bridge)):
                        below[bridge.name], looks[bridge.name] = now, 0
            for name, count in looks.items():
                looks[name] += 1
                if below[name] and (count < EACH_OF or count % THEN_ONE_IN == 0):
                    with contextlib.suppress(Unavailable):
                        self._announce(name)

    def _announce(self, bridge: str) -> None:
        """Raises Unavailable."""
        there = (each for each in self.kernel.snapshot().addresses if each.link == bridge and not each.is_tentative)
        # Those of OVN-Kubernetes are the same on every node.
        self.neighbours.announce(bridge, [each.address for each in there if not is_of_another(each)])

    async def _bridges(self) -> tuple[OvsBridge, ...]:
        return await self.ofports.ovsdb.bridges() if self.ofports.ovsdb.answers() else ()


def _ports(bridge: OvsBridge) -> dict[str, int | None]:
    return {name: item.ofport for name, item in links_of(bridge).items()}
