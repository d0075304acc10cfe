"""`nodenetctl rollback`: what it asks nodenetd, and how a refusal is reported."""

from __future__ import annotations

from cli.test_ask import printed
from cli.test_reselect import daemon
from edge.private_bus import PrivateBus, private_bus
from nodenet.core.errors import StageFailed

__all__ = ["private_bus"]


async def test_the_trial_is_rolled_back(private_bus: PrivateBus) -> None:
    async with daemon(private_bus.address) as calls:
        answer = await printed(private_bus.address, "rollback")
    assert answer == (0, "rolled back: the network is as it was before the trial\n", "")
    assert calls == [("RollBackTrial", [])]


async def test_a_refusal_is_printed_with_its_exit_code(private_bus: PrivateBus) -> None:
    async with daemon(private_bus.address, refuses=True):
        code, out, _ = await printed(private_bus.address, "rollback")
    assert (code, out) == (StageFailed.exit_code, "")
