"""Answers on the wire: how many holders, which of them are strangers, and who gives the VIP up."""

from ipaddress import ip_address
from itertools import permutations

from nodenet.core.hosted_services.holders import Sighting, holders, probe_seconds, strangers, yields

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


def test_of_nodes_that_see_each_other_exactly_one_keeps_the_vip() -> None:
    """Whatever each of them is called and in whatever order they answer: all compare the same MACs."""
    for several in (*permutations(MACS, 2), *permutations(MACS, 3)):
        keep = [
            own
            for own in several
            if not yields(Sighting(VIP, here=True, others=frozenset(several) - {own}), own, PEERS)
        ]
        assert keep == [max(several)]


def test_nobody_yields_to_a_stranger_or_without_the_vip() -> None:
    assert not yields(Sighting(VIP, here=True, others=frozenset({STRANGER})), MACS[0], PEERS)
    assert not yields(Sighting(VIP, here=False, others=frozenset({MACS[2]})), MACS[0], PEERS)


def test_a_holder_that_hears_no_peer_yields_to_each_of_them_and_to_no_stranger() -> None:
    highest = max(MACS)
    for rival, given_up in ((MACS[0], True), (STRANGER, False)):
        sighting = Sighting(VIP, here=True, others=frozenset({rival}))
        assert yields(sighting, highest, PEERS, hears=False) is given_up
        assert not yields(sighting, highest, PEERS)
    assert not yields(Sighting(VIP, here=True), highest, PEERS, hears=False), "it is the only holder"


def test_the_holder_asks_often_and_many_candidates_ask_rarely() -> None:
    assert probe_seconds(500, held_here=True) == 2.0
    assert probe_seconds(5, held_here=False) == 10.0
    assert probe_seconds(500, held_here=False) == 250.0
