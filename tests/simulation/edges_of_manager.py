"""NetworkManager as the daemon reaches it over the bus: its state, checkpoints, profiles and DNS."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from nodenet.core.errors import RollbackFailed, Unavailable
from nodenet.core.network_manager.objects import DISCONNECTED, Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Device, Lease4, Lease6, Profile
from nodenet.core.network_manager.state import Checkpoint, LeaseMark, ManagerState
from nodenet.core.resolver import ManagerDns
from simulation.addressing import LEASED6_BITS, NICS
from simulation.addressing import Device as SimulatedDevice
from simulation.edge import STALLED_SECONDS, Edge
from simulation.keyfile import client6, made

READING_SECONDS = 0.02
WORDS = {20: "unavailable", 30: DISCONNECTED, 40: "preparing", 70: "getting its IP configuration", 100: "activated"}


@dataclass(slots=True)
class Manager(Edge):
    async def _ask(self, name: str, seconds: float = 0.003) -> None:
        await self.bus(name, seconds)
        manager = self.world.manager
        if not manager.running:
            raise Unavailable("org.freedesktop.NetworkManager is not on the bus")
        while manager.running and not manager.memory.read:
            await asyncio.sleep(READING_SECONDS)  # it answers once it has read its profiles
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

    def is_away(self) -> bool:
        return self.world.bus_up and not self.world.bus_stalled and not self.world.manager.running

    async def owner(self) -> str:
        await self.bus("manager.owner")
        if not self.world.manager.running:
            raise Unavailable("org.freedesktop.NetworkManager is not on the bus")
        return f":1.{self.world.manager.memory.number}"

    async def checkpoints(self) -> tuple[Checkpoint, ...]:
        await self._ask("manager.checkpoints")
        points = self.world.manager.memory.points.values()
        return tuple(Checkpoint(one.path, one.boottime, round(one.seconds)) for one in points)

    async def fragile_dns(self) -> object | None:
        await self._ask("manager.fragile_dns")
        return None

    async def restore_dns(self, configuration: object) -> None:  # noqa: ARG002
        await self._ask("manager.restore_dns")

    async def extend(self, checkpoint: str, seconds: int) -> None:
        await self._ask("manager.extend")
        if checkpoint not in self.world.manager.memory.points:
            raise Unavailable(f"NetworkManager does not keep checkpoint {checkpoint} open: it does not exist")
        self.world.manager.extend(checkpoint, seconds)

    async def roll_back(self, checkpoint: str) -> None:
        await self._ask("manager.roll_back", 0.4)
        manager = self.world.manager
        if manager.rollback_fails and manager.rolls_back_partly and checkpoint in manager.memory.points:
            manager.roll_back(checkpoint, partly=True)
            raise RollbackFailed(
                f"NetworkManager could not roll back checkpoint {checkpoint}: a device did not come back"
            )
        if manager.rollback_fails:
            manager.not_rolled_back.add(checkpoint)
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
            known = profile if profiles else None
            leases = self._lease(device), _lease6(device, profile, mac or "")
            devices.append(Device(device.link, device.kind, mac, mac, known, *leases))
            states[device.link] = WORDS.get(device.state, "failed")
        settled = frozenset(one.link for one in order if one.state in (100, 120))
        activating = frozenset(one.link for one in order if one.state in (40, 70))
        automatic = frozenset(
            one.link
            for one in order
            if one.link in activating and (known := memory.profiles.get(one.profile or "")) and not known.on_disk
        )
        found = tuple(memory.profiles.values()) if profiles else ()
        return Inventory(
            tuple(devices), found, states, self.world.manager.has_ovs, False, settled, automatic, activating
        )

    async def leases(self, links: Collection[str]) -> dict[str, LeaseMark]:
        await self._ask("profiles.leases", 0.01)
        devices = (one for one in self.world.manager.memory.devices.values() if one.kind != "ovs-bridge")
        return {one.link: self._mark(one) for one in devices if one.link in links}

    def _mark(self, device: SimulatedDevice) -> LeaseMark:
        profile = self.world.manager.memory.profiles.get(device.profile or "")
        asks = profile is not None and profile.setting("ipv4", "method", "disabled") == "auto"
        address = device.lease.ip if device.lease else None
        return LeaseMark(address, f"{device.turn} {device.applied}", f"{device.turn} {device.given}", asks)

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
        self.world.manager.put(made(settings, before.path, on_disk=before.on_disk))
        return True

    def _profile(self, uuid: str) -> Profile:
        found = self.world.manager.memory.profiles.get(uuid)
        if found is None:
            raise Unavailable(f"NetworkManager has no profile {uuid}", remedy="Look at `nmcli connection`")
        return found

    def _device(self, link: str) -> SimulatedDevice:
        devices = self.world.manager.memory.devices
        kinds = ("ovs-interface", *NICS)
        found = next((devices[kind, link] for kind in kinds if (kind, link) in devices), None)
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
        self.world.kernel.strip(link)
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

    async def disconnect(self, link: str) -> None:
        await self._ask("profiles.disconnect", 0.02)
        self.world.manager.down(self._device(link))


def _lease6(device: SimulatedDevice, profile: Profile | None, mac: str) -> Lease6 | None:
    leased = device.announced and device.announced.network.prefixlen == LEASED6_BITS
    if not leased or profile is None or device.announced is None:
        return None
    return Lease6(device.announced.ip, *client6(profile, device.link, mac))


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
