"""What is watched beside the stages: the node file, what is lost after READY, and sources of events?"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, cast

from structlog.testing import capture_logs

from fakes import FakeClock
from nodenet.core.boot.outcome import Problem, Topic
from nodenet.core.boot.stages import new_boot
from nodenet.core.messages import Message
from nodenet.core.status.document import BootStatus
from nodenet.loop.watches import EDIT_SECONDS, NOT_IN_USE, WAITED_FOR, EditWatch, LossWatch, Sources, Watches

STATUS = BootStatus(new_boot({}, degrade=True))


@dataclass
class Seen:
    """Returns or raises what it is given."""

    result: float | Exception | None = None
    times: list[BootStatus] = field(default_factory=list)

    def show(self, status: BootStatus) -> float | None:
        self.times.append(status)
        if isinstance(self.result, Exception):
            raise self.result
        return self.result


def test_each_one_sees_the_status_though_another_raises() -> None:
    first, second = Seen(OSError(28, "No space left on device")), Seen()
    watches = Watches((first, second))
    watches.show(STATUS)
    assert (len(first.times), len(second.times)) == (1, 1)
    assert 0 < watches.again < math.inf


def test_the_pause_grows_while_it_fails_and_ends_when_it_succeeds() -> None:
    one = Seen(OSError(28, "No space left on device"))
    watches = Watches((one,))
    watches.show(STATUS)
    first = watches.again
    watches.show(STATUS)
    assert watches.again > first
    one.result = None
    watches.show(STATUS)
    assert watches.again == math.inf


def test_one_can_ask_to_see_it_again() -> None:
    watches = Watches((Seen(), Seen(7.0)))
    watches.show(STATUS)
    assert watches.again == 7.0


class InForce:
    """Says what the test wants, and counts how often it is asked."""

    calm_seconds = 1.0

    def __init__(self, *answers: bool | Exception) -> None:
        self.answers = list(answers)

    def edited(self, status: BootStatus, now: float) -> bool:  # noqa: ARG002
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer


def watch(*answers: bool | Exception) -> tuple[EditWatch, FakeClock, InForce]:
    in_force, clock = InForce(*answers), FakeClock()
    return EditWatch(cast("Any", in_force), clock), clock, in_force


def test_the_files_are_looked_at_once_a_second() -> None:
    edits, clock, in_force = watch(False, False)
    for _ in range(10):
        assert not edits.seen(STATUS)
    clock.now += EDIT_SECONDS
    assert not edits.seen(STATUS)
    assert in_force.answers == []


def test_an_edit_is_in_the_journal() -> None:
    edits, _, _ = watch(True)
    with capture_logs() as logs:
        assert edits.seen(STATUS)
    assert logs[0]["message"] is Message.EDITED
    assert logs[0]["event"] == "Settings or node file were edited while the boot waits: read again, unchanged for 1 s"


def test_a_look_that_fails_is_no_edit() -> None:
    """R23: the file system may raise anything."""
    edits, clock, _ = watch(OSError(5, "Input/output error"), True)
    assert not edits.seen(STATUS)
    clock.now += EDIT_SECONDS
    assert edits.seen(STATUS)


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


@dataclass
class Source:
    """Notes what it was asked to do."""

    calls: list[str] = field(default_factory=list)

    def start(self) -> None:
        self.calls.append("start")

    def stop(self) -> None:
        self.calls.append("stop")


def test_only_what_is_waited_for_is_listened_to() -> None:
    sources, kernel, ovs = Sources(), Source(), Source()
    sources.add(Topic.KERNEL, kernel)
    sources.add(Topic.OVS, ovs)
    for topics in ({Topic.KERNEL}, {Topic.KERNEL, Topic.BUS}, {Topic.OVS}, set()):
        sources.listen(topics)
    assert kernel.calls == ["start", "stop"]
    assert ovs.calls == ["start", "stop"]
