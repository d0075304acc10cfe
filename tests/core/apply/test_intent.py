"""What an interrupted or finished apply means for the next one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.apply.intent import (
    ROLLBACK_SECONDS,
    Intent,
    Phase,
    Plan,
    cut_short,
    had_way_out,
    is_end_of,
    is_ours,
    parse,
    plan,
    render,
)
from nodenet.core.network_manager.state import Checkpoint

GOOD = Intent("d1", Phase.GOOD, "boot1", 10.0, "d1")
OURS = Intent("d", Phase.APPLYING, "boot1", 50.0)
BEGAN = 70.0


@pytest.mark.parametrize(
    ("record", "digest", "matches", "retry", "expected"),
    [
        (None, "d1", False, False, Plan.APPLY),
        (None, "d1", True, False, Plan.ADOPT),
        (GOOD, "d1", True, False, Plan.KEEP),
        (GOOD, "d1", False, False, Plan.APPLY),
        (GOOD, "d2", True, False, Plan.ADOPT),
        (GOOD, "d2", False, False, Plan.APPLY),
        (replace(GOOD, phase=Phase.APPLYING), "d1", True, False, Plan.APPLY),
        (replace(GOOD, phase=Phase.APPLYING), "d2", True, False, Plan.APPLY),
        (replace(GOOD, phase=Phase.ROLLED_BACK), "d1", True, False, Plan.ADOPT),
        (replace(GOOD, phase=Phase.ROLLED_BACK), "d1", False, False, Plan.APPLY),
        (replace(GOOD, phase=Phase.REFUSED), "d1", False, False, Plan.REFUSE),
        (replace(GOOD, phase=Phase.REFUSED), "d1", False, True, Plan.APPLY),
        (replace(GOOD, phase=Phase.REFUSED), "d2", False, False, Plan.APPLY),
        (replace(GOOD, phase=Phase.REFUSED, boot_id="boot0"), "d1", False, False, Plan.APPLY),
        (replace(GOOD, phase=Phase.REFUSED, boot_id="boot0"), "d1", True, False, Plan.ADOPT),
    ],
)
def test_the_plan_follows_from_record_and_difference(
    record: Intent | None, digest: str, expected: Plan, *, matches: bool, retry: bool
) -> None:
    """Unverified state is applied once more; a refused file does not shake the network twice in a boot."""
    assert plan(digest, record, "boot1", matches=matches, retry_refused=retry) is expected


@pytest.mark.parametrize(
    ("phase", "way_out", "expected"), [("applying", True, True), ("applying", False, False), ("good", True, False)]
)
def test_an_apply_that_was_cut_short_may_have_cut_the_node_off(phase: str, *, way_out: bool, expected: bool) -> None:
    """Where a gateway answered before it."""
    record = replace(GOOD, phase=Phase(phase), way_out=way_out)
    assert cut_short(record, record.digest) is expected
    assert not cut_short(record, "another")


@pytest.mark.parametrize("phase", Phase)
def test_a_try_that_failed_leads_back_to_what_the_interrupted_apply_left(phase: Phase) -> None:
    """Only a file that is in force has shown that it does not cut the node off."""
    record = replace(GOOD, phase=phase, interrupted=True)
    assert cut_short(record, record.digest) is (phase is not Phase.GOOD)
    assert not cut_short(record, "another")
    assert parse(render(record)) == record


def test_a_record_survives_its_file() -> None:
    """What is written is what is read."""
    assert parse(render(GOOD)) == GOOD


@pytest.mark.parametrize(
    "content",
    [
        *(b"", b"{", b"[]", b'{"version": 2}', b'{"version": 1}', b'{"version": 1, "phase": "x"}'),
        render(replace(GOOD, started="10")),  # type: ignore[arg-type]
        render(replace(GOOD, in_force=["d1"])),  # type: ignore[arg-type]
        render(replace(GOOD, brings_bridge=1)),  # type: ignore[arg-type]
        render(replace(GOOD, way_out=1)),  # type: ignore[arg-type]
        render(replace(GOOD, ended="now")),  # type: ignore[arg-type]
        render(replace(GOOD, created="")),  # type: ignore[arg-type]
        render(replace(GOOD, checkpoint=[])),  # type: ignore[arg-type]
    ],
)
def test_a_torn_or_foreign_record_is_refused(content: bytes) -> None:
    """It is set aside by the caller, never half believed."""
    with pytest.raises(ValueError):  # noqa: PT011  (json says it in its own words)
        parse(content)


@pytest.mark.parametrize(
    ("path", "created", "record", "ours"),
    [
        ("/cp/1", 51.0, OURS, True),
        ("/cp/1", 50.0, OURS, True),
        ("/cp/1", 49.0, OURS, False),
        ("/cp/1", 71.0, OURS, False),
        ("/cp/1", 51.0, replace(OURS, ended=52.0), True),
        ("/cp/1", 53.0, replace(OURS, ended=52.0), False),
        ("/cp/1", 51.0, OURS.with_checkpoint(Checkpoint("/cp/1", 51.0)), True),
        ("/cp/2", 51.5, OURS.with_checkpoint(Checkpoint("/cp/1", 51.0)), False),
        ("/cp/1", 60.0, OURS.with_checkpoint(Checkpoint("/cp/1", 51.0)), False),
        ("/cp/1", 51.0, replace(OURS, boot_id="boot0"), False),
    ],
)
def test_only_the_checkpoint_of_an_interrupted_apply_is_ours(
    path: str, created: float, record: Intent, *, ours: bool
) -> None:
    """It is known by path and creation; another program's is never rolled back (R2)."""
    assert is_ours(Checkpoint(path, created), record, "boot1", BEGAN) is ours


@pytest.mark.parametrize(
    ("seconds", "ours"),
    [
        (None, True),
        (ROLLBACK_SECONDS, True),
        (ROLLBACK_SECONDS + 3, True),
        (ROLLBACK_SECONDS + 4, False),
        (ROLLBACK_SECONDS - 1, False),
        (60, False),
        (7, False),
        (0, False),
        (3600, False),
    ],
)
def test_a_checkpoint_that_is_not_in_the_record_is_known_by_its_time_out(seconds: int | None, *, ours: bool) -> None:
    """Libnmstate extends its own by the seconds that have passed; no other program has ours (R2)."""
    ended = replace(OURS, ended=53.0)
    assert is_ours(Checkpoint("/cp/1", 51.0, seconds), ended, "boot1", BEGAN) is ours
    named = ended.with_checkpoint(Checkpoint("/cp/1", 51.0))
    assert is_ours(Checkpoint("/cp/1", 51.0, seconds), named, "boot1", BEGAN)


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        (replace(OURS, way_out=True), False),  # an interrupted apply: `cut_short` says more of it
        (replace(OURS, way_out=True, phase=Phase.ROLLED_BACK), True),
        (replace(OURS, way_out=True, phase=Phase.REFUSED), True),
        (replace(OURS, phase=Phase.REFUSED), False),
        (replace(OURS, way_out=True, phase=Phase.REFUSED, digest="d2"), False),
        (replace(OURS, way_out=True, phase=Phase.GOOD), False),
    ],
)
def test_a_failed_apply_remembers_that_the_node_had_a_way_out(record: Intent, *, expected: bool) -> None:
    """In the next boot a switch port may still learn; with a reload, the network from before may not be back."""
    assert had_way_out(record, "d") is expected


def test_a_record_of_an_older_nodenetd_can_be_read() -> None:
    """It has no checkpoint and no end."""
    text = b'{"version": 1, "digest": "d", "phase": "applying", "boot_id": "b", "started": 5.0}'
    assert parse(text) == Intent("d", Phase.APPLYING, "b", 5.0)


def test_an_end_is_of_the_apply_that_it_began_with_or_after() -> None:
    """Not of a later apply of the same file, nor of another boot."""
    during = Intent("d", Phase.APPLYING, "b", 10.0)
    assert is_end_of(Intent("d", Phase.GOOD, "b", 12.0), during)
    assert is_end_of(replace(during, phase=Phase.REFUSED), during)
    for other in (
        Intent("d", Phase.GOOD, "b", 9.0),
        Intent("e", Phase.GOOD, "b", 12.0),
        Intent("d", Phase.GOOD, "c", 12.0),
        during,
    ):
        assert not is_end_of(other, during)
