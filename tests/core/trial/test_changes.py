"""What a node file would change: every value before and after, and what that means for the node."""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.trial.refusals import Change, Node, changes, meaning, shown

IPV4 = {"enabled": True, "dhcp": True, "address": [{"ip": "192.0.2.5", "prefix-length": 24}]}
STATE: dict[str, Any] = {
    "interfaces": [
        {"name": "eth0", "type": "ethernet", "state": "up", "mtu": 1500, "ipv4": IPV4},
        {"name": "br-ex", "type": "ovs-bridge", "state": "up"},
        {"name": "br-ex", "type": "ovs-interface", "state": "up", "mtu": 1500},
    ]
}
NODE = Node(("192.0.2.5",), "eth0")
LEAVES = "the node IP 192.0.2.5 leaves eth0; kubelet uses it until `nodenetctl reselect` and a restart of kubelet"


def eth0(**values: Any) -> dict[str, Any]:
    """Return a difference that gives eth0 other *values*."""
    return {"interfaces": [{"name": "eth0", "type": "ethernet", **values}]}


def test_a_node_ip_that_another_link_gets_moves_there() -> None:
    """The most ordinary change of day 2: it stays the node IP (A3b)."""
    section = {"enabled": True, "address": [{"ip": "192.0.2.5", "prefix-length": 24}]}
    for source in ({"ipv4": {"enabled": False}}, {"state": "down", "ipv4": {"enabled": False}}, {"state": "down"}):
        moved = {"interfaces": [{"name": "eth0", **source}, {"name": "eth1", "ipv4": section}]}
        assert "the node IP 192.0.2.5 moves from eth0 to eth1" in meaning(moved, STATE, NODE)
    assert LEAVES not in meaning(moved, STATE, NODE)
    moved["interfaces"][1]["state"] = "absent"
    left = eth0(ipv4={"enabled": False})
    left["interfaces"].append(moved["interfaces"][1])
    assert LEAVES in meaning(left, STATE, NODE)


def test_each_value_is_shown_before_and_after() -> None:
    """A value that is the same is none; addresses are written with their prefix."""
    address = [{"ip": "192.0.2.9", "prefix-length": 24}]
    found = changes(eth0(mtu=1400, ipv4={"enabled": True, "dhcp": False, "address": address}), STATE)
    assert found == (
        Change("eth0", "mtu", "1500", "1400"),
        Change("eth0", "ipv4.dhcp", "true", "false"),
        Change("eth0", "ipv4.address", "192.0.2.5/24", "192.0.2.9/24"),
    )


def test_a_new_link_and_one_that_differs_in_nothing_shown_are_listed() -> None:
    """Libnmstate lists a link that is made with nothing but its name."""
    assert changes({"interfaces": [{"name": "dummy0", "type": "dummy", "state": "up"}]}, STATE) == (
        Change("dummy0", "state", "", "up"),
    )
    assert changes(eth0(), STATE) == (Change("eth0", "state", "up", "up"),)


def test_a_bridge_is_compared_with_the_bridge_of_its_name() -> None:
    """Open vSwitch's bridge and its interface share a name."""
    found = changes({"interfaces": [{"name": "br-ex", "type": "ovs-interface", "mtu": 1400}]}, STATE)
    assert found == (Change("br-ex", "mtu", "1500", "1400"),)
    found = changes({"interfaces": [{"name": "br-ex", "type": "ovs-bridge", "mtu": 1400}]}, STATE)
    assert found == (Change("br-ex", "mtu", "", "1400"),)


def test_routes_and_servers_are_sentences_of_their_section() -> None:
    route = {"destination": "0.0.0.0/0", "next-hop-address": "192.0.2.1", "next-hop-interface": "eth0"}
    gone = {"destination": "198.51.100.0/24", "next-hop-interface": "eth0", "state": "absent"}
    difference = {"routes": {"config": [route, gone]}, "dns-resolver": {"config": {"server": ["192.0.2.53"]}}}
    assert changes(difference, STATE) == (
        Change("routes", "config", "", "0.0.0.0/0 via 192.0.2.1 on eth0, without 198.51.100.0/24 on eth0"),
        Change("dns-resolver", "config.server", "", "192.0.2.53"),
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, ""),
        (True, "true"),
        (7, "7"),
        ("up", "up"),
        ([], "none"),
        ([{"name": "a"}, {"b": 1}], 'a, {"b": 1}'),
        ({}, "{}"),
    ],
    ids=str,
)
def test_a_value_is_one_line(value: Any, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("difference", "sentences"),
    [
        (eth0(mtu=1400), ()),
        (eth0(ipv4={"enabled": False}), (LEAVES,)),
        (eth0(ipv4={"dhcp": False, "address": [{"ip": "192.0.2.9", "prefix-length": 24}]}), (LEAVES,)),
        (eth0(ipv4={"dhcp": False, "address": [{"ip": "192.0.2.5", "prefix-length": 24}]}), ()),
        (eth0(ipv4={"dhcp": True, "address": []}), ()),
        (eth0(ipv6={"enabled": False}), ()),
        (eth0(state="absent"), ("eth0, the link of the node IP, is absent then",)),
        ({"interfaces": [{"name": "eth1", "state": "down"}]}, ()),
        (
            {"routes": {"config": [{"destination": "::/0", "next-hop-interface": "eth0", "state": "absent"}]}},
            ("the default route over no gateway on eth0 is removed",),
        ),
        (
            {
                "routes": {
                    "config": [
                        {"destination": "0.0.0.0/0", "next-hop-interface": "eth0", "next-hop-address": "192.0.2.1"}
                    ]
                }
            },
            ("the default route over 192.0.2.1 on eth0 is set",),
        ),
    ],
    ids=str,
)
def test_what_the_node_works_with_is_named(difference: dict[str, Any], sentences: tuple[str, ...]) -> None:
    """A lease may bring the node IP again, so no sentence is printed."""
    assert meaning(difference, STATE, NODE) == sentences


def test_a_change_of_the_bridge_of_the_node_ip_is_named() -> None:
    difference = {"interfaces": [{"name": "br-ex", "type": "ovs-bridge", "mtu": 1400}]}
    assert meaning(difference, STATE, Node(("192.0.2.5",), "br-ex", "br-ex")) == (
        "br-ex, the bridge of the node IP, is changed",
    )
