"""How long a publication that is no longer true is left alone before it is made again (R13)."""

from structlog.testing import capture_logs

from nodenet.core.messages import Message
from nodenet.loop.doubts import PAUSES, Doubts


def test_the_pauses_grow_and_every_one_is_in_the_journal_with_its_number() -> None:
    doubts = Doubts()
    with capture_logs() as logs:
        pauses = [doubts.next_pause("the lease changed") for _ in range(len(PAUSES) + 2)]
    assert pauses == [*PAUSES, PAUSES[-1], PAUSES[-1]]
    assert logs[1]["event"] == "Not ready: the lease changed; the node IPs are published again in 1 s (try 2)"
    assert {entry["message"] for entry in logs} == {Message.NOT_CONFIRMED}
