"""Which VIPs must a node not advertise? Each family of each purpose for itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address

import pytest

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.duties import VipDuty, vip_duties
from nodenet.core.hosted_services.model import Place, Purpose
from nodenet.core.hosted_services.vips import patience, silent
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Address, AddressFlag

INPUTS = read_inputs(CASES / "dual-stack-control-plane")
DUTIES, PLACES = vip_duties(INPUTS), INPUTS.here.places
SOURCES = {family: place.address for family, place in PLACES.items()}
ALL = frozenset(duty.address for duty in DUTIES)
BOTH = pytest.mark.parametrize("family", list(Family))


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


def link_of(family: Family) -> str:
    return PLACES[family].link


def test_a_node_with_both_node_ips_advertises() -> None:
    assert len(ALL) == 4
    assert found([*on("br-ex", *SOURCES.values())]) == set()


@BOTH
def test_a_family_without_its_node_ip_takes_no_vip_and_the_other_one_may(family: Family) -> None:
    """It was not muted for the VIPs of one family, and became a second holder of what another node held."""
    other = next(one for one in Family if one is not family)
    assert found(on(link_of(other), SOURCES[other])) == vips(family)


def test_peers_hear_an_ipv4_holder_without_its_node_ip_for_longer() -> None:
    """The kernel sends IPv6 only from an address that a link has; keepalived writes the header of IPv4 itself."""
    four, six = (next(iter(vips(family))) for family in (Family.IPV4, Family.IPV6))
    assert patience(six, 1.0) < 3.0, "three intervals make a peer take it"
    assert patience(four, 0.25) == patience(four, 1.0) > 3.0


def test_the_node_ip_counts_where_keepalived_listens() -> None:
    """It has moved, and keepalived still listens on the link of before."""
    before = {family: replace(place, link="eth0") for family, place in PLACES.items()}
    assert found(on("br-ex", *SOURCES.values()), before) == ALL


@pytest.mark.parametrize(
    ("flags", "works"),
    [
        ({AddressFlag.TENTATIVE}, False),
        ({AddressFlag.TENTATIVE, AddressFlag.DAD_FAILED}, False),
        ({AddressFlag.TENTATIVE, AddressFlag.OPTIMISTIC}, True),
        ({AddressFlag.DEPRECATED, AddressFlag.DYNAMIC}, True),
    ],
)
def test_a_tentative_node_ip_hears_nothing(flags: set[AddressFlag], works: bool) -> None:  # noqa: FBT001
    """Duplicate address detection begins again whenever the cable is plugged in."""
    source = replace(on("br-ex", SOURCES[Family.IPV6])[0], flags=frozenset(flags))
    present = [source, *on("br-ex", SOURCES[Family.IPV4])]
    assert found(present) == (frozenset() if works else vips(Family.IPV6))


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
