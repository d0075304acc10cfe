"""What an answer means, and how its error is worded."""

from __future__ import annotations

import pytest

from nodenet.core.persistent_ips.api import ApiAway, Expired
from nodenet.edge.kubernetes.session import LONGEST_REASON, Answer, event_error


@pytest.mark.parametrize(
    ("pause", "seconds"), [("", 1.0), ("0", 0.0), ("1", 1.0), ("9999", 2.0), ("-1", 1.0), ("soon", 1.0), ("²", 1.0)]
)
def test_the_pause_that_the_api_asks_for_is_bounded(pause: str, seconds: float) -> None:
    assert Answer(429, b"", pause).retry_after(2.0) == seconds


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "no reason is given"),
        (b"404 page not found\n", "404 page not found"),
        (b'{"message":"two\\nlines"}', "two lines"),
        (b'{"message":7}', "no reason is given"),
        (b"[]", "[]"),
        (b"[" * 100000, "[" * LONGEST_REASON),
        (b"\xff", "\ufffd"),
    ],
)
def test_every_content_gives_a_reason(content: bytes, reason: str) -> None:
    assert Answer(503, content).error("x").cause == f"x: {reason} (status 503)"


def test_events_that_report_an_error() -> None:
    assert event_error({"type": "ADDED"}) is None
    assert isinstance(event_error({"type": "ERROR", "object": {"code": 410}}), Expired)
    anything: tuple[object, ...] = ({}, [], None, {"code": "410"})
    for broken in anything:
        assert isinstance(event_error({"type": "ERROR", "object": broken}), ApiAway)
