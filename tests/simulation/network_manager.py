"""NetworkManager: profiles, devices, DHCP clients, its start, and its checkpoints, which die with it."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from nodenet.core.network_manager.profiles import Profile
from simulation.addressing import NICS, Addressing, Device
from simulation.keyfile import DIRECTORY, IN_RUN, bond_of, is_port, made, parsed, rendered
from simulation.manager_devices import has_controller, make_automatic, make_ovs_devices, make_virtual_links
from simulation.manager_memory import Memory, Point
from simulation.ovs_plugin import clean_up, join, leave_bridges, make_internal, make_row, remove_device

if TYPE_CHECKING:
    from simulation.world import World

AGAIN_SECONDS = 0.2  # between two looks at whether what an activation needs is there
RETRY_SECONDS = 60.0  # after which a failed activation is tried again


class NetworkManager:
    """*signal* is called after each change."""

    def __init__(self, world: World, signal: Callable[[], None]) -> None:
        self._world = world
        self.signal = signal
        self.ip = Addressing(world, self)
        self._starts, self._points, self._numbers = itertools.count(1), itertools.count(1), itertools.count(1)
        self.running = False
        self.hung = False
        self.has_ovs = True
        self.start_seconds = 0.5
        self.rollback_fails = self.rolls_back_partly = False
        self.not_rolled_back: set[str] = set()
        """The checkpoints whose rollback it has refused; they end by their own time-out."""
        self.restarts = 0
        self.memory = Memory(0)
        self._used: dict[str, float] = {}  # UUID → when it was activated last, on the disk
        self.version = 0
        self.applies: list[float] = []
        """When our checkpoints were made (CLOCK_BOOTTIME of the world)."""

    def new_number(self) -> int:
        """Return a number for another profile."""
        return next(self._numbers)

    # -- process

    def start(self) -> None:
        self.running, self.hung = True, False
        self.memory = Memory(next(self._starts), began=self._world.now)
        self._world.rules.manager_started()
        self.later(self.start_seconds, self._read)
        self.touch()

    def stop(self) -> None:
        """The process is gone: the links keep what they have."""
        self.running, self.hung = False, False
        self.memory = Memory(self.memory.number)
        self.touch()

    def crash(self, seconds: float = 1.0) -> None:
        if self.running:
            self.stop()
            self.restarts += 1
            self._world.after_in_boot(seconds, lambda: None if self.running else self.start())

    def touch(self) -> None:
        self.version += 1
        self.signal()

    def later(self, seconds: float, work: Callable[[], None]) -> None:
        number = self.memory.number

        def due() -> None:
            if self.running and self.memory.number == number:
                work()

        self._world.after_in_boot(seconds, due)

    # -- profiles

    def _read(self) -> None:
        """Read all keyfiles; a torn one is passed over."""
        for directory, on_disk in ((DIRECTORY, True), (IN_RUN, False)):
            for name in self._world.disk.listing(directory):
                path = f"{directory}/{name}"
                if (settings := parsed(self._world.disk.read(path))) is not None:
                    profile = made(settings, path, on_disk=on_disk)
                    self.memory.profiles[profile.uuid] = profile
        self.memory.read = True
        clean_up(self, self._world)
        self.see_links()
        self.later(0.3, self._end_startup)

    def _end_startup(self) -> None:
        if any(device.state in (40, 70) for device in self.memory.devices.values()):
            self.later(0.3, self._end_startup)
        elif self.memory.startup:
            self.memory.startup = False
            self.touch()

    def put(self, profile: Profile) -> None:
        """Add or replace a profile, in memory or as a keyfile. Activates nothing by itself."""
        before = self.memory.profiles.get(profile.uuid)
        if profile.on_disk and not profile.path:
            path = f"{DIRECTORY}/{profile.name}.nmconnection"
            profile = made(profile.settings, path, on_disk=True)
        if before and before.path and before.path != profile.path:
            self._world.disk.write_unsynced(before.path, None)
        if profile.on_disk and (before is None or before.settings != profile.settings or not before.on_disk):
            self._world.disk.write_by_manager(profile.path, rendered(profile.settings))
        self.memory.profiles[profile.uuid] = profile
        self.touch()

    def load(self, path: str) -> bool:
        settings = parsed(self._world.disk.read(path))
        if settings is None:
            return False
        profile = made(settings, path, on_disk=True)
        self.memory.profiles[profile.uuid] = profile
        self.touch()
        return True

    def delete(self, uuid: str) -> bool:
        profile = self.memory.profiles.pop(uuid, None)
        if profile is None:
            return False
        if profile.path:
            self._world.disk.write_unsynced(profile.path, None)
        for device in [one for one in self.memory.devices.values() if one.profile == uuid]:
            self.down(device)
            if device.kind.startswith("ovs-"):
                remove_device(self, self._world, device)
        self.touch()
        self.later(0.02, self.see_links)
        return True

    # -- devices

    def see_links(self) -> None:
        """Look at the kernel's links: each NIC has a device; a free one is given its best profile."""
        if not self.memory.read:
            return
        links, devices = self._world.kernel.links, self.memory.devices
        for name, link in links.items():
            if link.kind is None and ("ethernet", name) not in devices:
                devices["ethernet", name] = Device(name, "ethernet")
                self._world.kernel.set_up(name, up=True)  # once: a link that is set down later stays down
                make_automatic(self, name, link.mac)
        for key in [key for key in devices if key[0] in NICS and key[1] not in links]:
            self.down(devices.pop(key))
        make_virtual_links(self, self._world)
        make_ovs_devices(self)
        for device in list(devices.values()):
            self.autoconnect(device)
        self.touch()

    def candidates(self, device: Device) -> list[Profile]:
        """Return the profiles that may be activated on *device*, best first: priority, then the last one used."""
        kind = NICS.get(device.kind, device.kind)
        found = [one for one in self.memory.profiles.values() if one.link == device.link and one.kind == kind]
        usable = [one for one in found if not is_port(one) or has_controller(self.memory.profiles.values(), one)]
        return sorted(usable, key=self._rank)

    def _rank(self, one: Profile) -> tuple[int, float, str]:
        return -one.setting("connection", "autoconnect-priority", 0), -self._used.get(one.uuid, 0.0), one.uuid

    def autoconnect(self, device: Device) -> None:
        if device.profile is not None or device.state == 120:
            return
        link = self._world.kernel.links.get(device.link)
        # A bond gets its carrier from ports that NetworkManager attaches once it is active.
        if device.kind in ("ethernet", "vlan") and (link is None or not link.carrier):
            device.state = 20
            return
        if found := self.candidates(device):
            if self.memory.startup:
                self.ip.assume(device)
            self.activate(device, found[0])

    def activate(self, device: Device, profile: Profile) -> None:
        """Begin to activate *profile* on *device*."""
        for other in self.memory.devices.values():  # a profile is active on one device
            if other is not device and other.profile == profile.uuid:
                self.down(other)
                self.later(0.02, self.see_links)
        if device.profile is not None:
            self.down(device)
        device.profile, device.state = profile.uuid, 40
        self._used[profile.uuid] = self._world.now
        device.turn += 1
        turn = device.turn
        self.later(self._world.random.uniform(0.02, 0.1), lambda: self._configure(device, turn))
        self.touch()

    def down(self, device: Device) -> None:
        """Take away what the active profile has given the link."""
        device.turn += 1
        device.asking += 1
        device.soliciting += 1
        device.profile, device.lease, device.gateway, device.announced, device.state = None, None, None, None, 30
        device.strayed, device.given_up = None, False
        self.ip.flush(device)
        if device.kind in NICS:
            self._world.kernel.free(device.link)
            leave_bridges(self._world, device.link)
        self.touch()

    def _configure(self, device: Device, turn: int) -> None:
        if device.turn != turn or device.profile is None:
            return
        profile = self.memory.profiles[device.profile]
        if device.kind == "ovs-bridge":
            make_row(self, self._world, device, profile)
        elif device.kind == "ovs-interface":
            make_internal(self, self._world, device, profile, turn)
        elif bond := bond_of(profile):
            if self._world.kernel.enslave(device.link, bond):
                device.state = 100
                self.touch()
            else:
                self.again(device, turn, 30.0)
        elif device.kind == "bond" and not self._world.kernel.links[device.link].below:
            self.again(device, turn, 30.0)  # a bond waits for its first port
        elif is_port(profile):
            join(self, self._world, device, profile, turn)
        else:
            self.ip.configure(device, profile)

    def again(self, device: Device, turn: int, seconds: float) -> None:
        """Wait for what is not there yet, for some time."""
        device.tries += 1
        if device.tries > seconds / AGAIN_SECONDS:
            self.fail(device)
        else:
            self.later(AGAIN_SECONDS, lambda: self._configure(device, turn))

    def fail(self, device: Device) -> None:
        self.ip.flush(device)
        device.state, device.profile, device.lease, device.announced = 120, None, None, None
        device.strayed = None
        device.asking += 1
        device.soliciting += 1
        self.touch()
        turn, device.tries = device.turn, 0
        self.later(RETRY_SECONDS, lambda: self._retry(device, turn))

    def _retry(self, device: Device, turn: int) -> None:
        if device.turn == turn and device.state == 120:
            device.state = 30
            self.autoconnect(device)

    # -- checkpoints

    def checkpoint(self, seconds: float, *, foreign: bool) -> Point:
        now = self._world.now
        path = f"/org/freedesktop/NetworkManager/Checkpoint/{next(self._points)}"
        actives = {key: device.profile for key, device in self.memory.devices.items()}
        point = Point(path, now, dict(self.memory.profiles), actives, foreign, self._world.boottime, seconds)
        if not foreign:
            self.applies.append(now)
        self._keep_until(point, seconds)
        return point

    def _keep_until(self, point: Point, left: float) -> None:
        points, path = self.memory.points, point.path
        points[path] = point
        self.later(left, lambda: None if points.get(path) is not point else self.roll_back(path))
        self.touch()

    def extend(self, path: str, seconds: int) -> None:
        """Let a checkpoint wait *seconds* from now on; its time-out is counted from when it was made."""
        point = self.memory.points[path]
        self._keep_until(replace(point, seconds=round(self._world.now - point.created) + seconds), seconds)

    def commit(self, path: str) -> bool:
        found = self.memory.points.pop(path, None) is not None
        self.touch()
        return found

    def release(self, path: str) -> None:
        """Let another program end its checkpoint."""
        self.commit(path)

    def roll_back(self, path: str, *, partly: bool = False) -> None:
        """Restore profiles, and what was active by and by; *partly*: links that had another profile stay down."""
        point = self.memory.points.pop(path)
        devices, changed = self.memory.devices, set()
        for uuid in [uuid for uuid in self.memory.profiles if uuid not in point.profiles]:
            self.delete(uuid)
        for uuid, profile in point.profiles.items():
            if self.memory.profiles.get(uuid) is not profile:
                changed.add(uuid)
                self.put(profile)
        for key, active in point.actives.items():
            device, own = devices.get(key), self.memory.profiles.get(active or "")
            if device is not None and active is None and device.profile is not None:
                self.down(device)
            elif device is not None and own is not None and (device.profile != active or active in changed):
                self.activate(device, own)
                if partly:
                    self.down(device)
                    device.state = 120
        self.see_links()
        self._world.touched_by_rollback()
