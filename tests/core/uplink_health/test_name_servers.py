"""When the silence of DNS servers is a loss, and in which words it is reported."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.uplink_health.health import DnsServers

A, B, C = (ip_address(text) for text in ("192.0.2.53", "2001:db8::53", "192.0.2.54"))
CORRECT = "or correct the addresses in the node file, the profile or the DHCP server"
WHEN = "2027-01-15 08:00:00 UTC"


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
