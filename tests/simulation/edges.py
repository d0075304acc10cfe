"""The world behind the ports: each edge asks the world, at the price of some time, and fails as the real one does."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePath, PurePosixPath
from typing import TYPE_CHECKING, Any

from nodenet.core.errors import NodeFileInvalid, PublishFailed, RollbackFailed, Unavailable
from nodenet.core.hostname.sources import Source
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.network_manager.availability import ManagerState, Service
from nodenet.core.network_manager.checkpoint import Checkpoint
from nodenet.core.network_manager.objects import DISCONNECTED, Inventory
from nodenet.core.network_manager.profile_backup import KeptProfile
from nodenet.core.network_manager.profiles import Device, Lease4, Profile
from nodenet.core.node_ip.unit_environment import UnitEnvironment
from nodenet.core.open_vswitch.bridges import OvsBridge
from nodenet.core.resolver.view import ManagerDns
from nodenet.core.unit_stage.unit import Unit
from simulation.addressing import Device as SimulatedDevice
from simulation.keyfile import made

if TYPE_CHECKING:
    from simulation.world import Life, World

STALLED_SECONDS = 5.0
"""After which a call of the bus is given up."""
READ_ONLY = "net/ipv4/conf/mc_forwarding"
"""Set by multicast routers only (ip-sysctl of the kernel)."""
FORWARDING = "net/ipv4/conf/forwarding"
DEFAULTS = {FORWARDING: "0", READ_ONLY: "0"}
WORDS = {20: "unavailable", 30: DISCONNECTED, 40: "preparing", 70: "getting its IP configuration", 100: "activated"}


@dataclass(slots=True)
class Edge:
    """What every edge has: the world, and the process that it serves."""

    life: Life

    @property
    def world(self) -> World:
        return self.life.world

    async def bus(self, name: str, seconds: float = 0.002) -> None:
        """Call over the bus. Raises Unavailable."""
        life = self.life
        await life.cross(name, seconds)
        if self.world.bus_stalled:
            await life.cross(f"{name}.stalled", STALLED_SECONDS)
            if self.world.bus_stalled:
                raise Unavailable("the system bus does not answer")
        if not self.world.bus_up:
            raise Unavailable("the system bus cannot be reached")


@dataclass(slots=True)
class Clock(Edge):
    def boottime(self) -> float:
        return self.world.now - self.world.boot_began

    def unix(self) -> float:
        return self.world.wall + self.world.now

    def elsewhere(self) -> float:
        return 0.0


@dataclass(slots=True)
class Files(Edge):
    def listing(self, directory: PurePath) -> tuple[str, ...]:
        return self.world.disk.listing(str(directory))

    def read_node_file(self, directory: PurePath, name: str) -> bytes:
        path = str(directory / name)
        if path in self.world.disk.unreadable:
            raise NodeFileInvalid(f"{path} cannot be read: Input/output error", remedy="Correct or remove it")
        return self.world.disk.content[path]

    def read(self, path: PurePath) -> bytes | None:
        if str(path) in self.world.disk.unreadable:
            raise PublishFailed(f"{path} cannot be read: Input/output error", remedy="Look at `journalctl -k`")
        return self.world.disk.read(str(path))

    def leads_to(self, path: PurePath) -> PurePosixPath | None:
        return self.world.disk.links.get(str(path))

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:  # noqa: ARG002
        disk, where = self.world.disk, str(path)
        if disk.content.get(where) == content and where not in disk.links:
            return False
        self._change("write", where)
        disk.links.pop(where, None)
        disk.writes.append(where)
        self.world.rules.written(where, content)
        disk.write_synced(where, content)
        self.life.step("files.written")
        return True

    def remove(self, path: PurePath) -> bool:
        disk, where = self.world.disk, str(path)
        if where not in disk.content:
            return False
        self._change("remove", where)
        disk.writes.append(where)
        self.world.rules.written(where, None)
        disk.write_synced(where, None)
        self.life.step("files.removed")
        return True

    def sync(self, directory: PurePath) -> None:
        self.life.step("files.sync")
        if why := self.world.disk.why_not(f"{directory}/"):
            raise PublishFailed(f"{directory} cannot be synced: {why}", remedy="Look at `df -h`")
        self.world.disk.sync(f"{directory}/")
        self.life.step("files.synced")

    def _change(self, what: str, path: str) -> None:
        self.life.step(f"files.{what}")
        if why := self.world.disk.why_not(path):
            raise PublishFailed(f"{path} cannot be written: {why}", remedy="Look at `df -h`")


@dataclass(slots=True)
class Host(Edge):
    def name(self) -> str:
        return self.world.static_name or self.world.transient_name

    async def pin(self, name: str) -> str | None:
        try:
            await self.bus("host.pin")
        except Unavailable as error:
            return error.cause
        self.world.static_name = name
        self.world.disk.write_unsynced("/etc/hostname", name.encode() + b"\n")
        return None


@dataclass(slots=True)
class LeaseNames(Edge):
    async def names(self) -> tuple[Source, ...]:
        return ()


@dataclass(slots=True)
class Manager(Edge):
    async def _ask(self, name: str, seconds: float = 0.003) -> None:
        await self.bus(name, seconds)
        manager = self.world.manager
        if not manager.running:
            raise Unavailable("org.freedesktop.NetworkManager is not on the bus")
        if manager.hung:
            await self.life.cross(f"{name}.hung", STALLED_SECONDS)
            if manager.hung or not manager.running:
                raise Unavailable("org.freedesktop.NetworkManager does not answer")

    async def state(self) -> ManagerState:
        try:
            await self._ask("manager.state")
        except Unavailable:
            if self.world.bus_stalled or not self.world.bus_up:
                return ManagerState.NO_BUS
            return ManagerState.SILENT if self.world.manager.running else ManagerState.ABSENT
        return ManagerState.STARTING if self.world.manager.memory.startup else ManagerState.READY

    async def owner(self) -> str:
        await self.bus("manager.owner")
        if not self.world.manager.running:
            raise Unavailable("org.freedesktop.NetworkManager is not on the bus")
        return f":1.{self.world.manager.memory.number}"

    async def checkpoints(self) -> tuple[Checkpoint, ...]:
        await self._ask("manager.checkpoints")
        began = self.world.boot_began
        return tuple(Checkpoint(one.path, one.created - began) for one in self.world.manager.memory.points.values())

    async def fragile_dns(self) -> object | None:
        await self._ask("manager.fragile_dns")
        return None

    async def restore_dns(self, configuration: object) -> None:  # noqa: ARG002
        await self._ask("manager.restore_dns")

    async def roll_back(self, checkpoint: str) -> None:
        await self._ask("manager.roll_back", 0.4)
        manager = self.world.manager
        if manager.rollback_fails:
            raise RollbackFailed(f"NetworkManager could not roll back checkpoint {checkpoint}: it failed")
        if checkpoint not in manager.memory.points:
            raise RollbackFailed(f"NetworkManager could not roll back checkpoint {checkpoint}: it does not exist")
        if manager.memory.points[checkpoint].foreign:
            self.world.rules.blame("P5", f"the checkpoint {checkpoint} of another program was rolled back")
        manager.roll_back(checkpoint)


@dataclass(slots=True)
class Profiles(Manager):
    async def inventory(self, *, profiles: bool = True) -> Inventory:
        await self._ask("profiles.inventory", 0.01)
        memory, links = self.world.manager.memory, self.world.kernel.links
        devices, states = [], {}
        order = sorted(memory.devices.values(), key=lambda one: one.kind != "ovs-bridge")
        for device in order:
            profile = memory.profiles.get(device.profile or "")
            link = links.get(device.link)
            mac = link.mac if link and device.kind != "ovs-bridge" else None
            lease = self._lease(device)
            devices.append(Device(device.link, device.kind, mac, mac, profile if profiles else None, lease))
            states[device.link] = WORDS.get(device.state, "failed")
        settled = frozenset(one.link for one in order if one.state in (100, 120))
        automatic = frozenset(
            one.link
            for one in order
            if one.state in (40, 70) and (known := memory.profiles.get(one.profile or "")) and not known.on_disk
        )
        found = tuple(memory.profiles.values()) if profiles else ()
        return Inventory(tuple(devices), found, states, self.world.manager.has_ovs, False, settled, automatic)

    def _lease(self, device: SimulatedDevice) -> Lease4 | None:
        if device.lease is None:
            return None
        left = device.lease_until - self.world.now
        expires = self.world.wall + device.lease_until
        return Lease4(device.lease, device.gateway, None, expires, max(left, 0.0), ())

    async def set(self, uuid: str, changes: Mapping[str, Mapping[str, Any]]) -> bool:
        await self._ask("profiles.set", 0.01)
        before = self._profile(uuid)
        settings = {section: dict(values) for section, values in before.settings.items()}
        for section, values in changes.items():
            for key, value in values.items():
                part = settings.setdefault(section, {})
                part.pop(key, None)
                if value is not None:
                    part[key] = value
        if settings == before.settings:
            return False
        self.world.manager.put(made(settings, before.path if before.on_disk else "", on_disk=True))
        return True

    def _profile(self, uuid: str) -> Profile:
        found = self.world.manager.memory.profiles.get(uuid)
        if found is None:
            raise Unavailable(f"NetworkManager has no profile {uuid}", remedy="Look at `nmcli connection`")
        return found

    def _device(self, link: str) -> SimulatedDevice:
        devices = self.world.manager.memory.devices
        found = devices.get(("ovs-interface", link)) or devices.get(("ethernet", link))
        if found is None:
            raise Unavailable(f"NetworkManager has no device {link}", remedy="Look at `nmcli device`")
        return found

    async def keep(self, uuid: str) -> KeptProfile:
        await self._ask("profiles.keep", 0.01)
        profile = self._profile(uuid)
        settings = {section: dict(values) for section, values in profile.settings.items()}
        settings["connection"]["interface-name"] = ["variant", "s", ["plain", profile.link]]
        return KeptProfile(uuid, profile.name, profile.path, not profile.on_disk, settings)

    async def give_back(self, kept: KeptProfile) -> None:
        await self._ask("profiles.give_back", 0.02)
        settings = {section: dict(values) for section, values in kept.settings.items()}
        settings["connection"]["interface-name"] = settings["connection"]["interface-name"][2][1]
        self.world.manager.put(made(settings, kept.path, on_disk=not kept.in_memory))

    async def load(self, file: str) -> None:
        await self._ask("profiles.load")
        if not self.world.manager.load(file):
            raise Unavailable(f"NetworkManager cannot load {file}")

    async def delete(self, uuid: str) -> bool:
        await self._ask("profiles.delete", 0.02)
        self.world.rules.profile_deleted(uuid)
        return self.world.manager.delete(uuid)

    async def reapply(self, link: str) -> None:
        await self._ask("profiles.reapply", 0.02)
        device = self._device(link)
        if device.profile is None:
            raise Unavailable(f"NetworkManager does not reapply the profile of {link}: not active")
        before = self.world.kernel.held(link)
        self.world.manager.ip.configure(device, self._profile(device.profile))
        self.world.rules.addresses_taken(link, before - self.world.kernel.held(link))

    async def ask_again(self, link: str) -> None:
        await self._ask("profiles.ask_again", 0.02)
        device = self._device(link)
        if device.profile is not None:
            self.world.manager.ip.ask(device)

    async def activate(self, uuid: str, link: str) -> None:
        await self._ask("profiles.activate", 0.02)
        device, profile = self._device(link), self._profile(uuid)
        self.world.manager.activate(device, profile)

    async def connect(self, link: str) -> None:
        await self._ask("profiles.connect", 0.02)
        device = self._device(link)
        if found := self.world.manager.candidates(device):
            self.world.manager.activate(device, found[0])


@dataclass(slots=True)
class Ovsdb(Edge):
    def answers(self) -> bool:
        self.life.step("ovsdb.answers")
        return self.world.ovs.database_up

    async def _ask(self, name: str, seconds: float = 0.005) -> None:
        await self.life.cross(name, seconds)
        if not self.world.ovs.database_up:
            raise Unavailable("Open vSwitch's database cannot be reached")

    async def prove_alive(self, seconds: float = 5.0) -> None:
        await self._ask("ovsdb.prove_alive")
        if not self.world.ovs.switch_up:
            await self.life.cross("ovsdb.prove_alive.waits", seconds)
            if not self.world.ovs.switch_up:
                raise Unavailable("ovs-vswitchd does not carry out what the database says")

    async def has_kernel_datapath(self) -> bool:
        await self._ask("ovsdb.has_kernel_datapath")
        return self.world.ovs.has_datapath

    async def bridges(self) -> tuple[OvsBridge, ...]:
        await self._ask("ovsdb.bridges")
        return self.world.ovs.seen(frozenset(self.world.kernel.links))

    async def remove_bridge(self, name: str) -> bool:
        await self._ask("ovsdb.remove_bridge")
        row = self.world.ovs.rows.get(name)
        if row is None:
            return False
        self.world.rules.bridge_removed(row)
        del self.world.ovs.rows[name]
        self.world.kernel.remove(name)
        self.world.ovs.touch()
        return True

    async def remove_port(self, bridge: str, name: str) -> bool:
        await self._ask("ovsdb.remove_port")
        row = self.world.ovs.rows.get(bridge)
        if row is None or name not in row.ports:
            return False
        if not row.ports[name][1]:
            self.world.rules.blame("P5", f"the port {name} of another program was removed from {bridge}")
        del row.ports[name]
        self.world.ovs.touch()
        return True

    async def mark_bridge(self, name: str, key: str, value: str) -> None:
        await self._ask("ovsdb.mark_bridge")
        if row := self.world.ovs.rows.get(name):
            row.external_ids[key] = value

    async def park_ovn(self) -> bool:
        await self._ask("ovsdb.park_ovn")
        before, self.world.ovs.parked = self.world.ovs.parked, True
        return not before


@dataclass(slots=True)
class Sysctls(Edge):
    defaults: dict[str, str] = field(default_factory=lambda: dict(DEFAULTS))

    def _values(self, link: str) -> dict[str, str] | None:
        if link == "default":
            return self.defaults
        found = self.world.kernel.links.get(link)
        if found is None:
            return None
        if not found.sysctls:
            found.sysctls = dict(self.defaults) | ({READ_ONLY: "1", FORWARDING: "1"} if found.kind is None else {})
        return found.sysctls

    def of_link(self, link: str) -> dict[str, str]:
        return dict(self._values(link) or {})

    def read(self, link: str, name: str) -> str | None:
        return (self._values(link) or {}).get(name)

    def write(self, link: str, values: Mapping[str, str]) -> tuple[str, ...]:
        self.life.step("sysctls.write")
        own = self._values(link)
        if own is None:
            raise Unavailable(f"there is no link {link}")
        changed = tuple(name for name, value in values.items() if own.get(name) != value)
        if READ_ONLY in changed:
            raise Unavailable(f"{READ_ONLY} of {link} cannot be written: Operation not permitted")
        own.update(values)
        return changed


@dataclass(slots=True)
class Neighbours(Edge):
    async def answers(self, address: IPAddress, link: str, seconds: float) -> bool:
        await self.life.cross("neighbours.answers", 0.001)
        until = self.world.now + seconds
        while True:
            segment = self.world.segment_of(link)
            if segment is not None and segment.gateway == address and segment.gateway_up:
                return True
            if self.world.now >= until:
                return False
            await self.life.cross("neighbours.asks", min(0.5, max(until - self.world.now, 0.01)))

    def known(self, link: str) -> tuple[Neighbour, ...]:  # noqa: ARG002
        return ()

    def learn(self, link: str, neighbours: Iterable[Neighbour]) -> None:
        pass


@dataclass(slots=True)
class KernelEdge(Edge):
    def snapshot(self) -> Snapshot:
        self.life.step("kernel.snapshot")
        if self.world.kernel_silent:
            raise Unavailable("the kernel does not answer: No buffer space available")
        return self.world.kernel.snapshot()

    def can_bind(self, address: IPAddress, link_index: int) -> bool:  # noqa: ARG002
        return self.world.kernel.nonlocal_bind or self.world.kernel.place_of(address) is not None


@dataclass(slots=True)
class SystemdEdge(Edge):
    async def _ask(self, name: str) -> bool:
        """Return whether systemd answers; it has a socket of its own, and needs no bus."""
        await self.life.cross(name, 0.003)
        if self.world.systemd.silent:
            await self.life.cross(f"{name}.silent", STALLED_SECONDS)
        return not self.world.systemd.silent

    async def reload(self) -> None:
        answers = await self._ask("systemd.reload")
        if not answers or self.world.systemd.refuses_reload:
            raise PublishFailed("systemd did not read its units again", remedy="Run `systemctl daemon-reload`")
        await self.life.cross("systemd.reloading", 0.1)
        if not self.world.systemd.deaf:
            self.world.systemd.read()

    async def any_runs(self, units: Sequence[str]) -> bool | None:  # noqa: ARG002
        return self.world.systemd.kubelet_runs if await self._ask("systemd.any_runs") else None

    async def environment(self, unit: str) -> UnitEnvironment | None:
        if not await self._ask("systemd.environment"):
            raise Unavailable("systemd does not answer")
        return self.world.systemd.environment(unit)

    async def service(self, name: str) -> Service | None:
        if not await self._ask("systemd.service"):
            return None
        if name == "nodenetd.service":
            return Service(active_state="active" if self.world.systemd.active else "activating")
        return Service(active_state="active" if self.world.manager.running else "activating")

    async def start_failed(self, name: str) -> str | None:  # noqa: ARG002
        await self._ask("systemd.start_failed")
        return None


@dataclass(slots=True)
class DnsManager(Manager):
    async def dns(self) -> ManagerDns | None:
        try:
            await self._ask("dns.configuration")
        except Unavailable:
            return None
        return ManagerDns("symlink")

    async def read_configuration(self) -> str | None:
        try:
            await self._ask("dns.read_configuration")
        except Unavailable as error:
            return error.cause
        return None

    async def repeat_lookups(self) -> str | None:
        return await self.read_configuration()


@dataclass(slots=True)
class Resolved(Edge):
    async def runs(self) -> bool:
        await self.life.cross("resolved.runs", 0.001)
        return False

    async def reload(self) -> None:
        await self.life.cross("resolved.reload", 0.001)


@dataclass(slots=True)
class ResolverProbe(Edge):
    async def answers(self, address: IPAddress, name: str, port: int | None = None) -> bool:  # noqa: ARG002
        await self.life.cross("resolver.answers", 0.01)
        return self.world.kernel.place_of(address) is not None and self.world.dns_answers


@dataclass(slots=True)
class Units(Edge):
    async def unit(self, name: str) -> Unit:
        await self.bus("units.unit")
        return Unit(name, name)

    async def start(self, unit: Unit) -> None:  # noqa: ARG002
        await self.bus("units.start")

    def ended(self, unit: Unit) -> str | None:  # noqa: ARG002
        return None


@dataclass(slots=True)
class UplinkLinks(Edge):
    def link(self, name: str) -> Link | None:
        self.life.step("links.link")
        return next((link for link in self.world.kernel.snapshot().links if link.name == name), None)

    def listen(self, names: Sequence[str], changed: Callable[[], None]) -> None:  # noqa: ARG002
        self.life.step("links.listen")
        if self.world.listeners:
            self.world.listeners.link = changed

    def close(self) -> None:
        if self.life.alive and self.world.listeners:
            self.world.listeners.link = None


@dataclass(slots=True)
class NameServers(Edge):
    """The simulated network has no DNS server beyond the node: none is watched."""

    def files(self) -> tuple[bytes | None, bytes | None]:
        self.life.step("name_servers.files")
        return None, None

    def ask(self, servers: Collection[IPAddress]) -> None:
        pass

    def answered(self) -> frozenset[IPAddress]:
        return frozenset()

    def close(self) -> None:
        pass
