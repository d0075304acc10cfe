"""Which links, gateways and DNS servers the node depends on."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network

import pytest

from nodenet.core.boot.outcome import Facts
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, NextHop, Route, Snapshot
from nodenet.core.node_ip.select import Selection
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort
from nodenet.core.uplink_health.watched import Gateway, Place, gateways, place_of, uplinks

NODE_IP, GATEWAY = ip_address("192.0.2.5"), ip_address("192.0.2.1")
BOTH = frozenset(Family)
DEFAULT = Route(ip_network("0.0.0.0/0"), (NextHop("eth0", GATEWAY),), metric=100)
SNAPSHOT = Snapshot(addresses=(Address(NODE_IP, 24, "eth0"),), routes=(DEFAULT,))


def test_nothing_is_watched_before_there_is_a_node_ip() -> None:
    """There is no uplink yet."""
    assert place_of(Facts()) is None
    assert place_of(Facts(selection=Selection())) is None
    facts = Facts(selection=Selection((NODE_IP,), "br-ex"), uplink="eth0")
    assert place_of(facts) == Place("br-ex", "eth0", frozenset({Family.IPV4}), (NODE_IP,))


def test_below_a_bridge_the_uplink_counts() -> None:
    """The bridge itself always has a carrier (R27)."""
    assert uplinks(Place("br-ex", "eth0"), ()) == ("eth0",)
    assert uplinks(Place("eth0"), ()) == ("eth0",)


def test_below_a_bridge_of_the_node_file_its_ports_count() -> None:
    """Those that are links of the host; not its own port, and not OVN's patch ports."""
    ports = (
        OvsPort("eth1", (OvsInterface("eth1"),)),
        OvsPort("bond", (OvsInterface("eth2", "system"), OvsInterface("eth3"))),
        OvsPort("br-ex", (OvsInterface("br-ex", "internal"),)),
        OvsPort("patch", (OvsInterface("patch", "patch"),)),
    )
    bridges = (OvsBridge("br-int", ports=(OvsPort("ens9", (OvsInterface("ens9"),)),)), OvsBridge("br-ex", ports=ports))
    assert uplinks(Place("br-ex"), bridges) == ("eth1", "eth2", "eth3")
    assert uplinks(Place("br-ex"), ()) == ("br-ex",)


def test_behind_a_patch_port_the_ports_of_the_other_bridge_count() -> None:
    """The bond of a node file may be in a bridge of its own; both its cables can be pulled (R5). Pods never count."""
    to_phy, to_ex, to_int = (OvsPort(name, (OvsInterface(name, "patch"),)) for name in ("to-phy", "to-ex", "to-int"))
    bond = OvsPort("bond", (OvsInterface("eth2", "system"), OvsInterface("eth3")))
    pods = OvsBridge("br-int", ports=(to_int, OvsPort("veth1", (OvsInterface("veth1"),))))
    bridges = (OvsBridge("br-ex", ports=(to_phy, to_int)), OvsBridge("br-phy", ports=(bond, to_ex)), pods)
    assert uplinks(Place("br-ex"), bridges) == ("eth2", "eth3")
    assert uplinks(Place("br-ex"), (bridges[0], pods)) == ("br-ex",)


def test_the_gateways_of_the_default_routes_in_use_are_asked() -> None:
    """Of the families of the node IPs, of the lowest metric, each once; a route without one has nobody to ask."""
    six = Route(ip_network("::/0"), (NextHop("eth0", ip_address("fe80::1")),), metric=1024)
    standby = replace(DEFAULT, next_hops=(NextHop("eth1", ip_address("198.51.100.1")),), metric=200)
    other_table = replace(DEFAULT, table="100", metric=1)
    routes = (standby, six, DEFAULT, replace(DEFAULT, protocol="static"), other_table)
    found = gateways(replace(SNAPSHOT, routes=routes), BOTH)
    assert found == (Gateway(GATEWAY, "eth0"), Gateway(ip_address("fe80::1"), "eth0"))
    assert gateways(replace(SNAPSHOT, routes=routes), {Family.IPV4}) == found[:1]
    assert gateways(Snapshot(routes=(replace(DEFAULT, next_hops=(NextHop("ppp0"),)),)), BOTH) == ()


@pytest.mark.parametrize(("link", "on_subnet"), [("eth0", True), ("eth1", False)])
def test_a_gateway_outside_every_subnet_of_its_link_is_known_as_one(link: str, *, on_subnet: bool) -> None:
    """It may answer all the same; where it does not, this is why (R31)."""
    route = replace(DEFAULT, next_hops=(NextHop(link, GATEWAY),))
    assert gateways(replace(SNAPSHOT, routes=(route,)), BOTH) == (Gateway(GATEWAY, link, on_subnet=on_subnet),)
