"""What of the uplink is lost after READY: carrier, address, gateway, name servers, a leg of a bond?"""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Link
from nodenet.core.messages import Message
from nodenet.core.uplink_health.health import (
    AGAIN_SECONDS,
    CARRIER,
    FINE,
    SILENT_SECONDS,
    Condition,
    DnsServers,
    carrier_problem,
    gateway_problem,
    has_carrier,
    until_asked,
)
from nodenet.core.uplink_health.watched import Gateway, Place

UP, PULLED, DOWN = Link(2, "eth0"), Link(2, "eth0", carrier=False), Link(2, "eth0", up=False, carrier=False)
BRIDGED = Place("br-ex", "eth0")
WHEN = "2027-01-15 08:00:00 UTC"


def seen(looks: list[tuple[float, bool]]) -> list[Condition]:
    condition, found = FINE, []
    for now, lost in looks:
        condition = condition.seen(now, CARRIER, lost=lost)
        found.append(condition)
    return found


def test_a_loss_is_reported_within_five_seconds_and_dated_from_its_beginning() -> None:
    """Two seconds after the first event, with no event after it (R27)."""
    first, second = seen([(10.0, True), (12.0, True)])
    assert (first.lost, first.due(CARRIER)) == (False, 12.0)
    assert (second.lost, second.since, second.due(CARRIER)) == (True, 10.0, None)
    assert CARRIER.lost < 5.0


def test_a_short_loss_is_not_reported() -> None:
    """A switch port that negotiates again."""
    assert seen([(10.0, True), (11.0, False), (13.0, True), (14.0, False)])[-1] == FINE


def test_a_link_that_comes_and_goes_stays_lost() -> None:
    """One line in the journal and not one for each time."""
    flapping = seen([(10.0, True), (12.0, True), (13.0, False), (14.0, True), (16.0, False), (17.0, True)])
    assert [condition.lost for condition in flapping] == [False, True, True, True, True, True]
    assert {condition.since for condition in flapping[1:]} == {10.0}


def test_what_has_been_back_for_a_while_is_fine() -> None:
    """By itself."""
    *_, back, fine = seen([(10.0, True), (12.0, True), (20.0, False), (25.0, False)])
    assert (back.lost, back.due(CARRIER)) == (True, 25.0)
    assert fine == FINE


@pytest.mark.parametrize(
    ("links", "carrier"),
    [([UP], True), ([PULLED], False), ([DOWN], False), ([None], False), ([PULLED, UP], True), ([PULLED, None], False)],
)
def test_one_uplink_with_a_carrier_is_enough(links: list[Link | None], *, carrier: bool) -> None:
    """Ports of a bond of Open vSwitch."""
    assert has_carrier(links) is carrier


@pytest.mark.parametrize(
    ("place", "names", "links", "cause"),
    [
        (BRIDGED, ("eth0",), [PULLED], "eth0, the uplink of br-ex, has no carrier"),
        (BRIDGED, ("eth0",), [DOWN], "eth0, the uplink of br-ex, is down"),
        (BRIDGED, ("eth0",), [None], "eth0, the uplink of br-ex, does not exist"),
        (Place("eth0"), ("eth0",), [PULLED], "eth0 has no carrier"),
        (Place("br-ex"), ("eth0", "eth1"), [PULLED, None], "eth0 and eth1, the uplinks of br-ex, have no carrier"),
    ],
)
def test_the_uplink_is_named_with_what_it_lacks(
    place: Place, names: tuple[str, ...], links: list[Link | None], cause: str
) -> None:
    """And since when, and what to do."""
    problem = carrier_problem(place, names, links, WHEN)
    assert problem.cause == f"{cause}, since {WHEN}"
    assert problem.message is Message.UPLINK_LOST
    assert problem.remedy


def test_a_silent_gateway_is_named_with_its_link() -> None:
    """And the subnets are, where no address has it in its own (R31)."""
    one, two = Gateway(ip_address("192.0.2.1"), "eth0"), Gateway(ip_address("fe80::1"), "eth0")
    assert gateway_problem([one], WHEN).cause == f"No answer from the gateway 192.0.2.1 on eth0 since {WHEN}"
    assert gateway_problem([one, two], WHEN).cause == (
        f"No answer from the gateways 192.0.2.1 on eth0 and fe80::1 on eth0 since {WHEN}"
    )
    outside = gateway_problem([Gateway(ip_address("10.99.0.1"), "eth0", on_subnet=False)], WHEN)
    assert outside.cause == (
        f"No answer from the gateway 10.99.0.1 on eth0 since {WHEN}; 10.99.0.1 is in no subnet of eth0"
    )
    assert outside.remedy == "Correct the gateway, or the address and prefix length of eth0"


@pytest.mark.parametrize(
    ("condition", "seconds"),
    [
        (FINE, 40.0),
        (Condition(differs=18.0), AGAIN_SECONDS),
        (Condition(lost=True, since=5.0), SILENT_SECONDS),
        (Condition(lost=True, since=5.0, differs=18.0), SILENT_SECONDS),
    ],
)
def test_what_does_not_answer_is_asked_again_soon(condition: Condition, seconds: float) -> None:
    """What answers is asked at a common time of the timers."""
    assert until_asked(condition, 20.0, 60.0) == seconds


A, B, C = (ip_address(text) for text in ("192.0.2.53", "2001:db8::53", "192.0.2.54"))
CORRECT = "or correct the addresses in the node file, the profile or the DHCP server"


def in_words(moment: float) -> str:
    assert moment == 60.0
    return WHEN


def answered(*there: IPAddress, listed: tuple[IPAddress, ...] = (A, B)) -> DnsServers:
    """Return what is known of a node after servers *there* of those *listed* answered."""
    return DnsServers().seen(0.0, listed, there, has_own=False)


def silent(known: DnsServers, *listed: IPAddress, has_own: bool = False) -> DnsServers:
    """Return what is known after nothing has answered for as long as it takes."""
    for now in (60.0, 64.0, 68.0):
        known = known.seen(now, listed, (), has_own=has_own)
    return known


@pytest.mark.parametrize(
    ("before", "listed", "cause"),
    [
        (answered(A), (A,), f"No answer from the DNS server {A} since {WHEN}"),
        (answered(A, B), (A, B), f"No answer from the DNS servers {A} and {B} since {WHEN}"),
        # One that was dead from the beginning is not what the node has lost.
        (answered(A), (A, C), f"No answer from the DNS server {A} since {WHEN}"),
        (
            answered(A),
            (C,),
            f"No answer from the DNS server {C} since {WHEN}; {A} answered before and is not listed any more",
        ),
        (
            answered(A, B),
            (C,),
            f"No answer from the DNS server {C} since {WHEN}; {A} and {B} answered before and are not listed any more",
        ),
        (answered(A), (), f"No DNS server is listed any more since {WHEN}; {A} answered before"),
    ],
)
def test_a_node_that_had_dns_and_has_none_any_more_is_degraded(
    before: DnsServers, listed: tuple[IPAddress, ...], cause: str
) -> None:
    """Whether the servers fell silent, others took their place, or none is listed."""
    problem = silent(before, *listed).problem(in_words)
    assert problem
    assert (problem.message, problem.cause) == (Message.NAME_SERVERS_SILENT, cause)


def test_the_remedy_names_a_way_to_ask_and_where_the_servers_are_written() -> None:
    """A mistyped address is corrected, a server that was there is looked after."""
    remedies = []
    for listed in ((A,), (C,), ()):
        problem = silent(answered(A), *listed).problem(in_words)
        assert problem
        remedies.append(problem.remedy)
    assert remedies == [
        f"Check the DNS server and the way to it: `dig @{A} . NS`",
        f"Check the DNS server and the way to it: `dig @{C} . NS`; {CORRECT}",
        "List a DNS server that answers in the node file or the profile, or let the DHCP server offer one",
    ]


@pytest.mark.parametrize("listed", [(), (A,), (A, C)])
def test_a_node_that_no_server_ever_answered_has_lost_nothing(listed: tuple[IPAddress, ...]) -> None:
    """Its boot was the same."""
    assert silent(DnsServers(), *listed).problem(in_words) is None


def test_only_a_server_on_the_node_is_no_loss() -> None:
    """It is not asked, and has servers of its own; one of other hosts that is listed behind it must answer."""
    assert silent(answered(A), has_own=True).problem(in_words) is None
    assert silent(answered(A), C, has_own=True).problem(in_words)


@pytest.mark.parametrize("listed", [(), (A,), (C,)])
def test_a_moment_is_no_loss(listed: tuple[IPAddress, ...]) -> None:
    """NetworkManager empties resolv.conf while it activates a profile again."""
    known = answered(A)
    for now in (60.0, 64.0):
        known = known.seen(now, listed, (), has_own=False)
    assert known.problem(in_words) is None
    assert known.seen(66.0, (A,), {A}, has_own=False) == answered(A, listed=(A,))


@pytest.mark.parametrize("listed", [(), (A,), (C,)])
def test_the_first_answer_of_a_listed_server_ends_it(listed: tuple[IPAddress, ...]) -> None:
    """Whichever it is: a node without those from before needs them no more."""
    known = silent(answered(A, B), *listed).seen(80.0, (C,), {C}, has_own=False)
    assert known == DnsServers(listed=(C,), had=(C,))


def test_what_the_network_explains_is_not_counted() -> None:
    """Silence is counted from the return of the gateway, and a loss stays until a server answers."""
    assert answered(A).seen(60.0, (A,), (), has_own=False).unknown().condition == answered(A).condition
    lost = silent(answered(A), A)
    assert lost.unknown() == lost


def test_a_node_that_is_not_watched_keeps_only_what_answered() -> None:
    """A problem that nothing would end is withdrawn."""
    assert silent(answered(A), C).unwatched() == DnsServers(had=(A,))
