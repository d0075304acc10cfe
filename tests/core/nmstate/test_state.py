"""Look-ups in what libnmstate shows."""

from __future__ import annotations

from nodenet.core.nmstate.state import (
    controllers,
    gateway_of,
    is_default,
    is_ipv6,
    link,
    metric_of,
    ovs_bridge,
    ports,
    routes,
    table_of,
)

BRIDGE = {
    "name": "br-ex",
    "type": "ovs-bridge",
    "bridge": {
        "port": [{"name": "br-ex"}, {"name": "b", "link-aggregation": {"port": [{"name": "e0"}, {"name": "e1"}]}}]
    },
}
INTERNAL = {"name": "br-ex", "type": "ovs-interface"}
GONE = {"name": "gone0", "type": "unknown", "controller": "br-ex"}
STATE = {
    "interfaces": [BRIDGE, INTERNAL, GONE, {"name": "vrf0", "type": "vrf", "vrf": {"port": ["e2"]}}],
    "routes": {"config": [{"destination": "::/0", "next-hop-interface": "br-ex", "metric": -1}]},
}


def test_a_bridge_and_its_link_share_a_name() -> None:
    assert link(STATE, "br-ex") is INTERNAL
    assert ovs_bridge(STATE, "br-ex") is BRIDGE
    assert ovs_bridge(STATE, "vrf0") is None


def test_a_port_whose_link_is_gone_is_not_a_link() -> None:
    assert link(STATE, "gone0") is None


def test_ports_are_found_inside_bonds_of_open_vswitch_and_below_vrfs() -> None:
    assert ports(BRIDGE) == ("br-ex", "e0", "e1")
    assert list(controllers(STATE, "e1")) == [("ovs-bridge", "br-ex")]
    assert list(controllers(STATE, "e2")) == [("vrf", "vrf0")]
    assert list(controllers(STATE, "br-ex")) == []


def test_routes_of_a_link() -> None:
    (route,) = routes(STATE, "config", "br-ex")
    assert (is_default(route), is_ipv6(route), table_of(route), metric_of(route)) == (True, True, 254, 0)
    assert routes(STATE, "running", "br-ex") == []


def test_a_gateway_of_zeros_is_none() -> None:
    assert gateway_of({"next-hop-address": "0.0.0.0"}) is None  # noqa: S104
    assert gateway_of({"next-hop-address": "192.0.2.1"}) == "192.0.2.1"
