from __future__ import annotations

from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.persistent_ips.model import moment_text


@given(st.integers(-(10**10), 200 * 10**9))
def test_a_moment_is_written_as_the_standard_library_does(seconds: int) -> None:
    assert moment_text(seconds) == datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_microseconds() -> None:
    assert moment_text(1.25, micro=True) == "1970-01-01T00:00:01.250000Z"
