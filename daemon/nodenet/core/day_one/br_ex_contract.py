"""Does a node file that makes br-ex make everything that the network plugin needs?

The bridge, one NIC, VLAN or bond as its port, the internal interface of the same name; the MAC address of the link, and
the metric 48 where the default route is learned (the contract of the installer's documentation).
"""

from __future__ import annotations

from collections.abc import Iterator

from nodenet.core.day_one.links import addresses, child, is_automatic, is_on, items, present
from nodenet.core.day_one.rules import Found, Rule, at
from nodenet.core.node_file.content import BRIDGE
from nodenet.core.node_file.values import text
from nodenet.core.node_file.yaml_text import Block

METRIC = "48"
_BRIDGE, _INTERFACE = "ovs-bridge", "ovs-interface"


def broken(file: str, document: Block) -> Iterator[Found]:
    """Yield what is missing for br-ex; nothing if the document does not make br-ex at all."""
    links = present(document)
    own = [(path, link) for path, link in links if text(link, "name") == BRIDGE]
    if not own:
        return
    bridges = [(path, link) for path, link in own if text(link, "type") == _BRIDGE]
    if not bridges:
        said = (
            f"{BRIDGE} is described as `type: {text(own[0][1], 'type')}`, and the Open vSwitch bridge {BRIDGE} is not",
            "Add an entry with `type: ovs-bridge`, its link and br-ex as ports",
        )
        yield Found(Rule.BRIDGE, file, *said, own[0][1].line, own[0][1].column, own[0][0])
        return
    path, bridge = bridges[0]
    inside = next((link for _, link in own if text(link, "type") == _INTERFACE), None)
    ports = _ports_of(bridge)
    uplinks = list(_uplinks(bridge, links))
    yield from _ports(file, path, bridge, uplinks)
    if inside is None or BRIDGE not in [text(port, "name") for port in ports]:
        missing = (
            "its internal interface is not described" if inside is None else "its internal interface is not a port"
        )
        said = (
            f"{BRIDGE}: {missing}: nothing carries the addresses of the node",
            f"Add {BRIDGE} to `bridge.port`, and an entry with `type: ovs-interface` that has the addresses",
        )
        yield Found(Rule.BRIDGE_INTERFACE, file, *said, bridge.line, bridge.column, path)
    yield from _mac(file, path, bridge, inside, uplinks)
    if inside is not None:
        yield from _metric(file, document, inside)
    below = {name for port in uplinks for name in (text(port, "name"), *members(port))}
    for where, link in links:
        if text(link, "name") in below and text(link, "type") != _BRIDGE:
            yield from _uplink(file, document, where, link)


def _ports_of(bridge: Block) -> list[Block]:
    return [port for port in items(bridge, "bridge", "port") if isinstance(port, Block)]


def _uplinks(bridge: Block, links: list[tuple[str, Block]], passed: frozenset[str] = frozenset()) -> Iterator[Block]:
    """Yield the ports by which *bridge* reaches the network, also those behind a patch port to another bridge."""
    internal = {text(link, "name"): link for _, link in links if text(link, "type") == _INTERFACE}
    for port in _ports_of(bridge):
        name = text(port, "name")
        peer = text(patch, "peer") if isinstance(patch := child(internal.get(name), "patch"), Block) else ""
        if name not in internal and name != BRIDGE:
            yield port
        for _, other in links if peer else ():
            beyond = text(other, "type") == _BRIDGE and text(other, "name") not in passed | {text(bridge, "name")}
            if beyond and peer in [text(each, "name") for each in _ports_of(other)]:
                yield from _uplinks(other, links, passed | {text(bridge, "name")})


def members(port: Block) -> list[str]:
    """Return the links of a bond of Open vSwitch, none for another port."""
    return [text(each, "name") for each in items(port, "link-aggregation", "port") if isinstance(each, Block)]


def _ports(file: str, path: str, bridge: Block, uplinks: list[Block]) -> Iterator[Found]:
    names = [text(port, "name") for port in uplinks]
    if len(names) == 1:
        return
    if not names:
        said = (
            f"{BRIDGE} has no NIC, VLAN or bond as a port: the node is cut off from the network",
            "Add the link to `bridge.port`",
        )
    else:
        said = (
            f"{BRIDGE} has {len(names)} links as ports ({', '.join(names)}): without a bond they make a loop",
            "Put the links into a bond, and the bond into `bridge.port`",
        )
    place = uplinks[1] if len(uplinks) > 1 else bridge
    yield Found(Rule.BRIDGE_PORT, file, *said, place.line, place.column, f"{path}.bridge.port")


def _mac(file: str, path: str, bridge: Block, inside: Block | None, uplinks: list[Block]) -> Iterator[Found]:
    owners = [link for link in (bridge, inside) if link is not None]
    source = next((link.get("copy-mac-from") for link in owners if link.get("copy-mac-from")), None)
    if any(link.get("mac-address") for link in owners):
        return
    names = [text(port, "name") for port in uplinks]
    wanted = next(iter(members(uplinks[0])), names[0]) if len(names) == 1 and names[0] else "its link"
    remedy = (
        f"Write `copy-mac-from: {wanted}`" if len(names) == 1 else "Write `copy-mac-from` with the name of its link"
    )
    if source is None:
        cause = f"{BRIDGE} does not take the MAC address of {wanted}: a DHCP server would give it another lease"
        yield Found(Rule.BRIDGE_MAC, file, cause, remedy, bridge.line, bridge.column, path)
    elif len(names) == 1 and getattr(source, "text", "") not in (wanted, *members(uplinks[0])):
        yield at(Rule.BRIDGE_MAC, file, source, "copy-mac-from", (f"{wanted} is the link of {BRIDGE}", remedy))


def _metric(file: str, document: Block, inside: Block) -> Iterator[Found]:
    del document
    for family in ("ipv4", "ipv6"):
        section = inside.get(family)
        if not isinstance(section, Block) or not (is_on(section, "dhcp") or is_on(section, "autoconf")):
            continue
        if (
            not is_automatic(inside)
            or text(section, "auto-routes") == "false"
            or text(section, "auto-gateway") == "false"
        ):
            continue
        if text(section, "auto-route-metric") != METRIC:
            found = text(section, "auto-route-metric") or "not set"
            cause = f"the metric of learned routes is {found}; the default route of {BRIDGE} is expected to win with 48"
            remedy = f"Write `auto-route-metric: {METRIC}` below `{family}` of {BRIDGE}"
            yield Found(Rule.BRIDGE_METRIC, file, cause, remedy, section.line, section.column, f"{BRIDGE}.{family}")


def _uplink(file: str, document: Block, path: str, link: Block) -> Iterator[Found]:
    name = text(link, "name")
    remedy = f"Move the addresses to {BRIDGE}, and write `enabled: false` below ipv4 and ipv6 of {name}"
    own = next((address for address in addresses(document) if address.interface == name and address.is_of_a_host), None)
    if own is not None:
        yield at(Rule.BRIDGE_UPLINK_IP, file, own.node, own.path, (f"{name} is a port of {BRIDGE}", remedy))
    elif is_automatic(link):
        cause = f"{name} is a port of {BRIDGE} and asks for an address of its own"
        yield Found(Rule.BRIDGE_UPLINK_IP, file, cause, remedy, link.line, link.column, path)
