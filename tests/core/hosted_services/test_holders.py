"""Answers on the wire: how many holders, who they are, and which of them are strangers."""

from ipaddress import ip_address

from nodenet.core.hosted_services.vips import Sighting, holders, probe_seconds, strangers, with_macs

VIP = ip_address("192.0.2.2")
MACS = ("02:00:00:00:00:01", "02:00:00:00:00:02", "0a:00:00:00:00:01")
PEERS = {MACS[0]: "master-0", MACS[1]: "master-1", MACS[2]: "master-2"}
STRANGER = "fe:00:00:00:00:01"


def test_holders_have_the_names_of_nodes_and_a_stranger_its_mac() -> None:
    sighting = Sighting(VIP, here=True, others=frozenset({MACS[1], STRANGER}))
    assert holders(sighting, "master-0", PEERS) == ("master-0", STRANGER, "master-1")
    assert sighting.count == 3
    assert strangers(sighting, PEERS) == {STRANGER}
    assert holders(Sighting(VIP, here=False), "master-0", PEERS) == ()


def test_people_see_the_mac_of_each_other_host() -> None:
    """A switch finds the port of a MAC; the name is only what the host says of itself."""
    sighting = Sighting(VIP, here=True, others=frozenset({MACS[1], STRANGER}))
    assert with_macs(sighting, "master-0", PEERS) == f"master-0 and {STRANGER} and master-1 ({MACS[1]})"
    assert with_macs(Sighting(VIP, here=False), "master-0", PEERS) == "no node"


def test_the_holder_asks_often_and_many_candidates_ask_rarely() -> None:
    assert probe_seconds(500, held_here=True) == 2.0
    assert probe_seconds(5, held_here=False) == 10.0
    assert probe_seconds(500, held_here=False) == 250.0


def test_what_is_not_settled_is_asked_for_more_often_and_not_by_each_of_many() -> None:
    assert probe_seconds(5, held_here=False, settled=False) == 2.0
    assert probe_seconds(250, held_here=True, settled=False) == 25.0
