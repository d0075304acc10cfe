"""Which ways out a node file must not cost the node, one by one."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.ip import Family
from nodenet.core.node_file.ways_out import WaysOut
from nodenet.core.probes.kept_ways import with_kept_ways
from nodenet.core.probes.questions import Answer, KeptWays, Kind, Look, Question, WantedLease
from nodenet.core.probes.verdict import verdict

YES, NO = Answer.YES, Answer.NO
V4, V6 = Family.IPV4, Family.IPV6
BOTH = frozenset(Family)
FOUR = Question(Kind.GATEWAY, "192.0.2.1", "eth0", ip_address("192.0.2.1"))
SIX = Question(Kind.GATEWAY, "fe80::1", "eth0", ip_address("fe80::1"))
OTHER = Question(Kind.GATEWAY, "198.51.100.1", "eth1", ip_address("198.51.100.1"))
STATIC = WaysOut({"eth0": BOTH})
BY_DHCP = WaysOut({"eth0": frozenset({V4})}, leased={("eth0", V4): ("eth0",)})


def failed(before: Look, after: Look, ways: WaysOut, families: frozenset[Family] = BOTH) -> tuple[str, ...]:
    return verdict(with_kept_ways(before, ways, families), after).failed


@pytest.mark.parametrize(
    ("ways", "families", "is_kept"),
    [
        (STATIC, BOTH, True),
        (WaysOut({"eth0": frozenset({V6})}), BOTH, False),
        (WaysOut({"eth0": frozenset({V6})}, routed=frozenset({V4})), BOTH, True),
        (STATIC, frozenset({V6}), False),
        (WaysOut({"eth1": BOTH}), BOTH, False),
        (WaysOut({"eth1": BOTH}, asked=BOTH), BOTH, True),
    ],
    ids=["asked for", "ended", "routed elsewhere", "not of the node", "of another link", "of a link not named"],
)
def test_the_other_family_s_gateway_is_no_way_out(ways: WaysOut, families: frozenset[Family], *, is_kept: bool) -> None:
    """On a LAN with router advertisements a file that forgot its IPv4 routes was committed."""
    said = "the node has no IPv4 default route any more, and 192.0.2.1 answered before the apply"
    before, after = Look({FOUR: YES, SIX: YES}, BOTH), Look({SIX: YES}, frozenset({V6}))
    assert failed(before, after, ways, families) == ((said,) if is_kept else ())


def test_a_family_whose_gateways_are_silent_now_is_lost() -> None:
    """Also where the gateway that is left was silent before. The loss is reported once."""
    silent = Question(Kind.GATEWAY, "192.0.2.254", "eth0", ip_address("192.0.2.254"))
    before = Look({FOUR: YES, silent: NO, SIX: YES}, BOTH)
    after = Look({silent: NO, SIX: YES}, BOTH)
    assert failed(before, after, STATIC) == (
        "no IPv4 gateway answers any more, and 192.0.2.1 answered before the apply",
    )
    assert len(failed(before, Look({FOUR: NO, SIX: YES}, BOTH), STATIC)) == 1
    assert failed(before, Look({FOUR: YES, SIX: YES}, BOTH), STATIC) == ()
    assert failed(before, Look({SIX: YES}, BOTH), STATIC) == (), "a point-to-point link needs no gateway"


def test_another_network_s_gateway_is_no_lease() -> None:
    """The VLAN of eth0 has no DHCP server, and a second NIC has a default route too."""
    before = Look({FOUR: YES}, frozenset({V4}), frozenset({("eth0", V4)}))
    after = Look({OTHER: YES}, frozenset({V4}), frozenset({("eth1", V4)}))
    said = "eth0 got no IPv4 address, which the node file asks for, and the gateway 192.0.2.1 answered before the apply"
    assert failed(before, after, BY_DHCP) == (said,)
    there = Look({OTHER: YES}, frozenset({V4}), frozenset({("eth0", V4)}))
    assert failed(before, there, BY_DHCP) == ()
    assert failed(before, after, WaysOut({"eth0": frozenset({V4})})) == (), "a static address is there"
    assert failed(Look({FOUR: NO}), after, BY_DHCP) == (), "nothing answered before"
    assert failed(replace(before, addressed=frozenset()), after, BY_DHCP) == (), "eth0 had no address before either"


def test_one_of_several_links_gets_the_lease() -> None:
    """eth0 is a port of bond0 and carries a VLAN: either may have the address."""
    ways = WaysOut({"eth0": frozenset({V4})}, leased={("eth0", V4): ("bond0", "eth0.7")})
    before = Look({FOUR: YES}, frozenset({V4}), frozenset({("eth0", V4)}))
    kept = with_kept_ways(before, ways, BOTH).kept
    assert kept == KeptWays({V4: "192.0.2.1"}, (WantedLease(("bond0", "eth0.7"), V4, "192.0.2.1"),))
    after = Look({OTHER: YES}, frozenset({V4}), frozenset({("eth0.7", V4)}))
    assert failed(before, after, ways) == ()


def test_a_gateway_on_a_link_in_its_place_will_do() -> None:
    """bond0 carries a VLAN with a static address, and one whose DHCP server does not answer yet."""
    places = frozenset({"eth0", "bond0", "bond0.100", "bond0.200"})
    ways = WaysOut({"eth0": frozenset({V4})}, leased={("eth0", V4): ("bond0.200",)}, places={("eth0", V4): places})
    before = Look({FOUR: YES}, frozenset({V4}), frozenset({("eth0", V4)}))
    static = frozenset({("bond0.100", V4)})
    assert failed(before, Look({replace(FOUR, link="bond0.100"): YES}, frozenset({V4}), static), ways) == ()
    assert failed(before, Look({OTHER: YES}, frozenset({V4}), static), ways) != (), "another network answers"


def test_a_router_that_answers_the_address_of_the_link_is_no_lease() -> None:
    """A VLAN whose router gives a default route and no prefix: the node would have no address that others can reach."""
    ways = WaysOut({"eth0": BOTH}, leased={("eth0", V6): ("eth0",)}, places={("eth0", V6): frozenset({"eth0"})})
    before = Look({SIX: YES}, frozenset({V6}), frozenset({("eth0", V6)}))
    assert failed(before, Look({SIX: YES}, frozenset({V6})), ways) != ()
    assert failed(before, before, ways) == ()


def test_an_ipv4_route_over_an_ipv6_next_hop_is_no_ipv6_way_out() -> None:
    """RFC 5549: a file that replaces it by an IPv4 gateway loses nothing."""
    before = Look({SIX: YES}, frozenset({V4}))
    assert failed(before, Look({FOUR: YES}, frozenset({V4})), STATIC) == ()


def test_the_remedy_names_how_a_file_ends_a_way_out() -> None:
    before = with_kept_ways(Look({FOUR: YES, SIX: YES}, BOTH), STATIC, BOTH)
    for after, is_named in ((Look({SIX: YES}, frozenset({V6})), True), (Look({}), False)):
        failure = verdict(before, after).failure
        assert failure is not None
        assert ("`state: absent`" in str(failure.remedy)) is is_named


def test_where_nothing_leads_out_that_is_said_alone() -> None:
    said = "the node has no default route any more, and the gateway 192.0.2.1 answered before the apply"
    assert failed(Look({FOUR: YES, SIX: YES}, BOTH), Look({}), STATIC) == (said,)


def test_a_file_that_the_node_has_worked_with_owes_nothing() -> None:
    """Another way out of the moment proves nothing against it."""
    before = Look({FOUR: YES, SIX: YES}, proven=True)
    assert with_kept_ways(before, BY_DHCP, BOTH) is before
