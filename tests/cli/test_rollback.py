"""`nodenetctl rollback`: what it asks nodenetd, and how a refusal is reported."""

from __future__ import annotations

import pytest

from cli.test_ask import Reports, printed
from cli.test_reselect import daemon
from edge.private_bus import PrivateBus, private_bus
from nodenet.core.errors import StageFailed
from nodenet.core.settings.parse import KEYS, Refused
from nodenet.core.trial.trial import ANSWER_SECONDS, APPLY_IT, not_applied
from nodenet.stages.apply.probes import FORWARD_SECONDS

__all__ = ["private_bus"]


ROLLED_BACK = {"state": "rolled-back", "cause": "an administrator rolled it back"}
DONE = "rolled back: the network is as it was before the trial\n"


@pytest.mark.parametrize(
    ("reports", "said"),
    [
        (Reports(ROLLED_BACK), ""),
        (Reports(ROLLED_BACK | {"edited": "worker-0.yml"}), f"nodenetctl: {not_applied('worker-0.yml')}. {APPLY_IT}\n"),
        (
            Reports(ROLLED_BACK, first={"state": "applying"}),
            "nodenetctl: the file is still being applied: it is rolled back once that is over, and its probes are\n",
        ),
    ],
    ids=["holding", "edited", "applying"],
)
async def test_the_trial_is_rolled_back(private_bus: PrivateBus, reports: Reports, said: str) -> None:
    async with daemon(private_bus.address, documents=reports) as calls:
        assert await printed(private_bus.address, "rollback") == (0, DONE, said)
    assert calls == [("GetStatus", []), ("RollBackTrial", ["d" * 64]), ("GetStatus", [])]


@pytest.mark.parametrize(("state", "asked"), [("holding", "d" * 64), ("applying", "d" * 64), ("rolled-back", "")])
async def test_only_the_trial_that_runs_now_is_ended(private_bus: PrivateBus, state: str, asked: str) -> None:
    """It may end meanwhile, and another one begin. Where none runs, nodenetd says so."""
    reports = Reports(ROLLED_BACK, first={"state": state, "digest": "d" * 64})
    async with daemon(private_bus.address, documents=reports) as calls:
        await printed(private_bus.address, "rollback")
    assert calls[1] == ("RollBackTrial", [asked])


async def test_a_refusal_is_printed_with_its_exit_code(private_bus: PrivateBus) -> None:
    async with daemon(private_bus.address, refuses=True, documents=Reports()):
        code, out, _ = await printed(private_bus.address, "rollback")
    assert (code, out) == (StageFailed.exit_code, "")


def test_the_answer_is_waited_for_as_long_as_an_apply_its_probes_and_the_rollback_may_take() -> None:
    """NetworkManager may take 90 s for the rollback."""
    assert KEYS["apply_timeout"](3600) == 3600
    with pytest.raises(Refused):
        KEYS["apply_timeout"](3601)
    assert ANSWER_SECONDS > 3600 + 2 * FORWARD_SECONDS + 90
