"""Records across boots: what becomes of one that cannot be read."""

from __future__ import annotations

import pytest

from fakes import FakeFiles
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.errors import PublishFailed
from nodenet.stages.apply.records import INTENT, Records

ASIDE = str(INTENT.with_suffix(".unreadable"))


@pytest.mark.parametrize("content", [b"{", b'{"version": 99}', b"\xff", b"[" * 100_000])
def test_a_record_that_cannot_be_read_is_set_aside(content: bytes) -> None:
    """It is kept for whoever looks for the cause, and never half believed."""
    files = FakeFiles({str(INTENT): content})
    assert Records(files).load(INTENT, intent.parse) is None
    assert files.content == {ASIDE: content}


def test_a_record_that_is_torn_is_none_on_a_full_disk_too() -> None:
    """It cannot be set aside, and nothing waits for that (R15)."""
    files = FakeFiles({str(INTENT): b"{"}, broken=PublishFailed("No space left on device"))
    assert Records(files).load(INTENT, intent.parse) is None
    assert files.content == {str(INTENT): b"{"}


@pytest.mark.parametrize("content", [{}, {str(INTENT): b""}])
def test_no_record_is_nothing_to_set_aside(content: dict[str, bytes]) -> None:
    """Nor is an empty file, as a power cut may leave it."""
    files = FakeFiles(dict(content))
    assert Records(files).load(INTENT, intent.parse) is None
    assert files.writes == []


def test_what_is_saved_is_what_is_read() -> None:
    """Whole."""
    records, record = Records(FakeFiles()), Intent("d", Phase.GOOD, "b", 5.0)
    records.save(INTENT, intent.render(record))
    assert records.load(INTENT, intent.parse) == record
