"""Which VIPs must a node not advertise? Each family of each purpose for itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_address

import pytest

from hosted_services_cases import CASES, read_inputs
from nodenet.core.hosted_services.duties import VipDuty, vip_duties
from nodenet.core.hosted_services.exchange import Exchange, exchange
from nodenet.core.hosted_services.model import Inputs, Place, Purpose
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


def found(present: list[Address], sources: Mapping[Family, Place] = PLACES) -> Exchange:
    return exchange(INPUTS, DUTIES, sources, present)


def found_of(inputs: Inputs, present: list[Address]) -> Exchange:
    return exchange(inputs, vip_duties(inputs), inputs.here.places, present)


def link_of(family: Family) -> str:
    return PLACES[family].link


def test_a_node_with_both_node_ips_advertises() -> None:
    assert len(ALL) == 4
    assert found([*on("br-ex", *SOURCES.values())]) == Exchange()
    assert found([*on("br-ex", *SOURCES.values(), *ALL)]) == Exchange()


@BOTH
def test_a_family_without_its_node_ip_takes_no_vip_and_the_other_one_may(family: Family) -> None:
    other = next(one for one in Family if one is not family)
    assert found(on(link_of(other), SOURCES[other])).deaf == vips(family)


@BOTH
def test_the_holder_of_one_family_does_not_take_the_other_ones_vip(family: Family) -> None:
    """It was not muted for that, and became a second holder of the VIP that another node held."""
    other = next(one for one in Family if one is not family)
    held = vips(other, Purpose.API)
    assert found(on(link_of(other), SOURCES[other], *held)).deaf == vips(family)


def test_a_holder_of_one_purpose_takes_no_vip_of_the_other_one() -> None:
    held = vips(Family.IPV4, Purpose.API)
    present = on("br-ex", SOURCES[Family.IPV6], *held)
    assert found(present) == Exchange(deaf=vips(Family.IPV4, Purpose.INGRESS), unhearing=held)


def test_peers_hear_an_ipv4_holder_without_its_node_ip_and_no_ipv6_holder() -> None:
    """The kernel sends IPv6 only from an address that a link has; keepalived writes the header of IPv4 itself."""
    assert found(on("br-ex", *ALL)) == Exchange(unheard=vips(Family.IPV6), unhearing=vips(Family.IPV4))


def test_the_node_ip_counts_where_keepalived_listens() -> None:
    """It has moved, and keepalived still listens on the link of before."""
    before = {family: replace(place, link="eth0") for family, place in PLACES.items()}
    assert found(on("br-ex", *SOURCES.values()), before) == Exchange(deaf=ALL)
    held = found([*on("br-ex", *SOURCES.values()), *on("eth0", *ALL)], before)
    assert held == Exchange(unhearing=ALL), "heard from any link"


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
    assert found(present).deaf == (frozenset() if works else vips(Family.IPV6))


def test_a_vip_that_this_node_may_not_hold_is_no_matter() -> None:
    duties = tuple(replace(duty, wanted=False) for duty in DUTIES)
    assert exchange(INPUTS, duties, PLACES, ()) == Exchange()
    other = VipDuty(ip_address("192.0.2.9"), Purpose.API, wanted=True, reason="")
    assert exchange(INPUTS, (other,), {Family.IPV6: PLACES[Family.IPV6]}, ()) == Exchange()


def test_a_vip_without_peers_needs_no_exchange() -> None:
    """The only node of the control plane gave its VIP of IPv6 up, and no other node could take it."""
    workers = replace(INPUTS, nodes=tuple(one for one in INPUTS.nodes if one.name in {"master-0", "worker-0"}))
    held = found_of(workers, on("br-ex", *ALL))
    assert held == Exchange(unheard=vips(Family.IPV6, Purpose.INGRESS), unhearing=vips(Family.IPV4, Purpose.INGRESS)), (
        "workers are peers of the ingress VIPs"
    )
    assert found_of(replace(INPUTS, nodes=INPUTS.nodes[:1]), []) == Exchange()
