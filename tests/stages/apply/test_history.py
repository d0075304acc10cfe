"""The history on the disk."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest
from structlog.testing import capture_logs

from fakes import FakeFiles
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.history.entry import MOST_ENTRIES, Entry, Kind, Result, render
from nodenet.core.messages import Message
from nodenet.edge.files.disk import MOST_BYTES
from nodenet.stages.apply.history import HISTORY, LONGEST, History, path_of


def entry(text: str = "a: 1\n", *, good: bool = False, result: Result = Result.COMMITTED) -> Entry:
    digest = hashlib.sha256(text.encode()).hexdigest()
    return Entry(Kind.NODE_FILE, result, "w.yml", text, digest, "w", "boot", 1.0, good=good)


def test_entries_have_numbers_and_the_same_again_is_not_written() -> None:
    history = History(FakeFiles())
    first, second = history.add(entry()), history.add(entry("a: 2\n"))
    assert history.add(entry("a: 2\n")) == second
    assert (first.number, second.number, history.numbers()) == (1, 2, [2, 1])
    assert [each.text for each in history.all()] == ["a: 2\n", "a: 1\n"]
    refused = history.add(entry("a: 3\n", result=Result.REFUSED))
    assert (history.newest(), history.in_force()) == (refused, second)


def test_the_newest_good_entry_is_the_way_back() -> None:
    history = History(FakeFiles())
    assert history.good("w").entry is None
    for text in ("a: 1\n", "a: 2\n", "a: 3\n"):
        history.mark_good(history.add(entry(text)))
    history.add(entry("a: 4\n"))
    good = history.good("w").entry
    assert good is not None
    assert good.number == 3
    foreign = history.good("other")
    assert (foreign.entry, foreign.why) == (
        None,
        "/var/lib/nodenet/history/3.json: it belongs to the host w, and this one is other",
    )


def test_the_good_entry_and_the_one_in_force_outlive_the_bounds() -> None:
    """Refused files and changes of br-ex are many; the entry in force knows what earlier files have left over."""
    history = History(FakeFiles())
    history.mark_good(history.add(entry("good")))
    history.add(entry("in force"))
    for number in range(MOST_ENTRIES):
        history.add(entry(f"a: {number}\n", result=Result.REFUSED))
        history.add(replace(entry("in force"), kind=(Kind.BRIDGE, Kind.BRIDGE_REMOVAL)[number % 2]))
    assert len(history.numbers()) == MOST_ENTRIES
    good, in_force = history.good("w").entry, history.in_force()
    assert good
    assert in_force
    assert (good.number, in_force.number) == (1, 2)


def test_a_damaged_entry_is_skipped_and_said_once_and_its_number_is_not_used_again() -> None:
    files = FakeFiles({str(path_of(7)): b"{", str(path_of(6)): render(replace(entry(), good=True), 4096)})
    history = History(files)
    with capture_logs() as logs:
        assert [each.number for each in history.all()] == [6]
        found = history.good("w")
        assert history.add(entry("a: 2\n")).number == 8
    assert found.entry is not None
    assert [line["message"] for line in logs] == [Message.RECORD_UNREADABLE]
    assert "7.json" in logs[0]["event"]
    assert files.content[str(path_of(7))] == b"{"


def test_a_directory_that_cannot_be_read_is_a_failure_of_the_disk() -> None:
    files = FakeFiles(bad={str(HISTORY): Unavailable("cannot be listed: Input/output error")})
    with pytest.raises(PublishFailed, match="Input/output error"):
        History(files).numbers()


def test_an_entry_can_be_read_again() -> None:
    assert LONGEST == MOST_BYTES
