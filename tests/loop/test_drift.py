"""A loss of node IPs is shown when it has lasted, and its end at once."""

from fakes import FakeClock
from nodenet.core.boot.outcome import Problem
from nodenet.core.messages import Message
from nodenet.loop.drift import DriftWatch

LOST = Problem(Message.NODE_IP_DRIFT, "Node IP 192.0.2.5 is missing", "Bring it back")


def test_a_loss_is_shown_when_it_has_lasted() -> None:
    clock = FakeClock()
    watch = DriftWatch(clock, patience=10.0)
    assert watch.seen(lambda: LOST, None) is None
    clock.now += 9.0
    assert watch.seen(lambda: LOST, None) is None
    clock.now += 1.0
    assert watch.seen(lambda: LOST, None) == LOST


def test_a_moment_without_it_begins_anew() -> None:
    clock = FakeClock()
    watch = DriftWatch(clock, patience=10.0)
    watch.seen(lambda: LOST, None)
    clock.now += 9.0
    watch.seen(lambda: None, None)
    clock.now += 9.0
    assert watch.seen(lambda: LOST, None) is None


def test_what_is_sure_is_shown_at_once_and_so_is_the_end() -> None:
    watch = DriftWatch(FakeClock(), patience=10.0)
    assert watch.seen(lambda: LOST, None, sure=True) == LOST
    assert watch.seen(lambda: None, LOST) is None


def test_a_look_that_fails_changes_nothing() -> None:
    """R23: the look at the kernel may raise anything."""

    def broken() -> Problem | None:
        raise RuntimeError("ephemeral ports")

    assert DriftWatch(FakeClock(), patience=0.0).seen(broken, LOST) == LOST
