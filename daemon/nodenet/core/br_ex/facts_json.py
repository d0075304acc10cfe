"""How are the facts of a br-ex written as JSON, so that the plan can be repeated elsewhere, from a bug report too?

One JSON document with a key for each field of ``BridgeFacts``; every key may be missing. A device names its active
profile by UUID. ``state`` is libnmstate's and is not looked into here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, ip_address
from typing import Any

from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.ip import Family, IPAddress
from nodenet.core.json_reader import Node, load, wrong
from nodenet.core.network_manager.profiles import Device, Lease4, Lease6, Profile
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort

SCHEMA_VERSION = 1
REMEDY = "The facts of a br-ex are what `nodenetctl explain br-ex --facts` prints"
MOST_BYTES = 32 << 20
LESS = "No node has that many links and profiles: look at what made the file"


def parse(text: str | bytes) -> BridgeFacts:
    """Return the facts that *text* describes. Raises SnapshotInvalid naming the JSON path."""
    return _facts(load(text, MOST_BYTES, REMEDY, LESS))


def from_document(document: object) -> BridgeFacts:
    """Return the facts of a decoded JSON document. Raises SnapshotInvalid naming the JSON path."""
    return _facts(Node(document, "$", REMEDY))


def document(facts: BridgeFacts) -> dict[str, Any]:
    """Return the JSON document of *facts*; ``from_document`` gives the same facts back."""
    return {"schema_version": SCHEMA_VERSION, **_plain(facts)}


def _plain(value: Any) -> Any:  # noqa: ANN401  (what JSON can say of whatever it is)
    match value:
        case Device():
            uuid = value.profile.uuid if value.profile else None
            return {**_fields(value), "profile": uuid}
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
        case IPv4Address() | IPv6Address():  # an interface is an address too
            return str(value)
    return _fields(value) if is_dataclass(value) else value


def _fields(value: Any) -> dict[str, Any]:  # noqa: ANN401  (any of the types above)
    return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}


def _facts(top: Node) -> BridgeFacts:
    version = top.get("schema_version", int, SCHEMA_VERSION)
    if version != SCHEMA_VERSION:
        raise top.wrong("schema_version", str(SCHEMA_VERSION))
    profiles = {profile.uuid: profile for profile in map(_profile, top.children("profiles"))}
    return BridgeFacts(
        state=top.get("state", dict, {}),
        temporary=_addresses(top, "temporary"),
        global_dns=top.get("global_dns", bool, default=False),
        devices=tuple(_device(node, profiles) for node in top.children("devices")),
        profiles=tuple(profiles.values()),
        sysctls=_sysctls(top.child("sysctls")),
        node_ips=_addresses(top, "node_ips"),
        node_ip_link=top.maybe("node_ip_link", str),
        default_bridge=top.maybe("default_bridge", str),
        extra_bridge=top.maybe("extra_bridge", str),
        remembered=top.maybe("remembered", str),
        remembered_mac=top.maybe("remembered_mac", str),
        ovs=tuple(map(_bridge, top.children("ovs"))),
    )


def _sysctls(node: Node | None) -> Mapping[str, Mapping[str, str]]:
    return {link: node.texts(link) for link in node.value} if node else {}


def _addresses(node: Node, key: str) -> tuple[IPAddress, ...]:
    found = []
    for i, text in enumerate(node.strings(key)):
        try:
            found.append(ip_address(text))
        except ValueError as error:
            raise wrong(f"{node.path}.{key}[{i}]", text, "an IP address", node.remedy) from error
    return tuple(found)


def _profile(node: Node) -> Profile:
    return Profile(
        uuid=node.text("uuid"),
        name=node.get("name", str, ""),
        kind=node.get("kind", str, ""),
        link=node.get("link", str, ""),
        on_disk=node.get("on_disk", bool, default=True),
        path=node.get("path", str, ""),
        settings={section: part.value for section, part in node.nodes("settings")},
    )


def _device(node: Node, profiles: Mapping[str, Profile]) -> Device:
    uuid = node.maybe("profile", str)
    if uuid is not None and uuid not in profiles:
        raise node.wrong("profile", "the uuid of one of `profiles`")
    lease4, lease6 = node.child("lease4"), node.child("lease6")
    return Device(
        link=node.text("link"),
        kind=node.get("kind", str, ""),
        mac=node.maybe("mac", str),
        permanent_mac=node.maybe("permanent_mac", str),
        profile=profiles[uuid] if uuid else None,
        lease4=_lease4(lease4) if lease4 else None,
        lease6=_lease6(lease6) if lease6 else None,
    )


def _lease4(node: Node) -> Lease4:
    try:
        address = IPv4Interface(node.text("address"))
    except ValueError as error:
        raise node.wrong("address", "an IPv4 address with its prefix length") from error
    gateway = node.address("gateway", Family.IPV4)
    return Lease4(
        address=address,
        gateway=gateway if isinstance(gateway, IPv4Address) else None,
        client_id=node.maybe("client_id", str),
        expires=node.maybe("expires", float),
        seconds=node.maybe("seconds", float),
        servers=node.strings("servers"),
    )


def _lease6(node: Node) -> Lease6:
    address = node.address("address", Family.IPV6)
    return Lease6(
        address=address if isinstance(address, IPv6Address) else None,
        duid=node.maybe("duid", str),
        iaid=node.maybe("iaid", str),
        expires=node.maybe("expires", float),
    )


def _bridge(node: Node) -> OvsBridge:
    return OvsBridge(
        name=node.text("name"),
        datapath=node.get("datapath", str, ""),
        ports=tuple(map(_port, node.children("ports"))),
        external_ids=node.texts("external_ids"),
    )


def _port(node: Node) -> OvsPort:
    interfaces = tuple(
        OvsInterface(
            name=item.text("name"),
            kind=item.get("kind", str, ""),
            error=item.maybe("error", str),
            external_ids=item.texts("external_ids"),
        )
        for item in node.children("interfaces")
    )
    return OvsPort(node.text("name"), interfaces, node.texts("external_ids"))
