"""How long a publication that is no longer true is left alone before it is made again (R13)."""

import math

from structlog.testing import capture_logs

from fakes import FakeClock
from nodenet.core.messages import Message
from nodenet.loop.attempts import PAUSES, Doubts


def test_the_pauses_grow_and_every_one_is_in_the_journal_with_its_number() -> None:
    doubts = Doubts(FakeClock())
    with capture_logs() as logs:
        pauses = [doubts.next_pause("the lease changed") for _ in range(len(PAUSES) + 2)]
    assert pauses == [*PAUSES, PAUSES[-1], PAUSES[-1]]
    assert logs[1]["event"] == "Not ready: the lease changed; the node IPs are published again in 1 s (try 2)"
    assert {entry["message"] for entry in logs} == {Message.NOT_CONFIRMED}


def test_a_ready_that_was_not_taken_is_due_after_its_pause_and_no_more_once_the_publication_was_looked_at() -> None:
    clock = FakeClock()
    doubts = Doubts(clock)
    assert doubts.seconds_left == math.inf
    doubts.unheard(4.0)
    clock.now += 3.0
    assert doubts.seconds_left == 1.0
    clock.now += 1.0
    assert doubts.seconds_left <= 0
    doubts.looked_at()
    assert doubts.seconds_left == math.inf
