"""The record of the last apply: /run has how it ended where the disk does not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes import BOOT_ID, FakeFiles
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.errors import PublishFailed
from nodenet.stages.apply.last_record import LastRecord
from nodenet.stages.apply.records import BRIDGE_INTENT, ENDED, INTENT

DURING = Intent("d" * 64, Phase.APPLYING, BOOT_ID, 10.0)
GOOD = replace(DURING, phase=Phase.GOOD, started=12.0, in_force="d" * 64)
FULL = PublishFailed("No space left on device")


def on_a_full_disk(record: Intent) -> FakeFiles:
    """Return the files behind an apply whose end is *record*, which the disk has not taken."""
    files = FakeFiles()
    last = LastRecord(files, INTENT, BOOT_ID)
    last.save(DURING)
    files.bad = {str(INTENT): FULL}
    with pytest.raises(PublishFailed):
        last.save(record)
    files.bad = {}
    return files


@pytest.mark.parametrize("phase", [Phase.GOOD, Phase.REFUSED, Phase.ROLLED_BACK])
def test_another_process_of_the_boot_knows_how_an_apply_has_ended(phase: Phase) -> None:
    record = replace(GOOD, phase=phase)
    last = LastRecord(on_a_full_disk(record), INTENT, BOOT_ID)
    assert last.load() == last.owed == record


def test_what_the_disk_has_taken_is_owed_no_more() -> None:
    files = on_a_full_disk(GOOD)
    last = LastRecord(files, INTENT, BOOT_ID)
    last.save(GOOD)
    assert last.load() == GOOD
    assert last.owed is None
    assert str(ENDED) not in files.content


def test_the_end_of_an_earlier_apply_of_the_same_file_says_nothing() -> None:
    """It is applied again, and that apply is interrupted."""
    last = LastRecord(on_a_full_disk(GOOD), INTENT, BOOT_ID)
    again = replace(DURING, started=20.0)
    last.save(again)
    assert last.load() == again
    assert last.owed is None


def test_the_next_boot_takes_the_apply_for_interrupted() -> None:
    """/run is lost with the power; what the disk has of the keyfiles is not known."""
    files = on_a_full_disk(GOOD)
    assert LastRecord(files, INTENT, "the next boot").load() == DURING


def test_an_apply_that_the_disk_takes_no_record_of_does_not_begin() -> None:
    files = FakeFiles(bad={str(INTENT): FULL})
    with pytest.raises(PublishFailed):
        LastRecord(files, INTENT, BOOT_ID).save(DURING)
    assert files.content == {}


def test_a_note_that_cannot_be_read_is_no_answer() -> None:
    """Whether the apply was interrupted is not known at this moment."""
    files = on_a_full_disk(GOOD)
    files.bad = {str(ENDED): PublishFailed("Too many open files")}
    last = LastRecord(files, INTENT, BOOT_ID)
    assert last.owed is None
    with pytest.raises(PublishFailed):
        last.load()


def test_br_ex_has_no_note() -> None:
    """Its stage looks at the bridge."""
    files = FakeFiles()
    last = LastRecord(files, BRIDGE_INTENT, BOOT_ID)
    last.save(DURING)
    files.bad = {str(BRIDGE_INTENT): FULL}
    with pytest.raises(PublishFailed):
        last.save(GOOD)
    assert str(ENDED) not in files.content
