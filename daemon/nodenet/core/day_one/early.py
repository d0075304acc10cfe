"""Which document configures the same addresses before Open vSwitch exists? The first of the two steps of day one.

The IP configuration of each bridge's own interface goes to the link below the bridge; routes follow; DNS stays.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodenet.core.day_one import yaml_writing
from nodenet.core.day_one.document import Document, interfaces, routes
from nodenet.core.day_one.files import ArtefactInvalid

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
