"""Who holds a VIP by the answers on the wire, and when a node takes part in VRRP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address

import pytest

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.duties import VipDuty, vip_duties
from nodenet.core.hosted_services.keepalived import PRIORITIES
from nodenet.core.hosted_services.model import Place, Purpose
from nodenet.core.hosted_services.vips import (
    OUT,
    STAY_OUT_SECONDS,
    Sighting,
    Stance,
    at_start,
    holders,
    next_stance,
    patience,
    probe_seconds,
    silent,
    strangers,
    weight_of,
    with_macs,
)
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Address

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


def seen(stance: Stance, *, strangers: bool = False, waited: float = 0.0, leaves: bool = False) -> Stance:
    return next_stance(stance, strangers=strangers, waited=waited, leaves=leaves)


def test_a_free_wire_makes_a_candidate_at_the_first_look() -> None:
    assert seen(Stance.PROBING) is Stance.CANDIDATE


def test_a_stranger_keeps_a_node_out_until_it_goes_and_not_for_ever() -> None:
    """Any host of the LAN may answer for the VIP, and then no node of a cluster that starts would ever hold it."""
    assert seen(Stance.PROBING, strangers=True) is Stance.STAYING_OUT
    assert seen(Stance.STAYING_OUT, strangers=True, waited=STAY_OUT_SECONDS - 1) is Stance.STAYING_OUT
    assert seen(Stance.STAYING_OUT) is Stance.CANDIDATE
    assert seen(Stance.STAYING_OUT, strangers=True, waited=STAY_OUT_SECONDS) is Stance.CANDIDATE


@pytest.mark.parametrize("stance", [Stance.CANDIDATE, Stance.DRAINING])
def test_no_answer_takes_anything_from_a_node_that_takes_part(stance: Stance) -> None:
    assert seen(stance, strangers=True, leaves=stance is Stance.DRAINING) is stance


@pytest.mark.parametrize(
    ("before", "strangers", "leaves", "then"),
    [
        (Stance.CANDIDATE, False, True, Stance.DRAINING),
        (Stance.DRAINING, False, False, Stance.CANDIDATE),
        (Stance.PROBING, False, True, Stance.DRAINING),
        (Stance.PROBING, True, True, Stance.STAYING_OUT),
    ],
)
def test_only_a_node_that_takes_part_is_drained(
    before: Stance,
    strangers: bool,  # noqa: FBT001
    leaves: bool,  # noqa: FBT001
    then: Stance,
) -> None:
    assert seen(before, strangers=strangers, leaves=leaves) is then


@pytest.mark.parametrize(
    ("number", "speaking", "stance"),
    [
        (25, True, Stance.CANDIDATE),
        (0, True, Stance.CANDIDATE),
        (OUT, True, Stance.PROBING),
        (25, False, Stance.PROBING),
        (None, True, Stance.PROBING),
    ],
)
def test_a_companion_that_comes_back_changes_nothing_that_is_right(
    number: int | None,
    speaking: bool,  # noqa: FBT001
    stance: Stance,
) -> None:
    assert at_start(number, speaking=speaking) is stance


@pytest.mark.parametrize("purpose", Purpose)
def test_the_weight_of_each_stance(purpose: Purpose) -> None:
    assert weight_of(Stance.CANDIDATE, purpose, [20, 5]) == 25
    assert weight_of(Stance.CANDIDATE, purpose, []) == 0
    assert PRIORITIES[purpose] + weight_of(Stance.DRAINING, purpose, [20, 5]) == 1
    assert {weight_of(stance, purpose, [20, 5]) for stance in (Stance.PROBING, Stance.STAYING_OUT)} == {OUT}


INPUTS = read_inputs(CASES / "dual-stack-control-plane")
DUTIES, PLACES = vip_duties(INPUTS), INPUTS.here.places
SOURCES = {family: place.address for family, place in PLACES.items()}
ALL = frozenset(duty.address for duty in DUTIES)


def vips(family: Family, *purposes: Purpose) -> frozenset[IPAddress]:
    return frozenset(
        duty.address
        for duty in DUTIES
        if family_of(duty.address) is family and duty.purpose in (purposes or tuple(Purpose))
    )


def on(link: str, *addresses: IPAddress) -> list[Address]:
    return [Address(one, 64, link) for one in addresses]


def found(present: list[Address], sources: Mapping[Family, Place] = PLACES) -> frozenset[IPAddress]:
    return silent(INPUTS, DUTIES, sources, present)


def test_a_node_with_both_node_ips_advertises() -> None:
    assert len(ALL) == 4
    assert found([*on("br-ex", *SOURCES.values())]) == set()


def test_peers_hear_an_ipv4_holder_without_its_node_ip_for_longer() -> None:
    """The kernel sends IPv6 only from an address that a link has; keepalived writes the header of IPv4 itself."""
    four, six = (next(iter(vips(family))) for family in (Family.IPV4, Family.IPV6))
    assert patience(six, 1.0) < 3.0, "three intervals make a peer take it"
    assert patience(four, 0.25) == patience(four, 1.0) > 3.0


def test_the_node_ip_counts_where_keepalived_listens() -> None:
    """It has moved, and keepalived still listens on the link of before."""
    before = {family: replace(place, link="eth0") for family, place in PLACES.items()}
    assert found(on("br-ex", *SOURCES.values()), before) == ALL


def test_a_vip_that_this_node_may_not_hold_is_no_matter() -> None:
    duties = tuple(replace(duty, wanted=False) for duty in DUTIES)
    assert silent(INPUTS, duties, PLACES, ()) == set()
    other = VipDuty(ip_address("192.0.2.9"), Purpose.API, wanted=True, reason="")
    assert silent(INPUTS, (other,), {Family.IPV6: PLACES[Family.IPV6]}, ()) == set()


def test_a_vip_without_peers_needs_no_exchange() -> None:
    """The only node of the control plane gave its VIP of IPv6 up, and no other node could take it."""
    workers = replace(INPUTS, nodes=tuple(one for one in INPUTS.nodes if one.name in {"master-0", "worker-0"}))
    held = silent(workers, vip_duties(workers), workers.here.places, ())
    assert held == {duty.address for duty in DUTIES if duty.purpose is Purpose.INGRESS}, "workers are their peers"
    alone = replace(INPUTS, nodes=INPUTS.nodes[:1])
    assert silent(alone, vip_duties(alone), alone.here.places, ()) == set()
