"""`nodenetctl confirm`: what it asks nodenetd, and how a refusal is reported."""

from __future__ import annotations

import pytest

from cli.test_ask import printed
from cli.test_main import nodenetctl
from cli.test_reselect import daemon
from cli.test_try import TRIAL
from edge.private_bus import PrivateBus, private_bus
from nodenet.cli.confirm import agreed
from nodenet.core.errors import StageFailed, UsageInvalid

__all__ = ["private_bus"]


async def test_the_trial_is_confirmed(private_bus: PrivateBus) -> None:
    """On this machine nodenetd has not reported where the file is."""
    async with daemon(private_bus.address) as calls:
        code, out, said = await printed(private_bus.address, "confirm")
    assert (code, said) == (0, "")
    assert out.startswith("confirmed: ")
    assert calls == [("ConfirmTrial", [""])]


async def test_a_refusal_is_printed_with_its_exit_code(private_bus: PrivateBus) -> None:
    async with daemon(private_bus.address, refuses=True):
        code, out, said = await printed(private_bus.address, "confirm")
    assert (code, out) == (StageFailed.exit_code, "")
    assert said.startswith("nodenetctl: no address is eligible")


def test_what_the_status_shows_is_confirmed_and_nothing_else() -> None:
    """Another session may have started another trial meanwhile."""
    assert agreed(TRIAL, "") == agreed(TRIAL, "d" * 12) == "d" * 64
    assert agreed(TRIAL | {"state": "rolled-back"}, "") == agreed({}, "") == ""
    with pytest.raises(UsageInvalid) as refused:
        agreed(TRIAL, "abcdef")
    assert str(refused.value) == (
        "new.yml (dddddddddddd) is on trial now, and not abcdef: that trial has ended. "
        "Look at `nodenetctl status`, and confirm again if the present one is right"
    )
    for found in ({}, TRIAL | {"state": "applying"}):
        with pytest.raises(UsageInvalid, match="no trial of a node file is running"):
            agreed(found, "dddddd")


@pytest.mark.parametrize("digits", ["", "abcde", "abcdeg", "a" * 65])
def test_a_digest_that_is_none_is_wrong_usage(digits: str) -> None:
    done = nodenetctl("confirm", f"--digest={digits}")
    assert (done.returncode, done.stdout) == (64, "")
    assert "expected 6 to 64 hexadecimal digits" in done.stderr
