"""Which links, addresses and routes does a node file have, and in which line? For the rules of day one."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import IPv4Interface, IPv6Interface, ip_interface

from nodenet.core.ip import is_like_masquerade, is_masquerade
from nodenet.core.node_file.values import interfaces, text
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


def present(document: Block) -> list[tuple[str, Block]]:
    """Return path and mapping of each interface that is to be there and up."""
    return [(path, link) for path, link in interfaces(document) if text(link, "state") in ("", "up")]


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
