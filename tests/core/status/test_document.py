"""The status document of a boot, and of a daemon that exits."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from nodenet.core.boot.outcome import Done, Failed, Problem
from nodenet.core.boot.stages import new_boot
from nodenet.core.messages import Message
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus, document, ended, has_vanished, last_known
from nodenet.core.status.text import lines
from status_cases import FACTS, GOOD, PROBLEM, boot


def test_what_an_earlier_daemon_of_this_boot_published_stays_in_sight() -> None:
    """Kubelet runs on it; the stage in which the daemon ended has failed."""
    before = GOOD | {"boot_id": "b"}
    after = ended(before, "b", PROBLEM)
    assert (after["health"], after["ready"], after["hostname"]) == ("failed", True, "worker-0")
    assert after["stages"] == before["stages"]
    running = [stage | {"status": "running"} if stage["name"] == "nmstate" else stage for stage in GOOD["stages"]]
    after = ended(before | {"stages": running}, "b", PROBLEM)
    assert after["last_error"]["stage"] == "nmstate"
    assert after["stages"][1]["status"] == "failed"
    assert not ended(before, "another boot", PROBLEM)["ready"]


@pytest.mark.parametrize(
    "before",
    ["text", ["b"], {"boot_id": "b"}, {"boot_id": "b", "stages": [1]}, {"boot_id": "b", "stages": 1}],
    ids=str,
)
def test_a_state_file_that_is_no_document_counts_as_none(before: Any) -> None:
    """The daemon that ends leaves word all the same."""
    assert ended(before, "b", PROBLEM) == ended(None, "b", PROBLEM)


# The status document of a daemon that is not running.


READY = document(BootStatus(new_boot({}, degrade=True), boot_id="b", ready=True)) | {"health": "ok"}
SETTINGS = Problem(Message.SETTINGS_INVALID, "unknown key 'platfrom'", "Edit nodenet.toml")


def test_it_is_failed_and_not_ready_with_the_reason_first() -> None:
    """The rest is what was known last (R56)."""
    known = last_known(READY, 12.5)
    changed = {key for key in known if known[key] != READY.get(key)}
    assert changed == {"health", "ready", "last_error", "problems", "running"}
    assert (known["health"], known["ready"], known["running"]) == ("failed", False, {"now": False, "age": 12.5})
    assert known["last_error"] == known["problems"][0]
    assert known["last_error"]["cause"] == "nodenetd is not running, so nothing of this may be true any more"
    json.dumps(known)


def test_the_error_that_ended_the_daemon_stays_first() -> None:
    """It says what to do; that the daemon is not running follows from it (R56)."""
    known = last_known(ended(None, "b", SETTINGS), 3.0)
    assert [problem["cause"] for problem in known["problems"]] == [
        "unknown key 'platfrom'",
        "nodenetd is not running, so nothing of this may be true any more",
    ]
    assert known["last_error"]["remedy"] == "Edit nodenet.toml"
    assert next(lines(known, 100.0)) == "failed (kubelet is held back)"
    assert not has_vanished(known)
    assert has_vanished(last_known(READY, 3.0))
    assert not has_vanished(READY)


@pytest.mark.parametrize(
    ("age", "said"),
    [
        (0.4, "nodenetd is not running; this status is 0 s old (kubelet is held back)"),
        (59.9, "nodenetd is not running; this status is 59 s old (kubelet is held back)"),
        (150.0, "nodenetd is not running; this status is 2 min 30 s old (kubelet is held back)"),
        (7500.0, "nodenetd is not running; this status is 2 h 5 min old (kubelet is held back)"),
        (200000.0, "nodenetd is not running; this status is 2 d 7 h old (kubelet is held back)"),
        (None, "nodenetd is not running (kubelet is held back)"),
    ],
)
def test_the_first_line_says_how_old_it_is(age: float | None, said: str) -> None:
    """Unless the clock was set meanwhile (R56)."""
    assert next(lines(last_known(READY, age), 100.0)) == said


def test_a_network_is_compared_only_while_its_stage_is_over_and_has_not_failed() -> None:
    """The facts of a stage that waits or runs again are those of before."""
    compared = replace(FACTS, compared=30.0)
    assert boot(Done("applied", compared, Message.NETWORK_APPLIED))["compared"] == 30.0
    assert boot(Failed(PROBLEM, compared))["compared"] is None
    assert GOOD["compared"] is None
    begun = new_boot({}, degrade=True).begun(StageName.NMSTATE, 1.0)
    assert document(BootStatus(begun, compared))["compared"] is None
