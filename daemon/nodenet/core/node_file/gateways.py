"""Can the gateways of a node file be reached over the links that it describes?

Every program accepts a gateway outside the subnets of its link, but it never answers. This is a warning only: the link
may have addresses that are not in the file (from DHCP or another program).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_interface, ip_network

from nodenet.core.node_file.finding import Finding, Severity, shown
from nodenet.core.node_file.values import interfaces, text
from nodenet.core.node_file.yaml_text import Block, Scalar
from nodenet.core.node_file.yaml_values import typed

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
