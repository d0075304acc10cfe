"""The IP configuration of NetworkManager's devices: static addresses, the DHCP client of each, and routers."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache, partial
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface
from typing import TYPE_CHECKING

from nodenet.core.ip import IPAddress
from nodenet.core.network_manager.profiles import Profile
from simulation.kernel import USUAL_MTU
from simulation.keyfile import bond_of, client6, gateways_of, ip_address, is_port, metric_of, static_of
from simulation.wire import ROUTER6

if TYPE_CHECKING:
    from simulation.network_manager import NetworkManager
    from simulation.world import World

DHCP_SECONDS = 45.0
PAUSES = (2.5, 4.5, 8.0, 16.0, 16.0, 16.0)
"""Between two requests of a DHCP client (RFC 2131 section 4.1), the last one from then on."""
ASSUMED_SECONDS = 1800.0
NICS = {"ethernet": "802-3-ethernet", "bond": "bond", "vlan": "vlan"}
"""Kinds of devices that can be below a bridge, and the types of their profiles."""
ROUTER_SECONDS = 0.3
"""Until a router answers a solicitation (RFC 4861 section 6.2.6: up to half a second)."""
SOLICIT_SECONDS = 4.0
DHCP6_SECONDS = 1.0
"""Until the first answer of a DHCPv6 server is taken (RFC 8415 section 18.2.1)."""
STRANGER = IPv4Interface("192.0.2.99/24")
"""What a DHCP server gives a client that has the MAC of none of the node's NICs."""
LEASED6_BITS = 128
GIVEN_UP_SECONDS = 15.0
"""How long the address of a lease stays on a link whose profile is applied again."""
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
    announced: IPv6Interface | None = None
    """The address made from the prefix that a router announced, or leased by DHCPv6."""
    strayed: IPv6Interface | None = None
    """The address made from the prefix of a host that should not be a router."""
    soliciting: int = 0
    assumed: bool = False
    """Whether its lease is that of an earlier process."""
    applied: int = 0
    """How often the active profile was applied again with other IPv4 settings."""
    given: int = 0
    """How many leases a server has given it."""
    given_up: bool = False
    """Whether its lease is one that NetworkManager has given up, and only leaves on the link."""


class Addressing:
    """What *manager* does for the addresses of a device."""

    def __init__(self, world: World, manager: NetworkManager) -> None:
        self._world = world
        self._manager = manager
        self.leased_in: dict[IPAddress, int] = {}
        """Address → in which boot a DHCP server gave it last."""

    def assume(self, device: Device) -> None:
        """Take over what an earlier process gave a link: it stays until a DHCP server says otherwise."""
        link = self._world.kernel.links.get(device.link)
        for address, (prefix, leased, who) in link.addresses.items() if link else ():
            if not leased or who != "nm":
                continue
            if address.version == 6:
                device.announced = IPv6Interface(f"{address}/{prefix}")
                continue
            device.lease, device.assumed = IPv4Interface(f"{address}/{prefix}"), True
            device.lease_until = self._world.now + ASSUMED_SECONDS
            gateways = link.gateways if link else {}
            device.gateway = next((one for one in gateways if isinstance(one, IPv4Address)), None)

    def configure(self, device: Device, profile: Profile) -> None:
        """Give the link what its profile says now; a lease stays, and so does what a router announced."""
        kernel, link = self._world.kernel, self._world.kernel.links.get(device.link)
        if link is None:
            self._manager.fail(device)
            return
        kernel.set_mtu(device.link, USUAL_MTU)
        method, method6 = (profile.setting(family, "method", "disabled") for family in ("ipv4", "ipv6"))
        if method6 == "disabled":
            kernel.take(device.link, link_local(device.link))
        else:
            kernel.give(device.link, link_local(device.link), 64, leased=False, who="link-local")
        if method6 != "auto":
            device.announced = device.strayed = None
            device.soliciting += 1
        static = static_of(profile)
        given = [item.ip for item in (device.lease, device.announced, device.strayed) if item]
        keep = {*(item.ip for item in static), *given}
        for address in [one for one, known in link.addresses.items() if known[2] == "nm" and one not in keep]:
            kernel.take(device.link, address)
        for item in static:
            if item.ip not in given:
                kernel.give(device.link, item.ip, item.network.prefixlen, leased=False, who="nm")
        self._set_routes(device, profile)
        if method == "auto" and (device.lease is None or device.assumed):
            device.state = 100 if static or given else 70
            device.assumed = False
            self.ask(device)
        elif method != "auto":
            device.lease, device.gateway = None, None
            device.state = 70 if method6 == "auto" and not static and not given else 100
            device.asking += 1
        if method6 == "auto" and device.announced is None:
            device.soliciting += 1
            turn = device.soliciting
            self._manager.later(ROUTER_SECONDS, lambda: self._solicit(device, turn))
        self._manager.touch()

    def reapply(self, device: Device, profile: Profile, before: Profile) -> None:
        """Apply the active profile again, which was *before*.

        With other IPv4 settings its lease is given up and asked for again, and its address stays for 15 s.
        """
        if profile.setting("ipv4", "method", "disabled") != "auto":
            device.lease = device.gateway = None
        self.configure(device, profile)
        if before.settings.get("ipv4") == profile.settings.get("ipv4"):
            return
        device.applied += 1
        if device.lease is None:
            return
        device.given_up = True
        self.ask(device)
        turn, given = device.turn, device.given

        def gone() -> None:
            if device.lease and (device.turn, device.given) == (turn, given):
                self._world.kernel.take(device.link, device.lease.ip)
                device.lease, device.gateway, device.given_up = None, None, False
                self._set_routes(device, profile)
                self._manager.touch()

        self._manager.later(GIVEN_UP_SECONDS, gone)

    def flush(self, device: Device) -> None:
        """Take away what a profile has given the link of *device*."""
        if device.kind != "ovs-bridge":
            self._world.kernel.strip(device.link)
            self._world.kernel.flush(device.link, "nm")
            self._world.kernel.take(device.link, link_local(device.link))

    def _set_routes(self, device: Device, profile: Profile) -> None:
        kernel, link = self._world.kernel, self._world.kernel.links.get(device.link)
        if link is None:
            return
        wanted: dict[IPAddress, int] = gateways_of(device.kind, profile)
        if device.gateway and device.lease:
            wanted[device.gateway] = metric_of(device.kind, profile)
        if device.announced or device.strayed:
            wanted[ROUTER6] = metric_of(device.kind, profile, "ipv6")
        for gateway in [one for one in link.gateways if one not in wanted]:
            kernel.route(device.link, gateway, None)
        for gateway, number in wanted.items():
            kernel.route(device.link, gateway, number)

    def _solicit(self, device: Device, turn: int) -> None:
        """Ask for a router, and a DHCPv6 server where it says so."""
        if device.soliciting != turn:
            return
        self._hear_stray(device)
        given = self._given(device)
        if given is None:
            self._manager.later(SOLICIT_SECONDS, lambda: self._solicit(device, turn))
            return
        answer = partial(self._world.answer, self._manager.later, lambda: self._announced(device, turn, given))
        self._manager.later(DHCP6_SECONDS if given.network.prefixlen == LEASED6_BITS else 0.0, answer)

    def _hear_stray(self, device: Device) -> None:
        """Take an address of a host that announces itself as a router: NetworkManager believes each."""
        profile, segment = self._manager.memory.profiles.get(device.profile or ""), self._world.segment_of(device.link)
        if profile is None or segment is None or segment.stray6 is None or device.strayed:
            return
        device.strayed = IPv6Interface((int(segment.stray6.network_address) + identifier(profile, device.link), 64))
        self._world.kernel.give(device.link, device.strayed.ip, 64, leased=True, who="nm")
        self._set_routes(device, profile)
        device.state = 100 if device.state == 70 else device.state
        self._manager.touch()

    def stray_comes(self) -> None:
        """Let the devices hear a host that announces itself: those that take addresses of routers."""
        for device in self._manager.memory.devices.values():
            profile = self._manager.memory.profiles.get(device.profile or "")
            if profile and device.state == 100 and profile.setting("ipv6", "method", "disabled") == "auto":
                self._hear_stray(device)

    def stray_is_gone(self) -> None:
        """Take the addresses away that hosts have of one that announced itself: it ends their lifetime."""
        for device in self._manager.memory.devices.values():
            strayed, device.strayed = device.strayed, None
            profile = self._manager.memory.profiles.get(device.profile or "")
            if strayed and profile:
                self._world.kernel.take(device.link, strayed.ip)
                self._set_routes(device, profile)
        self._manager.touch()

    def _given(self, device: Device) -> IPv6Interface | None:
        """Return the address that the LAN of *device* lets it have now."""
        profile, segment = self._manager.memory.profiles.get(device.profile or ""), self._world.segment_of(device.link)
        if profile is None or segment is None or segment.announced is None:
            return None
        if segment.managed:
            return segment.leased6(client6(profile, device.link, self._world.kernel.links[device.link].mac))
        return IPv6Interface((int(segment.announced.network_address) + identifier(profile, device.link), 64))

    def _announced(self, device: Device, turn: int, given: IPv6Interface) -> None:
        profile = self._manager.memory.profiles.get(device.profile or "")
        if device.soliciting != turn or profile is None:
            return
        device.announced = given
        self._world.kernel.give(device.link, given.ip, given.network.prefixlen, leased=True, who="nm")
        self._set_routes(device, profile)
        if device.state == 70:
            device.state = 100
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
            if device.announced is None:
                return  # a link with IPv6 goes on to ask for IPv4
        segment = self._world.segment_of(device.link)
        if segment is not None and segment.offer is not None:
            answer = partial(self._world.answer, self._manager.later, lambda: self._bind(device, number))
            self._manager.later(segment.delay, answer)
        pause = PAUSES[min(sent, len(PAUSES) - 1)]
        self._manager.later(pause, lambda: self._discover(device, number, sent + 1, until))

    def _bind(self, device: Device, number: int) -> None:
        segment = self._world.segment_of(device.link)
        profile = self._manager.memory.profiles.get(device.profile or "")
        if device.asking != number or profile is None or segment is None or segment.offer is None:
            return
        device.asking += 1
        kernel = self._world.kernel
        offer = segment.offer if kernel.links[device.link].mac in self._world.nics else STRANGER
        if device.lease and device.lease.ip != offer.ip:
            kernel.take(device.link, device.lease.ip)
        device.lease, device.lease_until = offer, self._world.now + segment.seconds
        device.given += 1
        device.given_up = False
        device.gateway = segment.gateway if segment.routed else None
        self._world.leased_until[offer.ip] = device.lease_until
        self.leased_in[offer.ip] = self._world.boots
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
        device.state = 100 if static or device.announced else 70
        self.configure(device, self._manager.memory.profiles[device.profile])

    def carrier(self, link: str, *, present: bool, at_once: bool = False) -> None:
        """A NIC's carrier came or went, and with it perhaps that of a bond or VLAN on it.

        *at_once*: the link was set down; NetworkManager waits for no carrier then.
        """
        above = [name for name, one in self._world.kernel.links.items() if link in one.below]
        for name in (link, *above):
            found = self._world.kernel.links.get(name)
            if found is not None and (name == link or found.carrier is present):
                self._carrier_of(name, present=present and found.carrier, at_once=at_once and name == link)

    def _carrier_of(self, link: str, *, present: bool, at_once: bool) -> None:
        devices = self._manager.memory.devices
        device = next((devices[kind, link] for kind in NICS if (kind, link) in devices), None)
        if device is None or not self._manager.running:
            return
        device.carrier_lost += 1
        number = device.carrier_lost
        if present:
            device.state = 30 if device.profile is None else device.state
            self._manager.autoconnect(device)
            return

        def gone() -> None:
            profile = self._manager.memory.profiles.get(device.profile or "")
            if not at_once and profile and (is_port(profile) or bond_of(profile)):
                return  # seen on booted nodes: a port stays in its bridge or bond
            if device.carrier_lost == number and devices.get((device.kind, link)) is device:
                self._manager.down(device)
                device.state = 20

        if at_once:
            gone()
        else:
            self._manager.later(CARRIER_SECONDS, gone)


@cache
def link_local(link: str) -> IPv6Address:
    """Return the address that a link has wherever IPv6 is not disabled (RFC 4291 section 2.5.6)."""
    return IPv6Address(0xFE80 << 112 | 1 << 63 | zlib.crc32(link.encode()))


def identifier(profile: Profile, link: str) -> int:
    """Return the lower half of an address: the token of the profile, else one that only this profile and link have."""
    if token := profile.setting("ipv6", "token"):
        return int(ip_address(token)) & (1 << 64) - 1
    return zlib.crc32(f"{profile.uuid} {link}".encode()) << 16 | 2
