"""Which silence rolls a node file back."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Link
from nodenet.core.messages import Message
from nodenet.core.node_file.links import Hop
from nodenet.core.probes.questions import NO_LOOK, Answer, Kind, Look, Question
from nodenet.core.probes.verdict import dark_uplinks, is_hopeless, merged, summary, verdict
from nodenet.core.settings.model import ProbeTarget

YES, SMALL, NO, UNKNOWN = Answer.YES, Answer.SMALL, Answer.NO, Answer.UNKNOWN
NOT_ASKED = Answer.NOT_ASKED
GATEWAY = Question(Kind.GATEWAY, "192.0.2.1", "eth0")
MOVED = Question(Kind.GATEWAY, "192.0.2.1", "eth0.7")
DNS, OTHER_DNS = Question(Kind.DNS, "192.0.2.53"), Question(Kind.DNS, "192.0.2.54")
TARGET = Question(Kind.TARGET, "203.0.113.1", target=ProbeTarget(ip_address("203.0.113.1")))
LARGE = Question(Kind.LARGE, "192.0.2.1", "eth0", target=ProbeTarget(ip_address("192.0.2.1")))
TOO_LARGE = "the gateway 192.0.2.1 answers small packets, but none as large as the MTU of eth0"
CARRIER = Question(Kind.CARRIER, "eth0", "eth0")
DUPLICATE = Question(Kind.UNIQUE, "2001:db8::5", "eth0")
IPV4 = frozenset({Family.IPV4})


@pytest.mark.parametrize(
    ("before", "after", "failed"),
    [
        ({GATEWAY: YES}, {GATEWAY: YES}, ()),
        ({GATEWAY: NO}, {GATEWAY: NO}, ()),
        ({}, {GATEWAY: NO}, ()),
        ({}, {}, ()),
        ({DNS: YES}, {DNS: NO}, ("the DNS server 192.0.2.53 does not answer, and it answered before the apply",)),
        ({DNS: YES, OTHER_DNS: YES}, {DNS: NO, OTHER_DNS: YES}, ()),
        ({DNS: YES}, {DNS: NO, OTHER_DNS: YES}, ()),
        ({}, {DNS: NO}, ()),
        ({DNS: NO}, {DNS: NO}, ()),
        ({DNS: NO}, {DNS: NOT_ASKED, TARGET: NOT_ASKED}, ()),
        (
            {TARGET: YES},
            {TARGET: NO},
            ("203.0.113.1 of `probe_targets` does not answer, and it answered before the apply",),
        ),
        (
            {TARGET: YES},
            {TARGET: SMALL},
            (
                (
                    "203.0.113.1 of `probe_targets` answers small packets, but none as large as the MTU, "
                    "and it answered large ones before the apply"
                ),
            ),
        ),
        ({TARGET: SMALL}, {TARGET: SMALL}, ()),
        ({TARGET: NO}, {TARGET: SMALL}, ()),
        ({TARGET: UNKNOWN}, {TARGET: UNKNOWN}, ()),
        ({TARGET: UNKNOWN}, {TARGET: NO}, ()),
        ({LARGE: YES}, {LARGE: SMALL}, (TOO_LARGE,)),
        ({}, {LARGE: SMALL}, (TOO_LARGE,)),
        ({LARGE: SMALL}, {LARGE: SMALL}, ()),
        ({LARGE: YES}, {LARGE: NO}, ()),
        ({LARGE: UNKNOWN}, {LARGE: UNKNOWN}, ()),
        ({CARRIER: YES}, {CARRIER: NO}, ()),
        ({CARRIER: NO}, {CARRIER: NO}, ()),
        ({CARRIER: YES}, {}, ()),
        ({}, {CARRIER: NO}, ()),
        ({}, {DUPLICATE: NO}, ("the address 2001:db8::5 of eth0 is in use by another host",)),
        ({DUPLICATE: NO}, {DUPLICATE: NO}, ()),
    ],
)
def test_what_is_lost_rolls_the_file_back(
    before: dict[Question, Answer], after: dict[Question, Answer], failed: tuple[str, ...]
) -> None:
    """And what was lacking before, or was never there, is reported only."""
    found = verdict(Look(before), Look(after))
    assert found.failed == failed
    assert len(found.noted) + len(failed) >= sum(answer is not YES for answer in after.values())


def gateways(answers: dict[Question, Answer]) -> Look:
    """Return a look at default routes with these gateways."""
    return Look(answers, frozenset(Hop(each.link, Family.IPV4, each.name) for each in answers), IPV4)


UP, DARK = Link(0, "", carrier=True), Link(0, "", carrier=False)


@pytest.mark.parametrize(
    ("below", "refused"),
    [
        ({"eth1": DARK}, True),
        ({"eth1": UP}, False),
        ({"eth1": replace(DARK, up=False)}, False),
        ({"eth1": DARK, "eth2": UP}, False),
        ({"eth1": DARK, "eth2": DARK}, True),
        ({"bond0": replace(UP, kind="bond"), "eth1": DARK}, False),
        ({"bond0": replace(DARK, kind="bond"), "eth1": DARK}, False),
        ({"eth0.7": replace(UP, kind="vlan"), "eth1": DARK}, False),
        ({"bond0": None, "eth1": DARK}, False),
        ({}, False),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, dict) else "",
)
def test_a_bridge_with_the_way_out_goes_over_no_nic_without_a_carrier(
    below: dict[str, Link | None], *, refused: bool
) -> None:
    """What is down, no NIC, or not there yet may carry later; a bridge whose gateway is silent has nothing to lose."""
    named = {"br-ex": frozenset({*below, "br-ex"})}
    there = {"br-ex": replace(UP, kind="openvswitch"), "eth0": DARK} | below
    present = [replace(link, index=number, name=name) for number, (name, link) in enumerate(there.items(), 2) if link]
    way_out = Question(Kind.GATEWAY, "192.0.2.1", "br-ex")
    found = dark_uplinks(Look({way_out: YES}), named, present)
    words = tuple(f"{name}, which is to be below br-ex, has no carrier" for name in below)
    assert found.failed == (words if refused else ())
    assert dark_uplinks(Look({way_out: NO}), named, present).failure is None
    assert dark_uplinks(Look({GATEWAY: YES}), named, present).failure is None


def test_routers_of_two_links_may_have_the_same_address() -> None:
    """As ``fe80::1``: the silent one was silent before. A link in the place of another has the answer of that one."""
    quiet, loud, moved = (Question(Kind.GATEWAY, "fe80::1", link) for link in ("eth0", "eth1", "bond0"))
    for before in ({quiet: NO, loud: YES}, {loud: YES, quiet: NO}):
        assert verdict(gateways(before), gateways({quiet: NO, loud: YES})).failed == ()
        assert verdict(gateways(before), gateways({quiet: NO, loud: NO})).failed != ()
        assert verdict(gateways(before), gateways({moved: NO, quiet: NO})).failed != ()
        again = merged(gateways(before), gateways({quiet: NO, loud: NO}))
        assert verdict(again, gateways({quiet: NO, loud: YES})).failed == ()
    moved_back = merged(gateways({quiet: YES}), gateways({moved: NO}))
    assert verdict(moved_back, gateways({moved: NO})).failed != ()


def test_a_lost_carrier_is_named_as_the_cause_of_what_it_costs() -> None:
    """A storage NIC that trains its link again is reported only."""
    before, after = gateways({GATEWAY: YES}), gateways({GATEWAY: NO})
    before, after = (
        replace(each, answers={**each.answers, CARRIER: answer}) for each, answer in ((before, YES), (after, NO))
    )
    assert verdict(before, after).failed == (
        "eth0 has no carrier any more",
        "the gateway 192.0.2.1 does not answer on eth0, and it answered before the apply",
    )
    assert verdict(before, replace(after, answers={GATEWAY: YES, CARRIER: NO})).noted == (
        "eth0 has no carrier any more",
    )


def test_a_failure_names_every_cause_and_the_way_around() -> None:
    failure = verdict(Look({TARGET: YES, DNS: YES}), Look({TARGET: NO, DNS: NO})).failure
    assert failure is not None
    assert failure.message is Message.PROBE_FAILED
    assert failure.cause == (
        "203.0.113.1 of `probe_targets` does not answer, and it answered before the apply; "
        "the DNS server 192.0.2.53 does not answer, and it answered before the apply"
    )
    assert failure.remedy == (
        "Correct the node file, or repair what does not answer; "
        "`probe_timeout = 0` in the settings applies the file without probes"
    )


def test_what_never_answered_is_not_asked_again() -> None:
    """A gateway is: the file may lead to it by another link."""
    before = Look({DNS: NO, TARGET: UNKNOWN, GATEWAY: NO})
    assert [each for each in (DNS, TARGET, GATEWAY) if is_hopeless(each, before)] == [DNS]
    assert not is_hopeless(DNS, Look({DNS: YES}))
    assert not is_hopeless(DNS, NO_LOOK)


def test_what_was_not_asked_again_is_not_said_to_be_silent() -> None:
    """Nothing is known about it after the apply."""
    found = verdict(Look({DNS: NO, TARGET: NO}), Look({DNS: NOT_ASKED, TARGET: NOT_ASKED}))
    assert found.noted == (
        "the DNS server 192.0.2.53 was not asked again: it did not answer before the apply",
        "203.0.113.1 of `probe_targets` was not asked again: it did not answer before the apply",
    )


def test_a_node_that_may_not_ping_blames_itself() -> None:
    """A gateway that is silent to pings is another thing: it was asked."""
    (cannot,) = verdict(NO_LOOK, Look({LARGE: UNKNOWN})).noted
    (silent,) = verdict(NO_LOOK, Look({LARGE: NO})).noted
    end = " on eth0: whether its network carries the MTU is not known"
    assert cannot == f"the gateway 192.0.2.1 cannot be pinged by this node{end}"
    assert silent == f"the gateway 192.0.2.1 answers no ping{end}"


def test_between_two_tries_the_better_answer_holds() -> None:
    """After a rollback the network may take a moment to come back."""
    found = merged(Look({GATEWAY: YES, DNS: NO}, defaults=IPV4), Look({MOVED: NO, DNS: YES}))
    assert found == Look({GATEWAY: YES, DNS: YES}, defaults=IPV4)
    assert merged(Look({GATEWAY: YES}), Look({}, proven=True)).proven


def test_what_answers_is_said_in_words() -> None:
    assert summary(Look({GATEWAY: YES, CARRIER: YES, DNS: NO, TARGET: YES})) == "gateway 192.0.2.1, target 203.0.113.1"
    assert summary(NO_LOOK) == ""
