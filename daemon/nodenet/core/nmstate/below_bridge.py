"""Which part of a node file has moved to br-ex, so that it is not expected on the link that the file names?

A file gives an address to a bond; configure-ovs then moves the bond's whole IP configuration to br-ex. The file
is still in force, but libnmstate sees a port without an address, and would refuse to give it one.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from nodenet.core.nmstate.state import OVS_INTERFACE, State, link, ovs_bridge, ports

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
