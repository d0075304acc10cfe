"""What do the files of day one say about links, keyfiles and br-ex?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Interface, IPv6Interface, ip_interface

from nodenet.core.day_one.rules import Found, Rule, at
from nodenet.core.ip import is_like_masquerade, is_masquerade
from nodenet.core.node_file.content import BRIDGE
from nodenet.core.node_file.links import bases_of, ports_of
from nodenet.core.node_file.values import interfaces, is_virtual_function, present, text
from nodenet.core.node_file.yaml_text import Block, Node, Scalar, typed
from nodenet.core.value import frozen

DEFAULTS = frozenset({"0.0.0.0/0", "::/0"})
_NO = (False, None, "", "no", "off", "n", 0)


@frozen
class Address:
    """One static address: its place in the text, and its path in the document."""

    interface: str
    value: IPv4Interface | IPv6Interface
    node: Scalar
    path: str

    @property
    def is_of_a_host(self) -> bool:
        """Whether one host alone can have it."""
        address = self.value
        alike = address.version == 6 and is_like_masquerade(self.interface, int(address.ip), address.network.prefixlen)
        return not (address.is_loopback or address.is_link_local or is_masquerade(address.ip) or alike)


def child(block: Node | None, *keys: str) -> Node | None:
    """Return the value at the end of *keys*, None where one is missing."""
    found = block
    for key in keys:
        found = found.get(key) if isinstance(found, Block) else None
    return found


def items(block: Node | None, *keys: str) -> tuple[Node, ...]:
    """Return the items of a list at the end of *keys*, none where there is no list."""
    found = child(block, *keys)
    return found.items if isinstance(found, Block) else ()


def is_on(section: Node | None, key: str) -> bool:
    """Return whether a flag is set, in any spelling that libnmstate takes."""
    value = child(section, key)
    return isinstance(value, Scalar) and (typed(value.text) if value.plain else value.text) not in (*_NO, "false")


def is_automatic(link: Block) -> bool:
    """Return whether DHCP or autoconfiguration is asked for on a link."""
    return any(
        is_on(link.get(family), key) and not _is_off(link.get(family))
        for family in ("ipv4", "ipv6")
        for key in ("dhcp", "autoconf")
    )


def addresses(document: Block) -> Iterator[Address]:
    """Yield the static addresses of the document; what is no address is left out."""
    for path, link in present(document):
        for family in ("ipv4", "ipv6"):
            section = link.get(family)
            if _is_off(section):
                continue
            for number, entry in enumerate(items(section, "address")):
                ip = child(entry, "ip")
                if not (isinstance(entry, Block) and isinstance(ip, Scalar)):
                    continue
                try:
                    value = ip_interface(f"{ip.text}/{text(entry, 'prefix-length')}")
                except ValueError:
                    continue  # said elsewhere
                yield Address(text(link, "name"), value, ip, f"{path}.{family}.address[{number}].ip")


def routes(document: Block) -> Iterator[tuple[str, Block]]:
    """Yield path and mapping of each route that is to be there."""
    for number, route in enumerate(items(document, "routes", "config")):
        if isinstance(route, Block) and text(route, "state") not in ("absent", "ignore"):
            yield f"routes.config[{number}]", route


def gateways(document: Block) -> tuple[str, ...]:
    """Return the next hops of the default routes, each once, in order."""
    found = (route for _, route in routes(document) if text(route, "destination") in DEFAULTS)
    return tuple(dict.fromkeys(text(route, "next-hop-address") for route in found))


def _is_off(section: Node | None) -> bool:
    return isinstance(child(section, "enabled"), Scalar) and not is_on(section, "enabled")


EARLY = "Derive the document of the first step with `nodenetctl day-one early`"
_KERNEL_NAME = re.compile(r"eth\d+")
_NO_KEYFILE = frozenset({"hsr", "ipvlan"})
"""libnmstate 2.2 leaves out the section that NetworkManager 1.58 asks for."""
_BY_IDENTIFIER = frozenset({"mac-address", "pci-address"})


def refusals(file: str, document: Block) -> Iterator[Found]:
    """Yield why *document* itself cannot become keyfiles; nothing: it can."""
    for key, _ in document.entries:
        if key.text == "hostname":
            said = "a keyfile cannot set the host name", f"Remove it, or leave it to the second step: {EARLY.lower()}"
            yield Found(Rule.STEP_HOSTNAME, file, *said, key.line, key.column)
        elif key.text in ("ovs-db", "ovn"):
            cause = f"{key.text} needs Open vSwitch, which the image does not have"
            yield Found(Rule.STEP_OVS, file, cause, EARLY, key.line, key.column)
    for path, link in interfaces(document):
        kind = text(link, "type")
        if text(link, "state") == "absent":
            yield _absent(file, path, link)
        elif kind.startswith("ovs-"):
            said = f"{text(link, 'name')} is an {kind}, and the image has no Open vSwitch", EARLY
            yield Found(Rule.STEP_OVS, file, *said, link.line, link.column, path)
        else:
            yield from _link(file, path, link)


def refusals_below(file: str, document: Block) -> Iterator[Found]:
    """Yield why what the first step keeps of *document* cannot become keyfiles; the rest is for the second step."""
    for path, link in interfaces(document):
        if text(link, "state") != "absent" and not text(link, "type").startswith("ovs-"):
            yield from _link(file, path, link)


def warnings(file: str, document: Block) -> Iterator[Found]:
    """Yield what may leave a host without network, though keyfiles can be generated."""
    links = present(document)
    if links and not any(is_automatic(link) for _, link in links) and not any(addresses(document)):
        first_link = links[0][1]
        said = (
            "no interface of the document has an address, DHCP or autoconfiguration: none of them reaches the network",
            "Write `dhcp: true`, or `address`, below `ipv4` or `ipv6` of one of them",
        )
        yield Found(Rule.STEP_NO_ADDRESS, file, *said, first_link.line, first_link.column)
    if not any(is_automatic(link) for _, link in links) and any(
        address.is_of_a_host for address in addresses(document)
    ):
        first = next(address for address in addresses(document) if address.is_of_a_host)
        if not gateways(document):
            said = (
                "the host has static addresses and no default route: it reaches its own subnets only",
                "Add a route with `destination: 0.0.0.0/0` (IPv6: `::/0`) below `routes.config`",
            )
            yield Found(Rule.NO_ROUTE, file, *said, first.node.line, first.node.column)
        if not items(document, "dns-resolver", "config", "server"):
            said = (
                "the host has static addresses and no DNS server: it cannot resolve the name of the API",
                "Add `dns-resolver.config.server`",
            )
            yield Found(Rule.NO_DNS, file, *said, first.node.line, first.node.column)
    for path, link in links:
        name = link.get("name")
        named = _KERNEL_NAME.fullmatch(text(link, "name"))
        if name is not None and named and text(link, "identifier") not in _BY_IDENTIFIER:
            said = (
                "the name follows the kernel's order, which can change between the image and the installed system",
                "Write `identifier: mac-address` and `mac-address`, or the name that udev gives (`enp2s0`)",
            )
            yield at(Rule.KERNEL_NAME, file, name, f"{path}.name", said)


def _link(file: str, path: str, link: Block) -> Iterator[Found]:
    yield from _virtual_functions(file, path, link)
    if (kind := text(link, "type")) in _NO_KEYFILE:
        said = (
            f"libnmstate makes a keyfile of type {kind} that NetworkManager does not read",
            f"Leave {text(link, 'name')} to the second step, and give the host another link until then",
        )
        yield Found(Rule.STEP_TYPE, file, *said, link.line, link.column, path)
    if not kind:
        said = (
            f"{text(link, 'name') or 'an interface'} has no type, and only the running host knows it",
            "Add `type: ethernet`, or what it is",
        )
        yield Found(Rule.STEP_TYPE, file, *said, link.line, link.column, path)
    copied = link.get("copy-mac-from")
    if copied is not None:
        said = "`copy-mac-from` needs the running host", "Write `mac-address` instead, with the address of the card"
        yield at(Rule.STEP_MAC, file, copied, f"{path}.copy-mac-from", said)


def _virtual_functions(file: str, path: str, link: Block) -> Iterator[Found]:
    """Yield the virtual functions that are named by their physical one: NetworkManager refuses such a keyfile."""
    for name in dict.fromkeys((text(link, "name"), *ports_of(link), *bases_of(link))):
        if is_virtual_function(name):
            said = (
                f"{name} names a virtual function by its physical one, and only the running host knows its link",
                "Write the name that udev gives the virtual function, or leave it to the second step",
            )
            yield Found(Rule.STEP_FUNCTION, file, *said, link.line, link.column, path)


def _absent(file: str, path: str, link: Block) -> Found:
    said = (
        f"`state: absent` of {text(link, 'name')} removes nothing from a new host",
        f"Remove the interface from the file. {EARLY} where the second step needs it",
    )
    return Found(Rule.STEP_ABSENT, file, *said, link.line, link.column, path)


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
