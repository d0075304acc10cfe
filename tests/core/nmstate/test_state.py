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
    without_addresses,
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


def test_addresses_that_belong_to_no_configuration_are_left_out() -> None:
    """All else stays; of a link without addresses, everything."""
    held = [{"ip": "192.0.2.2", "prefix-length": 24}, {"ip": "192.0.2.10", "prefix-length": 24}]
    shown = {
        "interfaces": [{"name": "e0", "mtu": 1, "ipv4": {"enabled": True, "address": held}}, {"name": "e1"}],
        "x": 1,
    }
    assert without_addresses(shown, {"192.0.2.2", "2001:db8::2"}) == {
        "interfaces": [{"name": "e0", "mtu": 1, "ipv4": {"enabled": True, "address": held[1:]}}, {"name": "e1"}],
        "x": 1,
    }
    assert without_addresses(shown, ()) is shown
