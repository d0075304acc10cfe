"""Why systemd skips nodenetd, from the properties that `systemctl show` prints."""

from __future__ import annotations

import pytest

from nodenet.core.adoption.former_chain import Skip, why_skipped

OURS = "{ path=/bin/sh ; argv[]=/bin/sh -c /usr/libexec/nodenet/former-chain; exit ; code=exited ; status="
THEIRS = "{ path=/bin/false ; argv[]=/bin/false ; code=exited ; status=1 }"
SHOWN = "LoadState=loaded\nActiveState=inactive\nResult=success\nConditionResult=no\nConditionTimestampMonotonic=0\n"
LOOKED = SHOWN.replace("Monotonic=0", "Monotonic=7")


def ended(*conditions: str) -> str:
    return SHOWN.replace("success", "exec-condition") + "".join(f"ExecCondition={each}\n" for each in conditions)


@pytest.mark.parametrize(
    ("shown", "why"),
    [
        ("", None),
        (SHOWN, None),
        (LOOKED, Skip.CONDITION),
        (LOOKED + "Job=12\n", None),
        (LOOKED + "Job=0\n", Skip.CONDITION),
        (LOOKED.replace("=no", "=yes"), None),
        (LOOKED.replace("inactive", "activating"), None),
        (SHOWN.replace("=loaded", "=masked"), Skip.MASKED),
        (ended(f"{OURS}3 }}"), Skip.FORMER_CHAIN),
        (ended(f"{OURS}3 }}", THEIRS.replace("status=1", "status=0")), Skip.FORMER_CHAIN),
        (ended(f"{OURS}0 }}", THEIRS), Skip.COMMAND),
        (ended(THEIRS), Skip.COMMAND),
        (ended(OURS.replace("exited", "(null)") + "0/0 }"), Skip.COMMAND),
        (ended(f"{OURS}203 }}"), None),
        (ended(f"{OURS}2 }}"), None),
    ],
)
def test_it_is_skipped_by_a_condition_that_was_answered(shown: str, why: Skip | None) -> None:
    """One that could not be run, as where there is no memory, has no answer: nodenetd is started again.

    After a reload systemd has forgotten the exit code, and it is only known that a command said so.
    """
    assert why_skipped(shown) is why


def test_each_reason_has_a_remedy() -> None:
    assert [skip.remedy for skip in Skip] == [
        "Run `nodenetctl adopt` to let nodenetd do that",
        "Run `systemctl status nodenetd`",
        "Run `systemctl status nodenetd`",
        "Run `systemctl unmask nodenetd; systemctl unmask --runtime nodenetd; systemctl start nodenetd`",
    ]
