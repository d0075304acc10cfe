"""An adoption that was killed is reported; one that runs is not."""

from __future__ import annotations

import fcntl
from dataclasses import replace
from pathlib import Path

from nodenet.core.adoption.former_chain import AdoptionRecord, render
from nodenet.edge.adoption import interrupted
from nodenet.edge.clock import boot_id

RECORD = AdoptionRecord("adopt", "b" * 32, ("drop-ins+", "marker+"), 1)


def cause(place: Path) -> str | None:
    """Return the cause that is reported for a node below *place*."""
    found = interrupted(place / "adoption.json", place / "adoption.lock", place / "adopted")
    return found.cause if found else None


def test_a_command_that_was_killed_is_reported_once_its_lock_is_released(tmp_path: Path) -> None:
    assert cause(tmp_path) is None
    record, lock = tmp_path / "adoption.json", tmp_path / "adoption.lock"
    record.write_bytes(render(replace(RECORD, boot_id=boot_id())))
    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert cause(tmp_path) is None
    killed = cause(tmp_path)
    assert killed is not None
    assert killed.startswith("A `nodenetctl adopt` was interrupted in this boot (step 2 of 2): ")


def test_a_power_cut_is_reported_in_the_next_boot(tmp_path: Path) -> None:
    """Its /run is empty. The marker is there wherever it leads."""
    (tmp_path / "adoption.json").write_bytes(render(RECORD))
    (tmp_path / "adopted").symlink_to("/nowhere")
    assert cause(tmp_path) == (
        "A `nodenetctl adopt` was interrupted before the last boot (step 2 of 2): /etc/nodenet/adopted exists, so "
        "nodenet configures this node at every boot"
    )


def test_a_record_that_cannot_be_read_is_left_to_the_next_command(tmp_path: Path) -> None:
    record = tmp_path / "adoption.json"
    record.write_text("{")
    assert cause(tmp_path) is None
    record.unlink()
    record.mkdir()
    assert cause(tmp_path) is None
