"""The IP configuration of NetworkManager's devices: static addresses, and the DHCP client of each."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv4Interface
from typing import TYPE_CHECKING

from nodenet.core.network_manager.profiles import Profile
from simulation.keyfile import gateways_of, metric_of, static_of

if TYPE_CHECKING:
    from simulation.network_manager import NetworkManager
    from simulation.world import World

DHCP_SECONDS = 45.0
PAUSES = (2.5, 4.5, 8.0, 16.0, 16.0, 16.0)
"""Between two requests of a DHCP client (RFC 2131 section 4.1), the last one from then on."""
ASSUMED_SECONDS = 1800.0
CARRIER_SECONDS = 5.0
"""After which a link without a carrier loses its configuration."""


@dataclass(slots=True, eq=False)
class Device:
    """*profile*: UUID of the active one; *turn* grows with each activation and makes what was begun before void."""

    link: str
    kind: str
    profile: str | None = None
    state: int = 30
    lease: IPv4Interface | None = None
    lease_until: float = 0.0
    gateway: IPv4Address | None = None
    turn: int = 0
    asking: int = 0
    tries: int = 0
    carrier_lost: int = 0
    assumed: bool = False
    """Whether its lease is that of an earlier process."""


class Addressing:
    """What *manager* does for the addresses of a device."""

    def __init__(self, world: World, manager: NetworkManager) -> None:
        self._world = world
        self._manager = manager

    def assume(self, device: Device) -> None:
        """Take over what an earlier process gave a link: it stays until a DHCP server says otherwise."""
        link = self._world.kernel.links.get(device.link)
        for address, (prefix, leased, who) in link.addresses.items() if link else ():
            if leased and who == "nm":
                device.lease, device.assumed = IPv4Interface(f"{address}/{prefix}"), True
                device.lease_until = self._world.now + ASSUMED_SECONDS
                device.gateway = next(iter(link.gateways), None) if link else None

    def configure(self, device: Device, profile: Profile) -> None:
        """Give the link what its profile says now; a lease stays."""
        kernel, link = self._world.kernel, self._world.kernel.links.get(device.link)
        if link is None:
            self._manager.fail(device)
            return
        static = static_of(profile)
        keep = {item.ip for item in static} | ({device.lease.ip} if device.lease else set())
        for address in [one for one, known in link.addresses.items() if known[2] == "nm" and one not in keep]:
            kernel.take(device.link, address)
        for item in static:
            if device.lease is None or device.lease.ip != item.ip:
                kernel.give(device.link, item.ip, item.network.prefixlen, leased=False, who="nm")
        metric = metric_of(device.kind, profile)
        wanted = gateways_of(profile, metric) | ({device.gateway: metric} if device.gateway and device.lease else {})
        for gateway in [one for one in link.gateways if one not in wanted]:
            kernel.route(device.link, gateway, None)
        for gateway, number in wanted.items():
            kernel.route(device.link, gateway, number)
        method = profile.setting("ipv4", "method", "disabled")
        if method == "auto" and (device.lease is None or device.assumed):
            device.state = 100 if static or device.assumed else 70
            device.assumed = False
            self.ask(device)
        elif method != "auto":
            device.lease, device.gateway, device.state = None, None, 100
            device.asking += 1
        self._manager.touch()

    def ask(self, device: Device) -> None:
        """Let the DHCP client of the device ask from the beginning."""
        device.asking += 1
        number, until = device.asking, self._world.now + self._patience(device)
        self._manager.later(0.01, lambda: self._discover(device, number, 0, until))

    def _patience(self, device: Device) -> float:
        profile = self._manager.memory.profiles.get(device.profile or "")
        return float(profile.setting("ipv4", "dhcp-timeout", DHCP_SECONDS)) if profile else DHCP_SECONDS

    def _discover(self, device: Device, number: int, sent: int, until: float) -> None:
        if device.asking != number or device.profile is None:
            return
        if self._world.now > until:
            if device.state == 70:
                self._manager.fail(device)
            return
        segment = self._world.segment_of(device.link)
        if segment is not None and segment.offer is not None:
            self._manager.later(segment.delay, lambda: self._bind(device, number))
        pause = PAUSES[min(sent, len(PAUSES) - 1)]
        self._manager.later(pause, lambda: self._discover(device, number, sent + 1, until))

    def _bind(self, device: Device, number: int) -> None:
        segment = self._world.segment_of(device.link)
        profile = self._manager.memory.profiles.get(device.profile or "")
        if device.asking != number or profile is None or segment is None or segment.offer is None:
            return
        device.asking += 1
        kernel, offer = self._world.kernel, segment.offer
        if device.lease and device.lease.ip != offer.ip:
            kernel.take(device.link, device.lease.ip)
        device.lease, device.lease_until = offer, self._world.now + segment.seconds
        device.gateway = segment.gateway if segment.routed else None
        self._world.leased_until[offer.ip] = device.lease_until
        kernel.give(device.link, offer.ip, offer.network.prefixlen, leased=True, who="nm")
        if device.gateway:
            kernel.route(device.link, device.gateway, metric_of(device.kind, profile))
        device.state = 100
        self._manager.touch()
        number, seconds = device.asking, segment.seconds
        self._manager.later(seconds / 2, lambda: self._renew(device, number))
        self._manager.later(seconds, lambda: self._expire(device, number))

    def _renew(self, device: Device, number: int) -> None:
        if device.asking != number:
            return
        segment = self._world.segment_of(device.link)
        if segment is not None and segment.offer is not None:
            self._bind(device, number)
        else:
            self._manager.later(
                max((device.lease_until - self._world.now) / 2, 1.0), lambda: self._renew(device, number)
            )

    def _expire(self, device: Device, number: int) -> None:
        if device.asking != number or device.lease is None or device.profile is None:
            return
        self._world.kernel.take(device.link, device.lease.ip)
        device.lease = device.gateway = None
        static = static_of(self._manager.memory.profiles[device.profile])
        device.state = 100 if static else 70
        self.configure(device, self._manager.memory.profiles[device.profile])

    def carrier(self, link: str, *, present: bool) -> None:
        """A link's carrier came or went."""
        device = self._manager.memory.devices.get(("ethernet", link))
        if device is None or not self._manager.running:
            return
        device.carrier_lost += 1
        number = device.carrier_lost
        if present:
            device.state = 30 if device.profile is None else device.state
            self._manager.autoconnect(device)
            return

        def gone() -> None:
            if device.carrier_lost == number and self._manager.memory.devices.get(("ethernet", link)) is device:
                self._manager.down(device)
                device.state = 20

        self._manager.later(CARRIER_SECONDS, gone)
