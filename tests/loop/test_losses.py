"""A loss is shown when it has lasted, and its end at once."""

from fakes import FakeClock
from nodenet.core.boot.outcome import Problem
from nodenet.core.messages import Message
from nodenet.loop.watches import NOT_IN_USE, WAITED_FOR, LossWatch

LOST = Problem(Message.NODE_IP_DRIFT, "Node IP 192.0.2.5 is missing", "Bring it back")
AWAY = Problem(Message.MANAGER_AWAY, "NetworkManager has not run since noon", "Start it")

OLD = Problem(Message.NODE_IP_NOT_IN_USE, "kubelet runs with 192.0.2.9", "Restart it")


def test_a_loss_is_shown_when_it_has_lasted() -> None:
    clock = FakeClock()
    watch = LossWatch(clock, patience=10.0)
    assert watch.seen(lambda: (LOST,), ()) == ()
    clock.now += 9.0
    assert watch.seen(lambda: (LOST,), ()) == ()
    clock.now += 1.0
    assert watch.seen(lambda: (LOST,), ()) == (LOST,)


def test_each_loss_has_its_own_time() -> None:
    clock = FakeClock()
    watch = LossWatch(clock, patience=10.0)
    watch.seen(lambda: (LOST,), ())
    clock.now += 10.0
    assert watch.seen(lambda: (AWAY, LOST), ()) == (LOST,)
    clock.now += 10.0
    assert watch.seen(lambda: (AWAY, LOST), (LOST,)) == (AWAY, LOST)
    assert watch.seen(lambda: (AWAY,), (AWAY, LOST)) == (AWAY,)


def test_a_moment_without_it_begins_the_time_again() -> None:
    clock = FakeClock()
    watch = LossWatch(clock, patience=10.0)
    watch.seen(lambda: (LOST,), ())
    clock.now += 9.0
    watch.seen(lambda: (), ())
    clock.now += 9.0
    assert watch.seen(lambda: (LOST,), ()) == ()


def test_what_is_sure_is_shown_at_once_and_so_is_the_end() -> None:
    """A rollback activates links when every stage is over, and a restart of NetworkManager takes seconds."""
    watch = LossWatch(FakeClock(), patience=10.0)
    assert watch.seen(lambda: (AWAY, LOST, OLD), (), NOT_IN_USE) == (OLD,)
    assert watch.seen(lambda: (), (OLD,)) == ()
    assert watch.seen(lambda: (LOST,), (), WAITED_FOR) == (LOST,)


def test_another_cause_takes_the_place_of_the_one_before_when_it_has_lasted() -> None:
    clock = FakeClock()
    watch = LossWatch(clock, patience=10.0)
    other = Problem(Message.NODE_IP_DRIFT, "Node IP 192.0.2.6 is missing", "Bring it back")
    assert watch.seen(lambda: (other,), (LOST,)) == (LOST,)
    clock.now += 10.0
    assert watch.seen(lambda: (other,), (LOST,)) == (other,)


def test_a_look_that_fails_changes_nothing() -> None:
    """R23: the look at the kernel may raise anything."""

    def broken() -> tuple[Problem, ...]:
        raise RuntimeError("ephemeral ports")

    assert LossWatch(FakeClock(), patience=0.0).seen(broken, (LOST,)) == (LOST,)
