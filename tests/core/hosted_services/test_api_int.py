"""Which address api-int has, beyond the cases under ``fixtures/hosted_services`` (api-int-*)."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address

import pytest

from nodenet.core.hosted_services.api_int import (
    PATIENCE_SECONDS,
    RETURN_ANSWERS,
    TRIAL_SECONDS,
    VIP_TRIAL_SECONDS,
    Look,
    Trial,
    Way,
    after_trial,
    api_int,
    dead,
    parse_trial,
    render_trial,
    ways,
)
from nodenet.core.hosted_services.migration import Migration, Phase
from nodenet.core.hosted_services.model import Here, Inputs, Mode, Options, Origin, Spec
from nodenet.core.ip import IPAddress

BALANCER = frozenset({ip_address("192.0.2.200")})
FRESH = Trial(BALANCER)
GOOD, SILENT, REPLACED = Look(answers=True), Look(answers=False), Look(answers=False, dead=BALANCER)
"""It answers; it does not, nor does another one; it does not, and the VIP does."""
ON_TRIAL = replace(REPLACED, migrates=True, patience=TRIAL_SECONDS)


def looks(trial: Trial, look: Look, seconds: float, began: float = 0.0) -> Trial:
    """Return the trial after a look each three seconds."""
    now = began
    while now <= began + seconds:
        trial = after_trial(trial, now, look)
        now += 3
    return trial


def test_a_balancer_that_is_dead_for_a_minute_gives_its_name_to_a_vip_that_answers() -> None:
    assert looks(FRESH, REPLACED, PATIENCE_SECONDS - 3).way is Way.UNTRIED
    assert looks(FRESH, REPLACED, PATIENCE_SECONDS).way is Way.VIP


def test_a_vip_that_does_not_answer_gets_no_name_until_it_does() -> None:
    trial = looks(FRESH, SILENT, 3600)
    assert trial.way is Way.UNTRIED
    assert after_trial(trial, 3700, REPLACED).way is Way.VIP


def test_a_balancer_that_has_answered_once_keeps_its_name() -> None:
    trial = after_trial(FRESH, 0, GOOD)
    assert trial.way is Way.EXTERNAL
    assert looks(trial, REPLACED, 3600, began=10).way is Way.EXTERNAL


def test_the_name_goes_back_after_some_good_answers_in_a_row() -> None:
    trial = looks(FRESH, REPLACED, PATIENCE_SECONDS)
    for number in range(RETURN_ANSWERS - 1):
        trial = after_trial(trial, 100 + number, GOOD)
    assert trial.way is Way.VIP
    missed = after_trial(trial, 200, REPLACED)
    assert after_trial(missed, 201, GOOD).way is Way.VIP
    assert after_trial(trial, 201, GOOD).way is Way.EXTERNAL


def test_the_file_says_the_same_to_a_companion_that_comes_back_and_to_nodenetd() -> None:
    for trial in (Trial(BALANCER), Trial(BALANCER, Way.EXTERNAL), *(Trial(BALANCER, Way.VIP, gone) for gone in GONE)):
        content = render_trial(trial)
        assert parse_trial(content, BALANCER) == trial
        assert dead(content) == trial.dead


OTHER = frozenset({ip_address("192.0.2.201")})
GONE = (BALANCER, BALANCER | OTHER)
"""The load balancer alone, and together with that of before."""


@pytest.mark.parametrize(
    "content",
    [
        *(None, b"", b"[]", b"{", b"[" * 9000),
        *(b'{"addresses": 1, "way": "vip"}', b'{"addresses": ["x"], "way": "vip"}'),
        b'{"addresses": ["192.0.2.200"], "way": "vip", "dead": ["x"]}',
    ],
    ids=range(8),
)
def test_what_is_no_such_file_says_nothing(content: bytes | None) -> None:
    assert parse_trial(content, BALANCER) == FRESH
    assert dead(content) == frozenset()


def test_in_a_migration_a_balancer_that_has_answered_loses_the_name_soon() -> None:
    trial = after_trial(FRESH, 0, replace(GOOD, migrates=True))
    for now in (3, 6):
        trial = after_trial(trial, now, ON_TRIAL)
        assert trial.way is Way.EXTERNAL
    assert after_trial(trial, 9, replace(SILENT, migrates=True)).way is Way.EXTERNAL, "no other one answers either"
    assert after_trial(trial, 9, replace(ON_TRIAL, patience=VIP_TRIAL_SECONDS)).way is Way.EXTERNAL, (
        "a VIP may be taken over"
    )
    assert after_trial(trial, 9, ON_TRIAL).way is Way.VIP


def test_one_that_replaces_a_dead_one_and_dies_is_replaced_at_once() -> None:
    trial = looks(after_trial(FRESH, 0, GOOD), ON_TRIAL, 9, began=3)
    both = after_trial(trial, 15, replace(ON_TRIAL, dead=BALANCER | OTHER))
    assert both.dead == BALANCER | OTHER
    assert after_trial(both, 18, SILENT) == replace(both, good=0), "where none answers, nothing changes"


VIP, EXTERNAL = ip_address("192.0.2.2"), ip_address("192.0.2.200")
OPTIONS = Options("baremetal", "ostest.example.com", (VIP,))


def test_without_a_resource_it_is_the_vip() -> None:
    found = api_int(Inputs(OPTIONS, Here("master-0")))
    assert (found.addresses, found.origin, found.mode, found.problem) == (
        (VIP,),
        Origin.DEFAULT,
        Mode.SELF_HOSTED,
        None,
    )


ASKED = Inputs(OPTIONS, Here("master-0"), Spec(api_int_addresses=(EXTERNAL,)), Origin.LIVE)


def test_no_load_balancer_is_asked_where_the_vip_has_the_name() -> None:
    assert ways(replace(ASKED, spec=Spec(api_int_addresses=(VIP,)))) == ((VIP,),)
    assert ways(replace(ASKED, spec=Spec(), options=replace(OPTIONS, user_managed_lb=True))) == ((VIP,),)


BEFORE = ip_address("192.0.2.201")


def moving(phase: Phase, origin: IPAddress, target: IPAddress, *dead: IPAddress) -> Inputs:
    """Return the inputs in a phase of a migration."""
    spec = Spec(migration=Migration(phase, (origin,), (target,), 1))
    return replace(ASKED, spec=spec, dead=frozenset(dead))


def test_in_a_migration_back_the_load_balancer_takes_the_place_of_a_dead_vip() -> None:
    found = api_int(moving(Phase.DRAIN_EXTERNAL, BEFORE, VIP, VIP))
    assert (found.addresses, found.mode, found.origin) == ((BEFORE,), Mode.EXTERNAL, Origin.LIVE)
    assert found.problem == (
        "The API does not answer at its VIP 192.0.2.2, and api-int is the external load balancer 192.0.2.201 until it "
        "does: see `nodenetctl explain vip`"
    )
    assert ways(moving(Phase.SELF_HOSTED, BEFORE, VIP)) == ((VIP,),), "it may be gone"
