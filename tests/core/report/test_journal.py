"""The journal as a report shows it."""

from __future__ import annotations

import json

import pytest

from nodenet.core.report.parts import journal_text

LATE = {"__REALTIME_TIMESTAMP": "1763827200000001", "SYSLOG_IDENTIFIER": "nodenetd", "_PID": "7", "MESSAGE": "Late"}
EARLY = {**LATE, "__REALTIME_TIMESTAMP": "1763827100000000", "MESSAGE": "Early", "REMEDY": "Do this"}


def shown(printed: str) -> str:
    return journal_text(printed, lambda seconds: f"at {seconds}")


def test_oldest_first_with_the_remedy() -> None:
    printed = f"{json.dumps(LATE)}\n{json.dumps(EARLY)}\n"
    assert shown(printed) == (
        "at 1763827100.0 nodenetd[7]: Early To do: Do this\nat 1763827200.000001 nodenetd[7]: Late\n"
    )


def test_other_bytes_and_several_lines() -> None:
    odd = {**LATE, "MESSAGE": [255, 97], "_PID": "7"}
    assert "[7]: \\xffa\n" in shown(json.dumps(odd))
    assert "Late\n  more\n" in shown(json.dumps({**LATE, "MESSAGE": "Late\nmore"}))
    assert "nodenetd[7]: a b\n" in shown(json.dumps({**LATE, "MESSAGE": ["a", "b"]}))


@pytest.mark.parametrize(
    "line", ["", "[]", "1", '{"MESSAGE": "x"}', json.dumps(LATE)[:40], '{"__REALTIME_TIMESTAMP": "9e99"}', "[" * 99999]
)
def test_a_line_that_is_no_entry_is_left_out(line: str) -> None:
    assert shown(f"{json.dumps(LATE)}\n{line}").count("\n") == 1
