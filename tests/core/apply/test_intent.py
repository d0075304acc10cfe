"""What an interrupted or finished apply means for the next one."""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.apply.intent import Intent, Phase, Plan, parse, plan, render

GOOD = Intent("d1", Phase.GOOD, "boot1", 10.0, "d1")


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


def test_a_record_survives_its_file() -> None:
    """What is written is what is read."""
    assert parse(render(GOOD)) == GOOD


@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b'{"version": 2}', b'{"version": 1}', b'{"version": 1, "phase": "x"}']
)
def test_a_torn_or_foreign_record_is_refused(content: bytes) -> None:
    """It is set aside by the caller, never half believed."""
    with pytest.raises(ValueError):  # noqa: PT011  (json says it in its own words)
        parse(content)
