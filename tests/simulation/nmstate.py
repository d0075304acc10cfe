"""libnmstate: shows the world as a document, compares one with it, and applies one through NetworkManager.

An apply makes a checkpoint, writes profiles, activates them, and looks until the result is what was asked for; it rolls
back by itself where it is not. What a worker can do wrong is a `Trouble`.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from nodenet.core.br_ex.facts import MARK
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.nmstate import below_bridge
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from simulation.addressing import Device
from simulation.kernel import SimulatedLink
from simulation.keyfile import gateways_of, is_port, made, metric_of, static_of
from simulation.network_manager import Point
from simulation.open_vswitch import Row

if TYPE_CHECKING:
    from simulation.world import Life

VERIFY_SECONDS = 5.0
AUTOMATIC6 = {"enabled": True, "dhcp": True, "autoconf": True, "address": []}
Document = dict[str, Any]


@dataclass(slots=True)
class Trouble:
    """What goes wrong with the worker: *where* in an apply (``before``, ``made``, ``after``), and *how*.

    *how* is a kind of failure, ``hang`` or ``die``; *times*: with how many applies.
    """

    where: str
    how: str
    times: int = 1


class Nmstate:
    """The port."""

    def __init__(self, life: Life) -> None:
        self._life, self._world = life, life.world
        self._shown: tuple[tuple[int, int, int], Document] | None = None

    @contextlib.asynccontextmanager
    async def transaction(self) -> AsyncIterator[Nmstate]:
        await self._cross("begin", 0.02)
        yield self

    async def _cross(self, name: str, seconds: float) -> None:
        await self._life.cross(f"nmstate.{name}", seconds)

    async def validate(self, text: str) -> bool:
        await self._cross("validate", 0.01)
        document_of(text)
        return False

    async def show(self) -> Document:
        await self._cross("show", self._world.show_seconds)
        self._need_manager()
        return self.state()

    async def difference(self, text: str) -> Document:
        await self._cross("difference", self._world.show_seconds)
        self._need_manager()
        return self.missing(document_of(text))

    async def compare(self, text: str, state: Mapping[str, Any]) -> Document:  # noqa: ARG002  (it is of this moment)
        await self._cross("compare", self._world.show_seconds)
        return self.missing(document_of(text))

    async def difference_below(self, text: str, bridges: Collection[str]) -> Document:
        await self._cross("difference_below", self._world.show_seconds)
        self._need_manager()
        moved = below_bridge.uplinks(self.state(), bridges)
        return below_bridge.still_asked(self.missing(document_of(text)), moved)

    async def apply(self, text: str, rollback_timeout: int, seconds: float, made: Callable[[str], None]) -> str | None:
        deadline = self._world.now + seconds
        document = document_of(text)
        self._world.applying = True
        try:
            point = await self._make_point(rollback_timeout, deadline)
        finally:
            self._world.applying = False
        made(point.path)
        await self._cross("apply.made", 0.05)
        try:
            await self._meet("made", deadline)
            self._write(document)
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
            await self._cross("apply.hangs", max(deadline - self._world.now, 0.0))
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

    def _need_manager(self) -> None:
        manager = self._world.manager
        if not manager.running or manager.hung or not self._world.bus_up:
            raise NmstateFailure(FailureKind.UNAVAILABLE, "NetworkManager does not answer")

    # -- what is there

    def state(self) -> Document:
        """Return the document of the present state."""
        world = self._world
        version = world.kernel.version, world.manager.version, world.ovs.version
        if self._shown is None or self._shown[0] != version:
            self._shown = version, self._state()
        return self._shown[1]

    def _state(self) -> Document:
        world = self._world
        interfaces = [_bridge_item(row) for row in world.ovs.rows.values() if world.ovs.database_up]
        running, config = [], []
        for name, link in world.kernel.links.items():
            kind = "ovs-interface" if link.kind else "ethernet"
            device = world.manager.memory.devices.get((kind, name))
            profile = world.manager.memory.profiles.get(device.profile or "") if device else None
            interfaces.append(_link_item(link, kind, profile))
            running += [_route(name, str(gateway), metric) for gateway, metric in link.gateways.items()]
            if device and profile:
                known = gateways_of(profile, metric_of(device.kind, profile))
                config += [_route(name, str(gateway), metric) for gateway, metric in known.items()]
        interfaces.append({"name": "lo", "type": "loopback", "state": "up", "ipv4": {"enabled": False}})
        routes = {"running": running, "config": config}
        return {"interfaces": interfaces, "routes": routes, "route-rules": {"config": []}, "dns-resolver": {}}

    def missing(self, document: Document) -> Document:
        """Return what *document* asks for beyond what is there. Raises NmstateFailure for what cannot be."""
        nics = [item for item in document.get("interfaces", ()) if (item["type"], item["state"]) == ("ethernet", "up")]
        if gone := [item["name"] for item in nics if item["name"] not in self._world.kernel.links]:
            raise NmstateFailure(FailureKind.INVALID, f"Interface {gone[0]} does not exist")
        items = [item for item in document.get("interfaces", ()) if not self._is_there(item, document)]
        return {"interfaces": items} if items else {}

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
        link = world.kernel.links.get(name)
        device = world.manager.memory.devices.get((item["type"], name))
        profile = world.manager.memory.profiles.get(device.profile or "") if device else None
        if link is None or profile is None or device is None:
            return False
        return self._has_ip(item, document, device, profile)

    def _has_ip(self, item: Document, document: Document, device: Device, profile: Profile) -> bool:
        link = self._world.kernel.links[item["name"]]
        wanted = _ip_settings(item, document)
        if wanted is None:
            return True
        if not is_port(profile) and item.get("ipv6", {}).get("enabled") is (_ipv6_method(profile) == "disabled"):
            return False
        now = profile.settings.get("ipv4", {})
        if is_port(profile) and item["type"] == "ethernet":
            return bool(wanted["method"] == "disabled")
        same = now.get("method", "disabled") == wanted["method"]
        same &= {str(one) for one in static_of(profile)} == {
            f"{one['address']}/{one['prefix']}" for one in wanted["address-data"]
        }
        same &= _destinations(profile, device) == _wanted_destinations(wanted)
        there = all(any(str(ip) == one["address"] for ip in link.addresses) for one in wanted["address-data"])
        return bool(same and there)

    # -- how it becomes what is asked for

    def _write(self, document: Document) -> None:
        """Write the profiles of *document* and activate them, the bridge first."""
        items = document.get("interfaces", ())
        gone = [item for item in items if item["state"] == "absent"]
        present = [item for item in items if item["state"] != "absent"]
        bridges = [item for item in present if item["type"] == "ovs-bridge"]
        ports = {port["name"]: item["name"] for item in bridges for port in item["bridge"]["port"]}
        for item in gone:
            self._remove(item["name"])
        for item in bridges:
            self._write_bridge(item)
        for item in present:
            if item["type"] == "ovs-interface":
                self._write_interface(item, document)
        for item in present:
            if item["type"] == "ethernet":
                self._write_nic(item, document, ports.get(item["name"]))

    def _remove(self, name: str) -> None:
        manager = self._world.manager
        kinds = ("ovs-interface", "ovs-port", "ovs-bridge")
        for profile in [one for one in manager.memory.profiles.values() if one.kind in kinds]:
            if name in (profile.link, profile.setting("connection", "controller")):
                manager.delete(profile.uuid)

    def _profile(self, kind: str, link: str, name: str, more: Document, *, port_of: str = "") -> Profile:
        """Write a profile of *kind* for *link*: the one that there is, with *more*, or another one."""
        manager = self._world.manager
        before = next((one for one in manager.memory.profiles.values() if (one.kind, one.link) == (kind, link)), None)
        uuid = before.uuid if before else f"c0000000-0000-4000-8000-{manager.new_number():012x}"
        connection = {"id": before.name if before else name, "uuid": uuid, "type": kind, "interface-name": link}
        if port_of:
            connection |= {"controller": port_of, "port-type": "ovs-bridge" if kind == "ovs-port" else "ovs-port"}
        kept = {} if before is None else {key: value for key, value in before.settings.items() if key not in more}
        settings = kept | more | {"connection": connection}
        profile = made(settings, before.path if before and before.on_disk else "", on_disk=True)
        manager.put(profile)
        return manager.memory.profiles[uuid]

    def _write_bridge(self, item: Document) -> None:
        manager, name = self._world.manager, item["name"]
        marks = item.get("ovs-db", {}).get("external_ids", {})
        datapath = item["bridge"].get("options", {}).get("datapath", "")
        more = {"ovs-external-ids": {"data": marks}, "ovs-bridge": {"datapath-type": datapath}}
        profile = self._profile("ovs-bridge", name, f"{name}-br", more)
        for port in item["bridge"]["port"]:
            self._profile("ovs-port", port["name"], f"{port['name']}-port", {}, port_of=name)
        device = manager.memory.devices.setdefault(("ovs-bridge", name), Device(name, "ovs-bridge"))
        manager.activate(device, profile)

    def _write_interface(self, item: Document, document: Document) -> None:
        manager, name = self._world.manager, item["name"]
        above = self._world.kernel.links.get(str(item.get("copy-mac-from")))
        ip = _ip_settings(item, document) or {}
        ip |= {"route-metric": item["ipv4"]["auto-route-metric"]} if item["ipv4"].get("auto-route-metric") else {}
        more = {"ipv4": ip | {"dhcp-timeout": 2**31 - 1}, "802-3-ethernet": {}} | _ipv6_settings(item)
        more["802-3-ethernet"] = {"cloned-mac-address": above.mac} if above else {}
        profile = self._profile("ovs-interface", name, f"{name}-if", more, port_of=name)
        device = manager.memory.devices.setdefault(("ovs-interface", name), Device(name, "ovs-interface"))
        if device.profile == profile.uuid and device.state == 100:
            manager.ip.configure(device, profile)
        else:
            manager.activate(device, profile)

    def _write_nic(self, item: Document, document: Document, bridge: str | None) -> None:
        manager, name = self._world.manager, item["name"]
        device = manager.memory.devices.get(("ethernet", name))
        if device is None:
            raise NmstateFailure(FailureKind.INVALID, f"Interface {name} does not exist")
        if bridge:
            profile = self._profile("802-3-ethernet", name, name, {"ipv4": {}, "ipv6": {}}, port_of=name)
        else:
            ip = _ip_settings(item, document)
            profile = self._profile(
                "802-3-ethernet", name, name, ({"ipv4": ip} if ip is not None else {}) | _ipv6_settings(item)
            )
        manager.activate(device, profile)


def document_of(text: str) -> Document:
    """Return a document; the world's are JSON. Raises NmstateFailure for one that libnmstate refuses."""
    try:
        found: Document = json.loads("".join(line for line in text.splitlines() if not line.startswith("#")))
    except ValueError as error:
        raise NmstateFailure(FailureKind.INVALID, f"invalid document: {error}") from error
    for item in found.get("interfaces", ()):
        if item.get("type") not in ("ethernet", "ovs-bridge", "ovs-interface"):
            raise NmstateFailure(FailureKind.DEPENDENCY, f"{item.get('type')} is not supported")
    return found


def _ip_settings(item: Document, document: Document) -> Document | None:
    """Return the IPv4 settings that an interface asks for, None where it says nothing of them."""
    ip = item.get("ipv4")
    if ip is None:
        return None
    if not ip.get("enabled"):
        return {"method": "disabled", "address-data": [], "route-data": []}
    addresses = [{"address": one["ip"], "prefix": one["prefix-length"]} for one in ip.get("address") or ()]
    routes = [
        {"dest": host, "prefix": int(length), "next-hop": route["next-hop-address"]}
        | ({"metric": route["metric"]} if "metric" in route else {})
        for route in document.get("routes", {}).get("config", ())
        if route["next-hop-interface"] == item["name"]
        for host, _, length in [route["destination"].partition("/")]
    ]
    return {"method": "auto" if ip.get("dhcp") else "manual", "address-data": addresses, "route-data": routes}


def _destinations(profile: Profile, device: Device) -> set[str]:
    return {str(gateway) for gateway in gateways_of(profile, metric_of(device.kind, profile))}


def _wanted_destinations(wanted: Document) -> set[str]:
    return {route["next-hop"] for route in wanted["route-data"] if route["prefix"] == 0}


def _bridge_item(row: Row) -> Document:
    ports = [{"name": name} for name in sorted(row.ports)]
    options = {"datapath": row.datapath}
    return {
        "name": row.name,
        "type": "ovs-bridge",
        "state": "up",
        "ipv4": {"enabled": False},
        "ipv6": {"enabled": False},
        "ovs-db": {"external_ids": {key: value for key, value in row.external_ids.items() if key == MARK}},
        "bridge": {"options": options, "port": ports},
    }


def _link_item(link: SimulatedLink, kind: str, profile: Profile | None) -> Document:
    below = profile is None or (is_port(profile) and kind == "ethernet")
    method = "disabled" if profile is None or below else profile.setting("ipv4", "method", "disabled")
    addresses = [
        {"ip": str(address), "prefix-length": prefix} | ({"valid-life-time": "3600sec"} if leased else {})
        for address, (prefix, leased, _) in link.addresses.items()
    ]
    ip: Document = {"enabled": bool(addresses) or method != "disabled", "address": addresses}
    if method == "auto":
        ip |= {"dhcp": True, "auto-dns": True, "auto-gateway": True, "auto-routes": True, "auto-route-table-id": 0}
    item = {"name": link.name, "type": kind, "state": "up", "mac-address": link.mac, "mtu": 1500, "ipv4": ip}
    item["ipv6"] = dict(AUTOMATIC6) if profile and not below and _ipv6_method(profile) == "auto" else {"enabled": False}
    return item


def _ipv6_method(profile: Profile) -> str:
    return str(profile.setting("ipv6", "method", "disabled"))


def _ipv6_settings(item: Document) -> Document:
    return {"ipv6": {"method": "auto" if item["ipv6"].get("enabled") else "disabled"}} if "ipv6" in item else {}


def _route(link: str, gateway: str, metric: int) -> Document:
    hop = {"next-hop-interface": link, "next-hop-address": gateway}
    return {"destination": "0.0.0.0/0", "metric": metric, "table-id": 254} | hop
