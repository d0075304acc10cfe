"""What does libnmstate show about one link, and which part of that has moved to br-ex?

Look-ups in the document of ``libnmstate.show()`` (NMState's schema). A bridge of Open vSwitch and its internal
interface share a name there; a link's controller is known from the controller's list of ports only.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Any

OVS_BRIDGE = "ovs-bridge"
OVS_INTERFACE = "ovs-interface"
MAIN_TABLE = 254
"""RT_TABLE_MAIN of rtnetlink(7)."""
DEFAULT = frozenset({"0.0.0.0/0", "::/0"})
NO_GATEWAY = frozenset({None, "", "0.0.0.0", "::"})  # noqa: S104  (how nmstate writes "no next hop")
State = Mapping[str, Any]


def without_addresses(state: State, addresses: Collection[str]) -> State:
    """Return *state* without *addresses* that no configuration contains, such as a VIP that this node holds now."""
    if not addresses:
        return state
    return {**state, "interfaces": [_without(item, addresses) for item in _interfaces(state)]}


def _without(item: State, addresses: Collection[str]) -> State:
    sections = {family: item[family] for family in ("ipv4", "ipv6") if (item.get(family) or {}).get("address")}
    left = {
        family: {**section, "address": [one for one in section["address"] if one.get("ip") not in addresses]}
        for family, section in sections.items()
    }
    return {**item, **left}


def link(state: State, name: str) -> State | None:
    """Return the interface *name* that the kernel has, never the bridge of Open vSwitch."""
    found = (item for item in _interfaces(state) if item.get("name") == name and _kind(item) != OVS_BRIDGE)
    return next((item for item in found if not _is_dead_port(item)), None)


def addresses(state: State, name: str) -> frozenset[str]:
    """Return the addresses that the kernel has on the interface *name*."""
    found = link(state, name) or {}
    sections = (found.get(family) or {} for family in ("ipv4", "ipv6"))
    return frozenset(str(one.get("ip")) for section in sections for one in section.get("address") or ())


def ovs_bridge(state: State, name: str) -> State | None:
    """Return the bridge of Open vSwitch *name*."""
    return next((item for item in _interfaces(state) if item.get("name") == name and _kind(item) == OVS_BRIDGE), None)


def controllers(state: State, name: str) -> Iterator[tuple[str, str]]:
    """Yield (type, name) of every bridge, bond or VRF that has *name* as a port."""
    for item in _interfaces(state):
        if name in ports(item) and not (item.get("name") == name and _kind(item) == OVS_BRIDGE):
            yield _kind(item), str(item.get("name"))


def ports(item: State) -> tuple[str, ...]:
    """Return the names of an interface's ports, those inside a bond of Open vSwitch too."""
    found: list[str] = []
    for section in ("bridge", "link-aggregation", "vrf"):
        for port in item.get(section, {}).get("port") or ():
            if isinstance(port, Mapping):
                inner = [str(each.get("name")) for each in port.get("link-aggregation", {}).get("port") or ()]
                found += inner or [str(port.get("name"))]
            else:
                found.append(str(port))
    return tuple(found)


def routes(state: State, part: str, name: str) -> list[State]:
    """Return the routes of ``config`` or ``running`` that leave by *name*."""
    found = state.get("routes", {}).get(part) or ()
    return [route for route in found if route.get("next-hop-interface") == name]


def is_default(route: State) -> bool:
    """Whether *route* is a default route of the main table."""
    return route.get("destination") in DEFAULT and table_of(route) == MAIN_TABLE


def table_of(route: State) -> int:
    """Return the route's table."""
    return int(route.get("table-id") or MAIN_TABLE)


def metric_of(route: State) -> int:
    """Return the route's metric, 0 where none is shown."""
    return max(int(route.get("metric") or 0), 0)


def gateway_of(route: State) -> str | None:
    """Return the next hop, None where the route has none."""
    found = route.get("next-hop-address")
    return None if found in NO_GATEWAY else str(found)


def is_ipv6(route: State) -> bool:
    """Return the family of a route by its destination."""
    return ":" in str(route.get("destination"))


def _interfaces(state: State) -> list[State]:
    return list(state.get("interfaces") or ())


def _kind(item: State) -> str:
    return str(item.get("type", ""))


def _is_dead_port(item: State) -> bool:
    """Whether only the database of Open vSwitch knows it: libnmstate shows a port whose link is gone as up."""
    return _kind(item) == "unknown" and "controller" in item and not item.get("mac-address")


# Which part of a node file has moved to br-ex, so that it is not expected on the link that the file names?

IP = frozenset({"ipv4", "ipv6", "wait-ip"})
"""What moves of an interface (NMState's keys)."""
IDENTITY = frozenset({"name", "type", "state"})
FIRST = "nodenet-first"
"""The key in a bridge's ``external_ids`` once another link has taken the place of the uplink: the link whose
configuration and MAC the bridge was made with, and keeps."""


def uplinks(state: State, bridges: Collection[str]) -> frozenset[str]:
    """Return the links of the host whose configuration these Open vSwitch bridges have: their ports, and the first."""
    rows = [row for bridge in bridges if (row := ovs_bridge(state, bridge))]
    names = {name for row in rows for name in ports(row)}
    names |= {first for row in rows if (first := row.get("ovs-db", {}).get("external_ids", {}).get(FIRST))}
    links = {name: item for name in names if (item := link(state, name))}
    return frozenset(name for name, item in links.items() if item.get("type") != OVS_INTERFACE)


def without_bridges(state: State, bridges: Collection[str]) -> dict[str, Any]:
    """Return *state* as though the links below these bridges were no ports."""
    free = uplinks(state, bridges)
    links = [item for item in state.get("interfaces") or () if item.get("name") not in bridges]
    freed = [
        {key: value for key, value in item.items() if key != "controller"} if item.get("name") in free else item
        for item in links
    ]
    return {**state, "interfaces": freed}


def still_asked(difference: Mapping[str, Any], moved: Collection[str]) -> dict[str, Any]:
    """Return what *difference* of libnmstate asks for beyond the IP configuration of the links in *moved*."""
    links = [_without_ip(item) if item.get("name") in moved else item for item in difference.get("interfaces") or ()]
    links = [item for item in links if item.keys() - IDENTITY or item.get("name") not in moved]
    asked = difference.get("routes", {}).get("config") or ()
    routes = [route for route in asked if route.get("next-hop-interface") not in moved]
    left = {key: value for key, value in difference.items() if key not in {"interfaces", "routes"}}
    left |= {"interfaces": links} if links else {}
    return left | ({"routes": {"config": routes}} if routes else {})


def _without_ip(item: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in item.items() if key not in IP}
