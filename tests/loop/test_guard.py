"""Work beside the stages: an error in it does not end the daemon and is in the journal once (R23)."""

from structlog.testing import capture_logs

from nodenet.core.errors import Unavailable
from nodenet.loop.journal import Guard


def refuse(text: str) -> int:
    raise Unavailable(text)


def test_an_error_gives_the_other_result_and_one_line_until_it_changes() -> None:
    guard = Guard("the look")
    with capture_logs() as logs:
        assert [guard.run(lambda: refuse("a"), 7) for _ in range(3)] == [7, 7, 7]
        assert guard.failures == 3
        guard.run(lambda: refuse("b"), 7)
        assert guard.run(int, 7, "1") == 1
        assert guard.failures == 0
        guard.run(lambda: refuse("b"), 7)
    assert [entry["cause"] for entry in logs] == ["a", "b", "b"]


def test_an_error_without_a_name_is_caught_too() -> None:
    with capture_logs() as logs:
        assert Guard("the look").run(lambda: 1 // 0, 7) == 7
    assert logs[0]["cause"].startswith("the look had an unexpected error: ZeroDivisionError")
