"""`nodenetctl confirm`: what it asks nodenetd, and how a refusal is reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from cli.test_ask import TRIAL, Reports, printed
from cli.test_main import nodenetctl
from cli.test_reselect import daemon
from edge.private_bus import PrivateBus, private_bus
from nodenet.cli.confirm import agreed
from nodenet.core.errors import StageFailed, UsageInvalid

__all__ = ["private_bus"]


SAYS = "confirming new.yml (dddddddddddd); root on pts/0 (process 7) started the trial\n"


@pytest.mark.parametrize(
    ("after", "out"),
    [
        ({"installed": "/etc/w.yml"}, "confirmed: new.yml is installed as /etc/w.yml\n"),
        ({"digest": "e" * 64, "node_file": "x.yml", "installed": "/etc/x.yml"}, "confirmed: new.yml is installed\n"),
    ],
)
async def test_the_trial_that_nodenetd_reports_is_confirmed(
    private_bus: PrivateBus, after: dict[str, str], out: str
) -> None:
    """Where another one has begun since, what is printed is not about that one."""
    async with daemon(private_bus.address, documents=Reports(after)) as calls:
        assert await printed(private_bus.address, "confirm") == (0, out, SAYS)
    assert calls == [("GetStatus", []), ("ConfirmTrial", ["d" * 64]), ("GetStatus", [])]


@pytest.mark.parametrize("trial", [None, TRIAL | {"state": "confirmed"}])
async def test_without_a_trial_nothing_is_confirmed(private_bus: PrivateBus, trial: dict[str, Any] | None) -> None:
    """A trial that begins a moment later is another one, and the administrator has not looked at it."""
    async with daemon(private_bus.address, documents={"GetStatus": json.dumps({"trial": trial})}) as calls:
        code, out, said = await printed(private_bus.address, "confirm")
    assert (code, out) == (UsageInvalid.exit_code, "")
    assert said.startswith("nodenetctl: no trial of a node file is running")
    assert calls == [("GetStatus", [])]


async def test_a_refusal_is_printed_with_its_exit_code(private_bus: PrivateBus) -> None:
    async with daemon(private_bus.address, refuses=True, documents=Reports()):
        code, out, said = await printed(private_bus.address, "confirm")
    assert (code, out) == (StageFailed.exit_code, "")
    assert said.startswith(f"{SAYS}nodenetctl: no address is eligible")


def test_what_the_status_shows_is_confirmed_and_nothing_else() -> None:
    """Another session may have started another trial meanwhile."""
    assert agreed(TRIAL, "") == agreed(TRIAL, "d" * 12) == "d" * 64
    with pytest.raises(UsageInvalid) as refused:
        agreed(TRIAL, "abcdef")
    assert str(refused.value) == (
        "new.yml (dddddddddddd) is on trial now, and not abcdef: that trial has ended. "
        "Look at `nodenetctl status`, and confirm again if the present one is right"
    )
    for found in ({}, TRIAL | {"state": "confirmed"}):
        for wanted in ("", "dddddd"):
            with pytest.raises(UsageInvalid, match="no trial of a node file is running"):
                agreed(found, wanted)


@pytest.mark.parametrize("digits", ["", "abcde", "abcdeg", "a" * 65])
def test_a_digest_that_is_none_is_wrong_usage(digits: str) -> None:
    done = nodenetctl("confirm", f"--digest={digits}")
    assert (done.returncode, done.stdout) == (64, "")
    assert "expected 6 to 64 hexadecimal digits" in done.stderr
