"""`nodenetctl confirm`: what it asks nodenetd, and how a refusal is reported."""

from __future__ import annotations

from cli.test_ask import printed
from cli.test_reselect import daemon
from edge.private_bus import PrivateBus, private_bus
from nodenet.core.errors import StageFailed

__all__ = ["private_bus"]


async def test_the_trial_is_confirmed(private_bus: PrivateBus) -> None:
    """On this machine nodenetd has not reported where the file is."""
    async with daemon(private_bus.address) as calls:
        code, out, said = await printed(private_bus.address, "confirm")
    assert (code, said) == (0, "")
    assert out.startswith("confirmed: ")
    assert calls == [("ConfirmTrial", [])]


async def test_a_refusal_is_printed_with_its_exit_code(private_bus: PrivateBus) -> None:
    async with daemon(private_bus.address, refuses=True):
        code, out, said = await printed(private_bus.address, "confirm")
    assert (code, out) == (StageFailed.exit_code, "")
    assert said.startswith("nodenetctl: no address is eligible")
