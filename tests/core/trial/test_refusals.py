"""What does a trial change, and when is a trial refused?"""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.errors import Busy, NodeFileInvalid, UplinkRefused, UsageInvalid
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.links import Links
from nodenet.core.trial import refusals
from nodenet.core.trial.refusals import Change, Node, changes, meaning, shown

WISH = Desired(empty=False, links=Links(frozenset({"eth0", "eth1"})))
BELOW = {"eth0": "br-ex"}


def test_a_file_that_leaves_the_uplink_alone_may_be_tried() -> None:
    assert refusals.below_bridge("new.yml", WISH, {"eth1"}, BELOW) is None
    assert refusals.below_bridge("new.yml", WISH, {"eth0"}, {}) is None


def test_a_link_below_br_ex_is_refused_with_the_way_to_do_it() -> None:
    error = refusals.below_bridge("new.yml", WISH, {"eth0"}, BELOW)
    assert isinstance(error, UplinkRefused)
    assert str(error) == (
        "new.yml changes eth0, which is below br-ex. Run `nodenetctl bridge remove` first, on a drained node; "
        "`nodenetctl bridge make` makes the bridge again"
    )


@pytest.mark.parametrize(("bridges", "touched"), [({"br-ex"}, ()), ((), ("br-ex",))], ids=str)
def test_a_bridge_that_nodenetd_made_is_refused(bridges: set[str], touched: tuple[str, ...]) -> None:
    wish = Desired(empty=False, bridges=frozenset(bridges))
    error = refusals.below_bridge("new.yml", wish, touched, BELOW)
    assert error is not None
    assert error.cause == "new.yml changes br-ex, which nodenetd made over eth0"


def test_the_links_that_a_difference_changes() -> None:
    assert refusals.touched_links({"interfaces": [{"name": "eth0"}], "routes": {}}) == {"eth0"}
    assert refusals.touched_links({}) == frozenset()


@pytest.mark.parametrize(
    ("difference", "changed"),
    [
        ({"hostname": {"config": "worker-9"}}, "hostname"),
        ({"hostname": {"running": "worker-9"}, "ovs-db": {"external_ids": {"a": "b"}}}, "hostname and ovs-db"),
        ({"ovn": {"bridge-mappings": [{"localnet": "net", "bridge": "br1"}]}}, "ovn"),
    ],
)
def test_what_network_manager_does_not_roll_back_is_refused(difference: dict[str, Any], changed: str) -> None:
    error = refusals.not_undone("new.yml", difference, {"hostname": {"running": "worker-0", "config": "worker-0"}})
    assert error is not None
    assert error.cause == f"new.yml changes {changed}, which NetworkManager does not roll back"


def test_a_file_with_the_nodes_own_name_may_be_tried() -> None:
    """The difference of libnmstate has the name where the file has one of the two names only."""
    state = {"hostname": {"running": "worker-0", "config": "worker-0"}}
    assert refusals.not_undone("new.yml", {"hostname": {"config": "worker-0"}, "interfaces": []}, state) is None
    assert refusals.not_undone("new.yml", {}, {}) is None


@pytest.mark.parametrize(
    ("found", "hostname", "name"),
    [
        ("worker-0.example.com.yaml", "worker-0.example.com", "worker-0.example.com.yaml"),
        ("worker-0.yml", "worker-0.example.com", "worker-0.yml"),
        ("cluster.yml", "worker-0.example.com", "worker-0.yml"),
        ("Cluster.yaml", "worker-0", "worker-0.yml"),
        (None, "worker-0", "worker-0.yml"),
    ],
)
def test_a_confirmed_file_is_installed_over_the_nodes_own(found: str | None, hostname: str, name: str) -> None:
    """That of the whole cluster stays as it is."""
    assert refusals.install_name(found, hostname) == name


def test_a_node_without_a_name_has_no_place_for_it() -> None:
    with pytest.raises(UsageInvalid, match="no host name yet"):
        refusals.install_name(None, None)


def test_the_other_refusals_name_cause_and_remedy() -> None:
    for error, kind in (
        (refusals.not_over("waiting"), Busy),
        (refusals.not_ours("unit:x.service"), UsageInvalid),
        (refusals.nothing_to_try("new.yml"), UsageInvalid),
        (refusals.asks_for_nothing("new.yml"), NodeFileInvalid),
        (refusals.own_file_changed("worker-0.yml"), UsageInvalid),
    ):
        assert isinstance(error, kind)
        assert error.cause
        assert error.remedy


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
