"""The status document of a boot, and of a daemon that exits."""

from __future__ import annotations

from typing import Any

import pytest

from nodenet.core.status.document import ended
from status_cases import GOOD, PROBLEM


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
