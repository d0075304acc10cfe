"""What NMState's documents say: of a state that is shown, and of one that is asked for."""

from __future__ import annotations

import json
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from nodenet.core.br_ex.facts import MARK
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from simulation.addressing import NICS
from simulation.keyfile import bond_of, gateways_of, is_port

if TYPE_CHECKING:
    from simulation.kernel import SimulatedLink
    from simulation.open_vswitch import Row
    from simulation.world import World

Document = dict[str, Any]
ANYWHERE = {"ipv4": "0.0.0.0/0", "ipv6": "::/0"}
AUTOMATIC = {"auto-dns": True, "auto-gateway": True, "auto-routes": True, "auto-route-table-id": 0}
KINDS = frozenset({*NICS, "ovs-bridge", "ovs-interface"})


@lru_cache(maxsize=512)
def document_of(text: str) -> Document:
    """Return a document; the world's are JSON. Raises NmstateFailure for one that libnmstate cannot read."""
    try:
        found: Document = json.loads("".join(line for line in text.splitlines() if not line.startswith("#")))
    except ValueError as error:
        raise NmstateFailure(FailureKind.INVALID, f"invalid document: {error}") from error
    return found


def refuse_unknown_types(document: Document) -> None:
    """Return if NetworkManager takes the profiles of *document*. Raises NmstateFailure."""
    for item in document.get("interfaces", ()):
        if item.get("type") not in KINDS:
            raise NmstateFailure(
                FailureKind.INVALID, f"NetworkManager refuses a profile of the type {item.get('type')}"
            )


# -- what is asked for


def ip_settings(item: Document, document: Document, family: str) -> Document | None:
    """Return the settings of *family* that an interface asks for, None where it says nothing of them."""
    ip = item.get(family)
    if ip is None:
        return None
    if not ip.get("enabled"):
        return {"method": "disabled", "address-data": [], "route-data": []}
    addresses = [{"address": one["ip"], "prefix": one["prefix-length"]} for one in ip.get("address") or ()]
    routes = [
        {"dest": host, "prefix": int(length), "next-hop": route["next-hop-address"]}
        | ({"metric": route["metric"]} if "metric" in route else {})
        for route in document.get("routes", {}).get("config", ())
        if route["next-hop-interface"] == item["name"] and family_of(route) == family
        for host, _, length in [route["destination"].partition("/")]
    ]
    more = {"token": ip["token"]} if ip.get("token") else {}
    more |= {"dhcp-client-id": ip["dhcp-client-id"]} if ip.get("dhcp-client-id") else {}
    more |= {"dhcp-duid": ip["dhcp-duid"], "dhcp-iaid": "mac"} if ip.get("dhcp-duid") else {}
    return {"method": _method(ip, family), "address-data": addresses, "route-data": routes, **more}


def _method(ip: Document, family: str) -> str:
    if ip.get("dhcp") or ip.get("autoconf"):
        return "auto"
    return "manual" if ip.get("address") or family == "ipv4" else "link-local"


def family_of(route: Document) -> str:
    return "ipv6" if ":" in route["destination"] else "ipv4"


def wanted_destinations(wanted: Document) -> set[str]:
    return {route["next-hop"] for route in wanted["route-data"] if route["prefix"] == 0}


# -- what is shown


def shown(world: World) -> Document:
    """Return the document of the present state."""
    interfaces = [_bridge_item(row) for row in world.ovs.rows.values() if world.ovs.database_up]
    running, config = [], []
    for name, link in world.kernel.links.items():
        kind = kind_of(link)
        device = world.manager.memory.devices.get((kind, name))
        profile = world.manager.memory.profiles.get(device.profile or "") if device else None
        interfaces.append(_link_item(link, kind, profile))
        running += [_route(name, str(gateway), metric) for gateway, metric in link.gateways.items()]
        if device and profile:
            known = gateways_of(device.kind, profile)
            config += [_route(name, str(gateway), metric) for gateway, metric in known.items()]
    interfaces.append({"name": "lo", "type": "loopback", "state": "up", "ipv4": {"enabled": False}})
    routes = {"running": running, "config": config}
    return {"interfaces": interfaces, "routes": routes, "route-rules": {"config": []}, "dns-resolver": {}}


def kind_of(link: SimulatedLink) -> str:
    return "ovs-interface" if link.kind == "openvswitch" else link.kind or "ethernet"


def _bridge_item(row: Row) -> Document:
    ports = [{"name": name} for name in sorted(row.ports)]
    options = {"datapath": row.datapath}
    return {
        "name": row.name,
        "type": "ovs-bridge",
        "state": "up",
        "ipv4": {"enabled": False},
        "ipv6": {"enabled": False},
        "ovs-db": {"external_ids": {key: value for key, value in row.external_ids.items() if key == MARK}},
        "bridge": {"options": options, "port": ports},
    }


def _link_item(link: SimulatedLink, kind: str, profile: Profile | None) -> Document:
    item = {"name": link.name, "type": kind, "state": "up", "mac-address": link.mac, "mtu": link.mtu}
    if kind == "bond":
        item["link-aggregation"] = {"mode": "active-backup", "port": list(link.below)}
    elif kind == "vlan":
        item["vlan"] = {"base-iface": link.below[0], "id": 10}
    for family in ("ipv4", "ipv6"):
        item[family] = _ip(link, kind, profile, family)
    return item


def _ip(link: SimulatedLink, kind: str, profile: Profile | None, family: str) -> Document:
    below = profile is None or bool(bond_of(profile)) or (is_port(profile) and kind in NICS)
    method = "disabled" if profile is None or below else profile.setting(family, "method", "disabled")
    addresses = [
        {"ip": str(address), "prefix-length": prefix} | ({"valid-life-time": "3600sec"} if leased else {})
        for address, (prefix, leased, _) in link.addresses.items()
        if address.version == int(family[-1])
    ]
    ip: Document = {"enabled": bool(addresses) or method != "disabled", "address": addresses}
    if method == "auto":
        ip |= {"dhcp": True, **AUTOMATIC} | ({"autoconf": True} if family == "ipv6" else {})
        client = profile.setting(family, "dhcp-client-id") if profile else None
        ip |= {"dhcp-client-id": client} if client else {}
    return ip


def _route(link: str, gateway: str, metric: int) -> Document:
    hop = {"next-hop-interface": link, "next-hop-address": gateway}
    destination = ANYWHERE["ipv6" if ":" in gateway else "ipv4"]
    return {"destination": destination, "metric": metric, "table-id": 254} | hop
