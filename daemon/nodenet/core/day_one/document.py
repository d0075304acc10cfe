"""What does an NMState document say, for the tables and the first step of day one? Read with the types of YAML 1.2."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, IPv6Interface, ip_interface
from typing import Any

from nodenet.core.day_one import reading, yaml_writing
from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.value import frozen

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


# Which node file does each host get, and what does each file configure? One row a file, for a table.
#
# A file named ``cluster`` is for every host that has no file (docs: the node file). An address that two files
# configure is a duplicate on the wire.

CLUSTER = "cluster"


@frozen
class Row:
    """One node file. *duplicates*: its addresses that another file configures too."""

    file: str
    host: str
    links: tuple[str, ...]
    addresses: tuple[IPv4Interface | IPv6Interface, ...]
    automatic: bool
    gateways: tuple[str, ...]
    name_servers: tuple[str, ...]
    duplicates: tuple[str, ...]


def rows(documents: Mapping[str, Document]) -> tuple[Row, ...]:
    """Return a row for each file of *documents* (file name → document), by name."""
    found = {name: _addresses(document) for name, document in documents.items()}
    times = Counter(address.ip for listed in found.values() for address in {item.ip: item for item in listed}.values())
    return tuple(_row(name, documents[name], found[name], times) for name in sorted(documents))


def _addresses(document: Document) -> tuple[IPv4Interface | IPv6Interface, ...]:
    return tuple(address for item in interfaces(document) for address in addresses(item))


def _row(
    name: str,
    document: Document,
    listed: tuple[IPv4Interface | IPv6Interface, ...],
    times: Counter[IPv4Address | IPv6Address],
) -> Row:
    stem = name.rpartition(".")[0]
    links = [item for item in interfaces(document) if item.get("state", "up") == "up"]
    return Row(
        file=name,
        host="every host without a file of its own" if stem == CLUSTER else stem,
        links=tuple(str(item.get("name")) for item in links),
        addresses=listed,
        automatic=any(map(is_automatic, links)),
        gateways=gateways(document),
        name_servers=name_servers(document),
        duplicates=tuple(dict.fromkeys(str(item.ip) for item in listed if times[item.ip] > 1)),
    )


# Which document configures the same addresses before Open vSwitch exists? The first of the two steps of day one.
#
# The IP configuration of each bridge's own interface goes to the link below the bridge; routes follow; DNS stays.

IP = ("ipv4", "ipv6")
_LEFT_OUT = frozenset({"interfaces", "routes", "ovs-db", "ovn", "hostname"})


def early(document: Document) -> dict[str, Any]:
    """Return the document without Open vSwitch. Raises ArtefactInvalid where a bridge has no single link below it."""
    links = [dict(item) for item in interfaces(document) if item.get("state") != "absent"]
    kinds = {str(item.get("name")): item.get("type") for item in links}
    below = {name: _uplink(bridge, kinds) for bridge in links for name in _own_interfaces(bridge, kinds)}
    moved = {item["name"]: item for item in links if item.get("type") == "ovs-interface"}
    kept = {
        str(item["name"]): item for item in links if not str(item.get("type")).startswith("ovs-") and "name" in item
    }
    for name, uplink in below.items():
        entry = kept.setdefault(uplink, {"name": uplink, "type": "ethernet", "state": "up"})
        entry |= {family: moved[name][family] for family in IP if family in moved.get(name, {})}
    made: dict[str, Any] = {key: value for key, value in document.items() if key not in _LEFT_OUT}
    made = {"interfaces": [_without_mac(item) for item in kept.values()], **made}
    if followed := [_followed(route, below) for route in routes(document)]:
        made["routes"] = {"config": followed}
    return made


def render(document: Mapping[str, Any]) -> str:
    """Return a document as YAML, keys in their order, the same bytes for the same document."""
    return yaml_writing.render(document)


def _own_interfaces(bridge: Document, kinds: Mapping[str, Any]) -> Iterator[str]:
    """Yield the internal interfaces among the ports of an Open vSwitch bridge."""
    if bridge.get("type") == "ovs-bridge":
        yield from (name for name in _ports(bridge) if kinds.get(name) == "ovs-interface")


def _uplink(bridge: Document, kinds: Mapping[str, Any]) -> str:
    name = bridge.get("name")
    outside = [port for port in _ports(bridge) if kinds.get(port) != "ovs-interface"]
    if len(outside) != 1:
        found = " and ".join(outside) or "none"
        raise ArtefactInvalid(f"bridge {name}: one link below it is expected, found {found}: write this step by hand")
    return outside[0]


def _ports(bridge: Document) -> Iterator[str]:
    section = bridge.get("bridge")
    listed = section.get("port") if isinstance(section, Mapping) else None
    for port in listed if isinstance(listed, list) else ():
        if isinstance(port, Mapping) and "link-aggregation" in port:
            raise ArtefactInvalid(
                f"bridge {bridge.get('name')}: a bond of Open vSwitch does not exist before Open vSwitch: "
                "write this step by hand, with a kernel bond or one of its links"
            )
        if isinstance(port, Mapping) and "name" in port:
            yield str(port["name"])


def _without_mac(interface: Document) -> dict[str, Any]:
    return {key: value for key, value in interface.items() if key != "copy-mac-from"}


def _followed(route: Document, below: Mapping[str, str]) -> dict[str, Any]:
    link = route.get("next-hop-interface")
    return {**route, "next-hop-interface": below.get(str(link), link)} if link is not None else dict(route)
