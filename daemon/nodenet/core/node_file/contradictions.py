"""Which parts of a node file contradict each other, so that no host can have what both of them ask for?

libnmstate applies some of these documents without a word, and uses one of the two parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network

from nodenet.core.ip import IPAddress
from nodenet.core.node_file.finding import Finding, Severity, at, shown
from nodenet.core.node_file.links import NO
from nodenet.core.node_file.values import interfaces, mac_address, routes, text
from nodenet.core.node_file.yaml_text import Block, Node, Scalar, typed

WITH_PRIMARY = frozenset({"active-backup", "balance-tlb", "balance-alb", "1", "5", "6", ""})
"""Modes of a bond in which the option ``primary`` has a meaning (kernel, bonding.rst)."""
MAIN_TABLES = ("", "0", "254")
"""How a route names the main table (rtnetlink(7))."""


def contradictions(document: Block) -> Iterator[Finding]:
    """Yield a finding for each part that contradicts an earlier one."""
    links = [
        (path, link) for path, link in interfaces(document) if text(link, "state") not in ("absent", "ignore", "down")
    ]
    yield from _same_nic(links)
    yield from _ports(links)
    for path, link in links:
        yield from _primary(path, link)
    yield from _own_gateways(document, links)
    yield from _equal_default_routes(document)


def _same_nic(links: list[tuple[str, Block]]) -> Iterator[Finding]:
    """Yield the entries that mean the NIC of an earlier entry: libnmstate applies the first of them only."""
    first: dict[str, tuple[str, int]] = {}
    for path, link in links:
        mac = link.get("mac-address")
        if text(link, "identifier") != "mac-address" or not isinstance(mac, Scalar):
            continue
        name, line = first.setdefault(mac_address(mac.text), (text(link, "name"), mac.line))
        if line != mac.line:
            cause = f"the entry {shown(name)!r} identifies the same NIC by this MAC address, in line {line}"
            remedy = "Put the two into one entry, or correct one MAC address"
            yield at(mac, f"{path}.mac-address", cause, remedy, shown(mac.text))


def _ports(links: list[tuple[str, Block]]) -> Iterator[Finding]:
    """Yield the ports that are ports of an earlier link, too."""
    first: dict[str, tuple[str, int]] = {}
    for _, link in links:
        for port, path in _ports_of(link):
            name, line = first.setdefault(port.text, (text(link, "name"), port.line))
            if (name, line) != (text(link, "name"), port.line):
                where = shown(text(link, "name"))
                cause = f"a link is a port of one link at most, and this one is of {shown(name)} too, in line {line}"
                yield at(port, f"{where}.{path}", cause, f"Remove it from {shown(name)} or {where}", shown(port.text))


def _ports_of(link: Block) -> Iterator[tuple[Scalar, str]]:
    """Yield the ports of a bond, bridge or VRF, those of a bond of Open vSwitch included."""
    for section, part in link.entries:
        if not isinstance(part, Block):
            continue
        for key in ("port", "ports"):
            listed = part.get(key)
            for item in listed.items if isinstance(listed, Block) else ():
                yield from _named(item, f"{section.text}.{key}")


def _named(item: Node, path: str) -> Iterator[tuple[Scalar, str]]:
    if isinstance(item, Scalar):
        yield item, path
    elif item.get("link-aggregation") is not None:
        yield from _ports_of(item)
    elif isinstance(name := item.get("name"), Scalar):
        yield name, path


def _primary(path: str, link: Block) -> Iterator[Finding]:
    bond = link.get("link-aggregation")
    if text(link, "type") != "bond" or not isinstance(bond, Block):
        return
    options = bond.get("options")
    primary = options.get("primary") if isinstance(options, Block) else None
    if isinstance(primary, Scalar) and primary.text and (mode := text(bond, "mode")) not in WITH_PRIMARY:
        cause = f"a bond with the mode {shown(mode)} has no primary port, and NetworkManager refuses its profile"
        yield at(
            primary,
            f"{path}.link-aggregation.options.primary",
            cause,
            "Remove `primary`, or write `mode: active-backup`",
            shown(primary.text),
        )


def _own_gateways(document: Block, links: list[tuple[str, Block]]) -> Iterator[Finding]:
    """Yield the next hops that are addresses of the host itself: no packet would ever leave it."""
    own = {address for _, link in links for address in _addresses(link)}
    for path, route in routes(document):
        gateway = route.get("next-hop-address")
        if text(route, "state") in ("absent", "ignore") or not isinstance(gateway, Scalar):
            continue
        if _canonical(gateway.text) in own:
            cause = "the gateway is an address of this host itself"
            remedy = "Write the address of the router, or correct the address of the link"
            yield at(gateway, f"{path}.next-hop-address", cause, remedy, shown(gateway.text))


def _addresses(link: Block) -> Iterator[str]:
    for family in ("ipv4", "ipv6"):
        section = link.get(family)
        listed = section.get("address") if isinstance(section, Block) else None
        for entry in listed.items if isinstance(listed, Block) else ():
            if isinstance(entry, Block) and (found := _canonical(text(entry, "ip"))):
                yield found


def _canonical(written: str) -> str:
    try:
        return str(ip_address(written))
    except ValueError:
        return ""  # reported elsewhere


def _equal_default_routes(document: Block) -> Iterator[Finding]:
    """Yield a warning for a second default route with the metric of the first, over another link.

    With ``weight`` they are one route with several next hops, on purpose.
    """
    first: dict[tuple[str, str, str], tuple[str, int]] = {}
    for path, route in routes(document):
        if text(route, "state") in ("absent", "ignore") or route.get("weight") is not None:
            continue
        if not (key := _rank_of_default(route)):
            continue
        link = text(route, "next-hop-interface")
        known, line = first.setdefault(key, (link, route.line))
        if known != link:
            cause = (
                f"the default route over {shown(known)} in line {line} has the same metric: "
                "the order of activation decides which of the two is used"
            )
            found = at(route, path, cause, "Write another `metric` for one of them; the lower metric is used")
            yield replace(found, severity=Severity.WARNING)


def _rank_of_default(route: Block) -> tuple[str, str, str] | None:
    """Return family, table and metric of a default route, None for another route."""
    try:
        network = ip_network(text(route, "destination"), strict=False)
    except ValueError:
        return None
    if network.prefixlen:
        return None
    table = text(route, "table-id")
    return str(network.version), "254" if table in MAIN_TABLES else table, text(route, "metric")


# Can the gateways of a node file be reached over the links that it describes?
#
# Every program accepts a gateway outside the subnets of its link, but it never answers. This is a warning only: the
# link may have addresses that are not in the file (from DHCP or another program).

Subnets = list[IPv4Network | IPv6Network]
_NONE = ("0.0.0.0", "::")  # noqa: S104  (how nmstate writes "no next hop")


def unreachable_gateways(document: Block) -> Iterator[Finding]:
    """Yield a warning for each next hop that is in no subnet of its link, where the file says all of that link."""
    known = dict(_subnets(document))
    routes = document.get("routes")
    config = routes.get("config") if isinstance(routes, Block) else None
    entries = [item for item in config.items if isinstance(item, Block)] if isinstance(config, Block) else []
    for route in entries:
        _add_on_link(known, route)
    for number, route in enumerate(entries):
        gateway = route.get("next-hop-address")
        if text(route, "state") or not isinstance(gateway, Scalar) or gateway.text in _NONE:
            continue
        try:
            address = ip_address(gateway.text)
        except ValueError:
            continue  # said elsewhere
        subnets = known.get((text(route, "next-hop-interface"), address.version))
        if subnets is None or address.is_link_local or any(address in subnet for subnet in subnets):
            continue
        if any(subnet.prefixlen == subnet.max_prefixlen for subnet in subnets):
            continue  # a /32 of a hosting provider: NetworkManager adds the route to the gateway on the link
        listed = ", ".join(map(str, subnets)) or f"it has no IPv{address.version} address"
        yield Finding(
            f"the gateway is outside every subnet of {shown(text(route, 'next-hop-interface'))} ({listed})",
            "Correct the gateway, or the address and prefix length of the link",
            gateway.line,
            gateway.column,
            f"routes.config[{number}].next-hop-address",
            shown(gateway.text),
            Severity.WARNING,
        )


def _subnets(document: Block) -> Iterator[tuple[tuple[str, int], Subnets]]:
    """Yield the subnets of each link and family if the file has all addresses of that link and family."""
    for _, link in interfaces(document):
        if text(link, "type") == "ovs-bridge" or text(link, "state") in ("absent", "ignore"):
            continue
        for family, version in (("ipv4", 4), ("ipv6", 6)):
            section = link.get(family)
            if isinstance(section, Block) and section.get("address") and not is_leased(section):
                addresses = section.get("address")
                items = addresses.items if isinstance(addresses, Block) else ()
                yield (text(link, "name"), version), [net for item in items for net in _subnet(item)]


def is_leased(section: Block) -> bool:
    """Return whether a section `ipv4` or `ipv6` asks a DHCP server or a router for addresses."""
    return any(typed(text(section, key)) not in (False, "", "no", "off", "n", 0, None) for key in ("dhcp", "autoconf"))


def _subnet(entry: object) -> Iterator[IPv4Network | IPv6Network]:
    if isinstance(entry, Block):
        try:
            yield ip_interface(f"{text(entry, 'ip')}/{text(entry, 'prefix-length')}").network
        except ValueError:
            return  # said elsewhere


def _add_on_link(known: Mapping[tuple[str, int], Subnets], route: Block) -> None:
    """Add to *known* what a route without gateway makes reachable on its link."""
    if text(route, "next-hop-address") not in ("", *_NONE) or text(route, "state"):
        return
    try:
        network = ip_network(text(route, "destination"), strict=False)
    except ValueError:
        return
    if network.prefixlen and (subnets := known.get((text(route, "next-hop-interface"), network.version))) is not None:
        subnets.append(network)


# Which static addresses does a node file give to which link?

LinkAddress = tuple[str, IPAddress]
"""The name of a link, and an address."""


def static_addresses(interfaces: Iterable[Block]) -> Iterator[LinkAddress]:
    """Yield the addresses of these *interfaces* of a node file; a family that it disables has none."""
    for link in interfaces:
        for family in ("ipv4", "ipv6"):
            section = link.get(family)
            if isinstance(section, Block) and text(section, "enabled").lower() not in NO - {""}:
                yield from ((text(link, "name"), address) for address in _of_section(section))


def _of_section(section: Block) -> Iterator[IPAddress]:
    entries = section.get("address")
    for entry in entries.items if isinstance(entries, Block) else ():
        try:
            yield ip_address(text(entry, "ip") if isinstance(entry, Block) else "")
        except ValueError:
            continue  # reported as a finding
