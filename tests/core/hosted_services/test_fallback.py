"""Where api-int leads while an external load balancer does not answer, look by look."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from nodenet.core.hosted_services.fallback import (
    PATIENCE_SECONDS,
    RETURN_ANSWERS,
    Trial,
    Way,
    after,
    dead,
    parse,
    render,
)

BALANCER = frozenset({ip_address("192.0.2.200")})
FRESH = Trial(BALANCER)


def looks(trial: Trial, *, external: bool, vip: bool, seconds: float, began: float = 0.0) -> Trial:
    """Return the trial after a look each three seconds."""
    now = began
    while now <= began + seconds:
        trial = after(trial, now, external=external, vip=vip)
        now += 3
    return trial


def test_a_balancer_that_is_dead_for_a_minute_gives_its_name_to_a_vip_that_answers() -> None:
    assert looks(FRESH, external=False, vip=True, seconds=PATIENCE_SECONDS - 3).way is Way.UNTRIED
    assert looks(FRESH, external=False, vip=True, seconds=PATIENCE_SECONDS).way is Way.VIP


def test_a_vip_that_does_not_answer_gets_no_name_until_it_does() -> None:
    trial = looks(FRESH, external=False, vip=False, seconds=3600)
    assert trial.way is Way.UNTRIED
    assert after(trial, 3700, external=False, vip=True).way is Way.VIP


def test_a_balancer_that_has_answered_once_keeps_its_name() -> None:
    trial = after(FRESH, 0, external=True, vip=False)
    assert trial.way is Way.EXTERNAL
    assert looks(trial, external=False, vip=True, seconds=3600, began=10).way is Way.EXTERNAL


def test_the_name_goes_back_after_some_good_answers_in_a_row() -> None:
    trial = looks(FRESH, external=False, vip=True, seconds=PATIENCE_SECONDS)
    for number in range(RETURN_ANSWERS - 1):
        trial = after(trial, 100 + number, external=True, vip=False)
    assert trial.way is Way.VIP
    missed = after(trial, 200, external=False, vip=True)
    assert after(missed, 201, external=True, vip=False).way is Way.VIP
    assert after(trial, 201, external=True, vip=False).way is Way.EXTERNAL


def test_the_file_says_the_same_to_a_companion_that_comes_back_and_to_nodenetd() -> None:
    for way in Way:
        content = render(Trial(BALANCER, way))
        assert parse(content, BALANCER) == Trial(BALANCER, way)
        assert dead(content) == (BALANCER if way is Way.VIP else frozenset())


def test_a_file_about_another_balancer_says_nothing() -> None:
    other = frozenset({ip_address("192.0.2.201")})
    assert parse(render(Trial(BALANCER, Way.VIP)), other) == Trial(other)


@pytest.mark.parametrize(
    "content",
    [None, b"", b"[]", b"{", b'{"addresses": 1, "way": "vip"}', b'{"addresses": ["x"], "way": "vip"}', b"[" * 9000],
    ids=range(7),
)
def test_what_is_no_such_file_says_nothing(content: bytes | None) -> None:
    assert parse(content, BALANCER) == FRESH
    assert dead(content) == frozenset()


def test_in_a_migration_a_balancer_that_has_answered_loses_the_name_soon() -> None:
    trial = after(FRESH, 0, external=True, vip=False, migrates=True)
    for now in (3, 6):
        trial = after(trial, now, external=False, vip=True, migrates=True)
        assert trial.way is Way.EXTERNAL
    assert after(trial, 9, external=False, vip=False, migrates=True).way is Way.EXTERNAL, "no VIP answers either"
    assert after(trial, 9, external=False, vip=True, migrates=True).way is Way.VIP
