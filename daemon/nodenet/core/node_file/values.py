"""Which values of a node file can never be applied, whatever the host is?

What depends on the host is not judged here: whether a link exists, what its hardware can do.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_interface, ip_network

from nodenet.core.hostname import normalised, why_invalid
from nodenet.core.node_file.finding import Finding, at, shown
from nodenet.core.node_file.yaml_text import Block, Node, Scalar

# Which types of interfaces does libnmstate know, and what is reported for an unknown one?
#
# For an unknown type libnmstate only logs a line: it finds the link by its name, drops the keys of the intended type,
# and reports success.

MADE = frozenset(
    {
        "bond",
        "dummy",
        "ethernet",
        "hsr",
        "infiniband",
        "ip-tunnel",
        "ipsec",
        "ipvlan",
        "linux-bridge",
        "loopback",
        "mac-vlan",
        "mac-vtap",
        "macsec",
        "ovs-bridge",
        "ovs-interface",
        "veth",
        "vlan",
        "vrf",
        "vxlan",
        "xfrm",
    }
)
"""The variants of the crate's InterfaceType that can be asked for; tests/libnmstate holds this to the crate in use."""
SHOWN = frozenset({"tun", "unknown"})
"""What ``show`` prints for links that libnmstate does not make: accepted, libnmstate then looks at the name alone."""


def unknown_types(links: Iterable[tuple[str, Block]]) -> Iterator[Finding]:
    """Yield a finding for each of the *links*, each with its path, whose type is not known."""
    for path, link in links:
        kind = link.get("type")
        state = link.get("state")
        ignored = isinstance(state, Scalar) and state.text == "ignore"
        if not isinstance(kind, Scalar) or not kind.text or ignored or kind.text in MADE | SHOWN:
            continue
        name = link.get("name")
        named = f" (interface {shown(name.text)!r})" if isinstance(name, Scalar) else ""
        yield at(kind, f"{path}.type", f"libnmstate knows no type {shown(kind.text)!r}{named}", _remedy(kind.text))


_MEANT = {"interface": "ethernet", "nic": "ethernet", "eth": "ethernet"}
"""Words that other tools have for a type, where the nearest spelling would be another kind of link."""


def _remedy(kind: str) -> str:
    if meant := _MEANT.get(kind.lower()):
        return f"Write `{meant}`; leave `type` out for a link that is there already"
    near = difflib.get_close_matches(kind[:40].lower(), sorted(MADE), n=3)
    if near:
        return f"Did you mean {' or '.join(map(repr, near))}?"
    return f"Leave `type` out for a link that is there already; the types are: {', '.join(sorted(MADE))}"


# Which values can never be applied?

LONGEST_LINK_NAME = 15
"""IFNAMSIZ of linux/if.h, less the terminating NUL."""
_NOT_OF_THE_KERNEL = frozenset({"ovs-bridge", "ipsec"})
"""Types whose name the kernel never sees."""
_MAC = re.compile(r"[0-9A-Fa-f]{2}(:[0-9A-Fa-f]{2}){5}((:[0-9A-Fa-f]{2}){14})?")
_VIRTUAL_FUNCTION = re.compile(r"sriov:([^:]+):\d{1,5}")
"""A virtual function by its physical one, NMState's own notation: ``sriov:ens1f0:0``."""
_RANGES = {
    ("vlan", "id"): (0, 4094, "IEEE 802.1Q has VLAN ids from 0 to 4094"),
    ("vxlan", "id"): (0, (1 << 24) - 1, "a VXLAN id has 24 bits (RFC 7348)"),
    ("", "mtu"): (68, 1 << 31, "the smallest MTU of IPv4 is 68 (RFC 791)"),
}
PREFIX_BITS = {"ipv4": 32, "ipv6": 128}
_ZERO = IPv4Network("0.0.0.0/8")


def wrong_values(document: Block) -> Iterator[Finding]:
    """Yield the findings of one document."""
    links = list(interfaces(document))
    yield from unknown_types(links)
    yield from _twins(links)
    for path, link in links:
        if text(link, "state") not in ("absent", "ignore"):
            yield from _link(path, link)
    yield from _routes(document)
    yield from _rules(document)
    yield from _dns(document)
    yield from _hostname(document)


def interfaces(document: Block) -> Iterator[tuple[str, Block]]:
    """Yield path and mapping of each interface."""
    yield from _mappings(document.get("interfaces"), "interfaces")


def present(document: Block) -> list[tuple[str, Block]]:
    """Return path and mapping of each interface that is to be there and up."""
    return [(path, link) for path, link in interfaces(document) if text(link, "state") in ("", "up")]


def routes(document: Block) -> Iterator[tuple[str, Block]]:
    """Yield path and mapping of each route."""
    yield from _mappings(_child(document, "routes", "config"), "routes.config")


def text(block: Block, key: str) -> str:
    """Return the scalar of *key*, empty where there is none."""
    value = block.get(key)
    return value.text if isinstance(value, Scalar) else ""


def mac_address(written: str) -> str:
    """Return a MAC address as the kernel spells it: in lower case, with colons."""
    return written.lower().replace("-", ":")


def _mappings(node: Node | None, path: str) -> Iterator[tuple[str, Block]]:
    if isinstance(node, Block):
        for number, item in enumerate(node.items):
            if isinstance(item, Block) and not item.is_list:
                yield f"{path}[{number}]", item


def _child(block: Block, *keys: str) -> Node | None:
    found: Node | None = block
    for key in keys:
        found = found.get(key) if isinstance(found, Block) else None
    return found


def _twins(links: Iterable[tuple[str, Block]]) -> Iterator[Finding]:
    """Yield a finding for each link that is described a second time: libnmstate would silently take the last one.

    A bridge and its internal port share a name (`br-ex`), so the type distinguishes them.
    """
    seen: dict[tuple[str, str], int] = {}
    for path, link in links:
        key = (text(link, "name"), text(link, "type"))
        if key in seen and key[0]:
            yield at(
                link,
                path,
                f"the interface {shown(key[0])!r} is described twice, first in line {seen[key]}",
                "Put the two into one entry",
            )
        seen.setdefault(key, link.line)


def _link(path: str, link: Block) -> Iterator[Finding]:
    yield from _link_name(path, link)
    if isinstance(mac := link.get("mac-address"), Scalar) and not _MAC.fullmatch(mac.text):
        yield _bad(mac, f"{path}.mac-address", *_not_a_mac(mac.text))
    for (section, key), (least, most, why) in _RANGES.items():
        value = _child(link, *filter(None, (section, key)))
        if isinstance(value, Scalar) and not _is_within(value.text, least, most):
            where = ".".join(filter(None, (path, section, key)))
            yield _bad(value, where, why, f"Write a number from {least} to {most}")
    for family in PREFIX_BITS:
        for where, entry in _mappings(_child(link, family, "address"), f"{path}.{family}.address"):
            yield from _address(where, entry, family)


def _is_within(number: str, least: int, most: int) -> bool:
    """Whether *number* is in the range, or no number at all: that is said elsewhere."""
    return not re.fullmatch(r"-?\d{1,20}", number) or least <= int(number) <= most


def is_virtual_function(name: str) -> bool:
    """Return whether *name* means a virtual function by its physical one (``sriov:PF:ID``)."""
    return name.startswith("sriov:")


def _not_a_mac(written: str) -> tuple[str, str]:
    if _MAC.fullmatch(coloned := mac_address(written)):
        return "libnmstate finds no NIC by a MAC address with dashes", f"Write colons: {coloned}"
    return "this is not a MAC address", "Write six bytes, such as 52:54:00:12:34:56"


def _link_name(path: str, link: Block) -> Iterator[Finding]:
    name = link.get("name")
    if not isinstance(name, Scalar) or _is_hidden_from_the_kernel(link):
        return
    shown_name = name.text
    if is_virtual_function(shown_name):
        if (function := _VIRTUAL_FUNCTION.fullmatch(shown_name)) is None:
            cause, remedy = "this names no virtual function", "Write `sriov:PF:ID`, such as sriov:ens1f0:0"
            yield _bad(name, f"{path}.name", cause, remedy)
            return
        shown_name = function[1]
    if len(shown_name.encode()) > LONGEST_LINK_NAME:
        yield _bad(
            name, f"{path}.name", f"a link's name has {LONGEST_LINK_NAME} bytes at most (IFNAMSIZ)", "Shorten the name"
        )
    elif shown_name in (".", "..") or re.search(r"[\s/]", shown_name):
        yield _bad(name, f"{path}.name", "a link's name has no blanks and no '/'", "Choose another name")
    elif ":" in shown_name:
        yield _bad(
            name,
            f"{path}.name",
            "a link's name has no ':', and an alias is no link (dev_valid_name of the kernel)",
            f"Write its addresses below `address` of {shown(shown_name.partition(':')[0])}",
        )


def _is_hidden_from_the_kernel(link: Block) -> bool:
    """Return whether the kernel never sees the name of *link*, so that any length is allowed.

    A patch port exists in Open vSwitch only; by another identifier the name is that of the profile.
    """
    kind = text(link, "type")
    return (
        kind in _NOT_OF_THE_KERNEL
        or (kind == "ovs-interface" and link.get("patch") is not None)
        or text(link, "identifier") not in ("", "name")
    )


def _address(path: str, entry: Block, family: str) -> Iterator[Finding]:
    ip, prefix = entry.get("ip"), entry.get("prefix-length")
    if isinstance(ip, Scalar):
        found = _ip(ip.text)
        if found is None:
            yield _bad(ip, f"{path}.ip", *_not_an_address(ip.text))
        elif f"ipv{found.version}" != family:
            yield _bad(
                ip, f"{path}.ip", f"an IPv{found.version} address below `{family}`", "Move it to the other family"
            )
    if isinstance(prefix, Scalar) and re.fullmatch(r"-?\d{1,9}", prefix.text):
        bits = PREFIX_BITS[family]
        if not 0 <= int(prefix.text) <= bits:
            cause = f"a prefix of {'IPv4' if family == 'ipv4' else 'IPv6'} has 0 to {bits} bits"
            yield _bad(prefix, f"{path}.prefix-length", cause, f"Write a number from 0 to {bits}")
    if isinstance(ip, Scalar) and prefix is None:
        yield at(
            ip, path, "`prefix-length` is missing", "Write `prefix-length: 24`, or what the subnet has, below `ip`"
        )


def _not_an_address(value: str) -> tuple[str, str]:
    try:
        whole = ip_interface(value)
    except ValueError:
        return "this is not an IP address", "Write one address, such as 192.0.2.5 or 2001:db8::5"
    return (
        "this is an address with its prefix",
        f"Write `ip: {whole.ip}` and `prefix-length: {whole.network.prefixlen}`",
    )


def _routes(document: Block) -> Iterator[Finding]:
    for path, route in routes(document):
        if text(route, "state") in ("absent", "ignore"):
            continue
        destination, gateway = route.get("destination"), route.get("next-hop-address")
        family = 0
        if isinstance(destination, Scalar) and destination.text:
            network = _network(destination.text)
            family = network.version if network else 0
            if network is None:
                yield _bad(destination, f"{path}.destination", "this is not a subnet", "Write one such as 192.0.2.0/24")
            elif isinstance(network, IPv4Network) and network.prefixlen and network.subnet_of(_ZERO):
                yield _bad(destination, f"{path}.destination", "no route leads to 0.0.0.0/8", "Did you mean 0.0.0.0/0?")
        elif destination is None:
            yield at(route, path, "`destination` is missing", "Write `destination: 0.0.0.0/0` for the default route")
        if isinstance(gateway, Scalar) and gateway.text:
            yield from _gateway(gateway, f"{path}.next-hop-address", family)
        if not text(route, "next-hop-interface") and not text(route, "route-type"):
            yield at(route, path, "`next-hop-interface` is missing", "Write the link that the route leaves by")


def _gateway(gateway: Scalar, path: str, family: int) -> Iterator[Finding]:
    found = _ip(gateway.text)
    if found is None:
        yield _bad(gateway, path, "this is not an IP address", "Write one address, such as 192.0.2.1 or 2001:db8::1")
    elif family and found.version != family:
        yield _bad(
            gateway, path, f"an IPv{found.version} gateway of an IPv{family} route", f"Write an IPv{family} address"
        )


def _rules(document: Block) -> Iterator[Finding]:
    for path, rule in _mappings(_child(document, "route-rules", "config"), "route-rules.config"):
        for key in ("ip-from", "ip-to"):
            value = rule.get(key)
            if isinstance(value, Scalar) and value.text and _network(value.text) is None:
                yield _bad(value, f"{path}.{key}", "this is not a subnet", "Write one such as 192.0.2.0/24")


def _dns(document: Block) -> Iterator[Finding]:
    servers = _child(document, "dns-resolver", "config", "server")
    for number, server in enumerate(servers.items if isinstance(servers, Block) else ()):
        if isinstance(server, Scalar) and _ip(server.text) is None:
            several = re.search(r"[,;\s]", server.text)
            remedy = "Write each server in a line of its own" if several else "Write its address, such as 192.0.2.53"
            yield _bad(server, f"dns-resolver.config.server[{number}]", "this is not an IP address", remedy)


def _hostname(document: Block) -> Iterator[Finding]:
    for key in ("config", "running"):
        name = _child(document, "hostname", key)
        if isinstance(name, Scalar) and name.text and (why := why_invalid(normalised(name.text))):
            yield _bad(name, f"hostname.{key}", f"this is not a node's name: {why}", "Write the node's own name")


def _ip(value: str) -> IPv4Address | IPv6Address | None:
    try:
        return ip_address(value)
    except ValueError:
        return None


def _network(value: str) -> IPv4Network | IPv6Network | None:
    try:
        return ip_network(value, strict=False)
    except ValueError:
        return None


def _bad(node: Scalar, path: str, cause: str, remedy: str) -> Finding:
    return at(node, path, cause, remedy, shown(node.text))
