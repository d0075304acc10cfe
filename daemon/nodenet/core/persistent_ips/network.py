"""Which addresses may pods of a network get, and what else does its CNI configuration say?

``subnets``, ``excludeSubnets`` and ``allowPersistentIPs`` are at the top level, where the controller of claims and
OVN-Kubernetes read them. Every mistake is an error with code 7 that names the key.
"""

from __future__ import annotations

import bisect
import difflib
import hashlib
import itertools
import json
import math
import re
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Network, IPv6Address, collapse_addresses, ip_address, ip_interface, ip_network
from typing import Any

from nodenet.core.ip import IPAddress, IPNetwork
from nodenet.core.persistent_ips.cni import CniError, Code, Extras
from nodenet.core.persistent_ips.model import Interface, shown
from nodenet.core.value import frozen

# Which addresses does a subnet have to give, and in which order are they tried?
#
# The order is one permutation of the subnet for each owner, so that two owners rarely try the same address and one
# owner always begins with the same: an allocation that was interrupted finds its own Lease again.

MOST_CANDIDATES = 1 << 32
"""Only so many addresses at the beginning of an IPv6 subnet are given."""


@frozen
class Pool:
    """A subnet without what is excluded. *excluded* does not overlap itself."""

    subnet: IPNetwork
    excluded: tuple[IPNetwork, ...] = ()
    gateway: IPAddress | None = None

    @property
    def first(self) -> int:
        """The first address that can be given; the one before is the network, or all routers (RFC 4291, 2.6.1)."""
        return int(self.subnet.network_address) + 1

    @property
    def last(self) -> int:
        """The last address that can be given: IPv4's last one is the broadcast address."""
        last = int(self.subnet.broadcast_address) - (1 if self.subnet.version == 4 else 0)
        return min(last, self.first + MOST_CANDIDATES - 1)

    @property
    def size(self) -> int:
        """How many addresses can be given."""
        return sum(map(len, self._free()))

    def _free(self) -> list[range]:
        """Return the addresses that can be given, as numbers and in their order."""
        holes = [(int(one.network_address), int(one.broadcast_address)) for one in self.excluded]
        if self.gateway is not None:
            holes.append((int(self.gateway), int(self.gateway)))
        found, start = [], self.first
        for low, high in sorted(holes):
            found.append(range(start, min(low, self.last + 1)))
            start = max(start, high + 1)
        return [one for one in (*found, range(start, self.last + 1)) if one]

    def has(self, address: IPAddress) -> bool:
        """Return whether *address* can be given."""
        return (
            address in self.subnet
            and self.first <= int(address) <= self.last
            and address != self.gateway
            and not any(address in one for one in self.excluded)
        )

    def interface(self, address: IPAddress) -> Interface:
        """Return *address* with the subnet's prefix length."""
        return ip_interface(f"{address}/{self.subnet.prefixlen}")

    def candidates(self, seed: str) -> Iterator[IPAddress]:
        """Yield every address that can be given, once, in an order of this *seed*.

        What is excluded takes no time: a large subnet of which a few addresses are left is as fast as a small one.
        """
        free = self._free()
        ends = list(itertools.accumulate(map(len, free)))
        count = ends[-1] if ends else 1
        digest = hashlib.sha256(f"{self.subnet} {seed}".encode()).digest()
        start, step = int.from_bytes(digest[:16]) % count, int.from_bytes(digest[16:]) % count or 1
        while math.gcd(step, count) != 1:
            step += 1
        kind = IPv4Address if self.subnet.version == 4 else IPv6Address
        for number in range(count if free else 0):
            index = (start + number * step) % count
            part = bisect.bisect_right(ends, index)
            yield kind(free[part][index - ends[part]])


# What does the CNI configuration of a network say?

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,252}")
MOST_SUBNETS, MOST_EXCLUDED, MOST_ROUTES = 16, 256, 256
LENGTHS = {4: (9, 30), 6: (32, 126)}
"""The prefix lengths of a subnet. A larger one is a typing mistake, a smaller one has no room."""
SUBNETS, EXCLUDED, PERSISTENT = "subnets", "excludeSubnets", "allowPersistentIPs"
IPAM_KEYS = ("type", "gateway", "routes", "dns")
OTHERS = {"exclude": EXCLUDED, "range": SUBNETS, "ranges": SUBNETS, "subnet": SUBNETS}
"""Keys of other IPAM plugins → what they are here."""


@frozen
class Network:
    """A network as its configuration has it; one address comes from each pool."""

    name: str
    pools: tuple[Pool, ...]
    persistent: bool
    """allowPersistentIPs."""
    routes: tuple[Mapping[str, Any], ...] = ()
    dns: Mapping[str, Any] | None = None
    segment: str = ""
    """What connects its interfaces on a node, as the plugin bridge, macvlan or ipvlan names it; empty for others."""

    @property
    def never_given(self) -> tuple[IPNetwork, ...]:
        """What is excluded, and the gateways."""
        gateways = [ip_network(pool.gateway) for pool in self.pools if pool.gateway is not None]
        return (*(one for pool in self.pools for one in pool.excluded), *gateways)

    @property
    def digest(self) -> str:
        """The same for two configurations that give addresses alike."""
        parts = [[str(pool.subnet), [str(one) for one in pool.excluded], str(pool.gateway)] for pool in self.pools]
        whole = [sorted(parts), self.persistent]
        return hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]

    def pool_of(self, address: Interface) -> Pool | None:
        """Return the pool with the subnet of *address*, None where it is of none.

        The subnet may have grown since. Its own address and IPv4's broadcast address are of none: no interface can have
        them.
        """
        for pool in self.pools:
            subnet = pool.subnet
            if address.ip in subnet and address.network.prefixlen >= subnet.prefixlen:
                last = subnet.broadcast_address if subnet.version == 4 else None
                return None if address.ip in (subnet.network_address, last) else pool
        return None

    def refusal(self, address: Interface) -> str:
        """Return why no interface may have *address*, as the end of a sentence; empty if one may."""
        pool = self.pool_of(address)
        if pool is None:
            return f"which is in no subnet of network {self.name}"
        if address.ip == pool.gateway:
            return f"which is a gateway of network {self.name}"
        return "" if pool.has(address.ip) else f"which excludeSubnets of network {self.name} excludes"

    def given(self, addresses: tuple[Interface, ...]) -> tuple[Interface, ...]:
        """Return *addresses* with the prefix lengths that their subnets have now."""
        pools = [(address, self.pool_of(address)) for address in addresses]
        return tuple(address if pool is None else pool.interface(address.ip) for address, pool in pools)

    def extras(self, addresses: tuple[Interface, ...]) -> Extras:
        """Return what an answer with *addresses* has beside them."""
        gateways = {}
        for number, address in enumerate(addresses):
            pool = self.pool_of(address)
            if pool is not None and pool.gateway is not None:
                gateways[number] = str(pool.gateway)
        return Extras(gateways, self.routes, self.dns)


def parse(configuration: Mapping[str, Any]) -> Network:
    """Return the network of a CNI configuration. Raises CniError with code 7."""
    name = name_of(configuration)
    ipam = configuration.get("ipam")
    if not isinstance(ipam, dict):
        raise _wrong("ipam is not an object")
    _judge_keys(configuration, ipam)
    subnets = [_subnet(text) for text in _texts(configuration.get(SUBNETS), SUBNETS, MOST_SUBNETS)]
    if not subnets:
        raise _wrong("subnets is missing", 'Add, for example, "subnets": "192.0.2.0/24"')
    for number, subnet in enumerate(subnets):
        if other := next((one for one in subnets[:number] if overlap(one, subnet)), None):
            raise _wrong(f"subnets has {other} and {subnet}, which overlap")
    excluded = _excluded(configuration.get(EXCLUDED), subnets)
    gateways = _gateways(ipam, subnets)
    if configuration.get("isGateway") is True or configuration.get("isDefaultGateway") is True:
        # The bridge plugin then takes the first address of a subnet without a gateway for the bridge.
        gateways = {subnet: gateways.get(subnet, subnet[1]) for subnet in subnets}
    pools = tuple(
        Pool(subnet, tuple(one for one in excluded if overlap(one, subnet)), gateways.get(subnet)) for subnet in subnets
    )
    if empty := next((pool for pool in pools if pool.size <= 0), None):
        raise _wrong(f"excludeSubnets leaves no address of {empty.subnet}")
    return Network(name, pools, _persistent(configuration), _routes(ipam), _dns(ipam), _segment(configuration))


def name_of(configuration: Mapping[str, Any]) -> str:
    """Return the name of the network; DEL and GC need no more. Raises CniError."""
    name = configuration.get("name")
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise _wrong(f"name is {shown(name)}", "Expected letters, digits, '_', '.' and '-'")
    return name


def definition_of(document: Mapping[str, Any]) -> str:
    """Return the configuration in a NetworkAttachmentDefinition as the API sends it, empty without one."""
    spec = document.get("spec")
    text = spec.get("config") if isinstance(spec, Mapping) else None
    return text if isinstance(text, str) else ""


def list_allows(text: str) -> bool:
    """Return whether a configuration is a list whose top level allows persistent IPs.

    A runtime passes a plugin its own part of a list only, while the controller of claims reads the top level.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and isinstance(found.get("plugins"), list) and found.get(PERSISTENT) is True


def _judge_keys(configuration: Mapping[str, Any], ipam: Mapping[str, Any]) -> None:
    """Refuse keys that nothing would read: addresses that were to be excluded would be given."""
    at_the_top = (SUBNETS, EXCLUDED, PERSISTENT)
    for key in ipam:
        if key in IPAM_KEYS:
            continue
        near = next(iter(difflib.get_close_matches(str(key), (*at_the_top, *IPAM_KEYS), n=1)), "")
        meant = OTHERS.get(key, near)
        where = "at the top level, beside ipam" if meant in at_the_top else "in ipam"
        remedy = f"Write {meant} {where}" if meant else f"Keys of ipam are {', '.join(IPAM_KEYS)}"
        raise _wrong(f"ipam has {shown(key)}, which is not known there", remedy)
    for key in configuration:
        meant = next((one for one in at_the_top if one.lower().rstrip("s") == key.lower().rstrip("s")), key)
        if meant != key:
            raise _wrong(f"{shown(key)} is not known", f"Write {meant}")


def _segment(configuration: Mapping[str, Any]) -> str:
    link = configuration.get("bridge") or configuration.get("master")
    return f"{link} {configuration.get('vlan') or ''}".strip() if isinstance(link, str) else ""


def _texts(value: object, key: str, most: int) -> list[str]:
    """Return the parts of a comma-separated text; a list of texts is taken too."""
    if value is None:
        return []
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise _wrong(f"{key} is {shown(value)}", 'Expected a text such as "192.0.2.0/24,2001:db8::/64"')
    found = [part.strip() for part in parts if part.strip()]
    if len(found) > most:
        raise _wrong(f"{key} has {len(found)} entries; {most} are the most")
    return found


def _network(text: str, key: str) -> IPNetwork:
    address, slash, length = text.partition("/")
    if not slash or not re.fullmatch("[0-9]{1,3}", length):
        raise _wrong(f"{key} has {shown(text)}, which has no prefix length", "Expected ADDRESS/LENGTH: 192.0.2.0/24")
    try:
        found = ip_network(text)
    except ValueError as error:
        try:
            raise _wrong(f"{key} has {shown(text)}", f"Did you mean {ip_network(text, strict=False)}?") from error
        except ValueError:
            raise _wrong(f"{key} has {shown(text)}, which is not a subnet") from error
    if "%" in address or (isinstance(found.network_address, IPv6Address) and found.network_address.ipv4_mapped):
        raise _wrong(f"{key} has {shown(text)}, an IPv4-mapped or scoped address", "Write the IPv4 subnet itself")
    return found


def _subnet(text: str) -> IPNetwork:
    found = _network(text, "subnets")
    shortest, longest = LENGTHS[found.version]
    if not shortest <= found.prefixlen <= longest:
        raise _wrong(f"subnets has {found}", f"IPv{found.version} subnets have /{shortest} to /{longest} here")
    if found.is_multicast or found.is_loopback or found.is_link_local or found.network_address.is_unspecified:
        raise _wrong(f"subnets has {found}, whose addresses no interface of a pod can have")
    return found


def _excluded(value: object, subnets: list[IPNetwork]) -> list[IPNetwork]:
    found = [_network(text, "excludeSubnets") for text in _texts(value, "excludeSubnets", MOST_EXCLUDED)]
    for one in found:
        if not any(overlap(one, subnet) for subnet in subnets):
            raise _wrong(f"excludeSubnets has {one}, which is in none of the subnets")
    return _collapsed(found)


def _collapsed(networks: list[IPNetwork]) -> list[IPNetwork]:
    ipv4 = collapse_addresses(one for one in networks if isinstance(one, IPv4Network))
    ipv6 = collapse_addresses(one for one in networks if not isinstance(one, IPv4Network))
    return [*ipv4, *ipv6]


def _gateways(ipam: Mapping[str, Any], subnets: list[IPNetwork]) -> dict[IPNetwork, IPAddress]:
    found: dict[IPNetwork, IPAddress] = {}
    for text in _texts(ipam.get("gateway"), "ipam.gateway", MOST_SUBNETS):
        try:
            gateway = ip_address(text)
        except ValueError:
            raise _wrong(f"ipam.gateway has {shown(text)}, which is not an address") from None
        subnet = next((one for one in subnets if gateway in one), None)
        if subnet is None:
            raise _wrong(f"ipam.gateway has {gateway}, which is in none of the subnets")
        if subnet in found:
            raise _wrong(f"ipam.gateway has two addresses of {subnet}")
        found[subnet] = gateway
    return found


def _persistent(configuration: Mapping[str, Any]) -> bool:
    value = configuration.get(PERSISTENT)
    if value is not None and not isinstance(value, bool):
        raise _wrong(f"allowPersistentIPs is {shown(value)}", "Expected true or false")
    return value is True


def _routes(ipam: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    listed = ipam.get("routes")
    if listed is None:
        return ()
    if not isinstance(listed, list) or len(listed) > MOST_ROUTES:
        raise _wrong("ipam.routes is not a list of routes")
    for route in listed:
        if not isinstance(route, dict) or not isinstance(route.get("dst"), str):
            raise _wrong(f"ipam.routes has {shown(route)}", 'Expected {"dst": "198.51.100.0/24"}')
        _destination(route["dst"])
        gateway = route.get("gw", "192.0.2.1")
        try:
            ip_address(gateway if isinstance(gateway, str) else "")
        except ValueError:
            raise _wrong(f"ipam.routes has gw {shown(gateway)}, which is not an address") from None
    return tuple(listed)


def _destination(text: str) -> None:
    """Refuse what the runtime's library does not read as the destination of a route."""
    try:
        ip_network(text, strict=False)
    except ValueError:
        raise _wrong(f"ipam.routes has dst {shown(text)}, which is not a subnet") from None
    if not re.fullmatch("[^/]+/[0-9]{1,3}", text):
        raise _wrong(f"ipam.routes has dst {shown(text)}, which has no prefix length", "Expected ADDRESS/LENGTH")


def _dns(ipam: Mapping[str, Any]) -> Mapping[str, Any] | None:
    found = ipam.get("dns")
    if found is None:
        return None
    if not isinstance(found, dict):
        raise _wrong("ipam.dns is not an object")
    for key in ("domain", "nameservers", "search", "options"):
        value = found.get(key)
        texts = [value] if key == "domain" else value
        if value is not None and not (isinstance(texts, list) and all(isinstance(one, str) for one in texts)):
            expected = "Expected a text" if key == "domain" else "Expected a list of texts"
            raise _wrong(f"ipam.dns.{key} is {shown(value)}", expected)
    return found


def overlap(one: IPNetwork, other: IPNetwork) -> bool:
    """Return whether two subnets, of any family, have an address in common."""
    return one.version == other.version and one.overlaps(other)


def _wrong(text: str, details: str = "") -> CniError:
    return CniError(Code.CONFIGURATION, f"The network configuration is not valid: {text}", details)
