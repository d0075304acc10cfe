"""What does an NMState document say, for the checks and tables of day one? Read with the types of YAML 1.2."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Interface, IPv6Interface, ip_interface
from typing import Any

from nodenet.core.day_one import reading
from nodenet.core.day_one.files import ArtefactInvalid

Document = Mapping[str, Any]
DEFAULTS = frozenset({"0.0.0.0/0", "::/0"})


def read(text: str) -> Document:
    """Return the document. Raises ArtefactInvalid when it is no mapping."""
    found = reading.read("the document", text)
    if not isinstance(found, Mapping):
        raise ArtefactInvalid("not an NMState document: its first level has no keys such as interfaces")
    return found


def interfaces(document: Document) -> Iterator[Document]:
    """Yield the interfaces; what is no mapping is left out."""
    listed = document.get("interfaces")
    yield from (item for item in (listed if isinstance(listed, list) else ()) if isinstance(item, Mapping))


def routes(document: Document) -> Iterator[Document]:
    """Yield the configured routes that are not to be removed."""
    section = document.get("routes")
    listed = section.get("config") if isinstance(section, Mapping) else None
    for item in listed if isinstance(listed, list) else ():
        if isinstance(item, Mapping) and item.get("state") != "absent":
            yield item


def addresses(interface: Document) -> Iterator[IPv4Interface | IPv6Interface]:
    """Yield the static addresses of one interface; what is no address is left out."""
    for family in ("ipv4", "ipv6"):
        section = interface.get(family)
        if not isinstance(section, Mapping) or section.get("enabled") is False:
            continue
        listed = section.get("address")
        for item in listed if isinstance(listed, list) else ():
            try:
                yield ip_interface(f"{item['ip']}/{item['prefix-length']}")
            except (KeyError, TypeError, ValueError):
                continue


def is_automatic(interface: Document) -> bool:
    """Return whether DHCP or autoconfiguration is asked for on one interface."""
    sections = (interface.get(family) for family in ("ipv4", "ipv6"))
    return any(
        isinstance(section, Mapping) and bool(section.get("dhcp") or section.get("autoconf")) for section in sections
    )


def gateways(document: Document) -> tuple[str, ...]:
    """Return the next hops of the default routes, in order, each once."""
    found = (route for route in routes(document) if route.get("destination") in DEFAULTS)
    return tuple(dict.fromkeys(str(route.get("next-hop-address", "")) for route in found))


def name_servers(document: Document) -> tuple[str, ...]:
    """Return the configured DNS servers, in order."""
    section = document.get("dns-resolver")
    config = section.get("config") if isinstance(section, Mapping) else None
    listed = config.get("server") if isinstance(config, Mapping) else None
    return tuple(map(str, listed)) if isinstance(listed, list) else ()
