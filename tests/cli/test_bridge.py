"""`nodenetctl bridge`: what it asks nodenetd, when the stage has ended, and what is printed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from cli.test_ask import nodenetctl
from cli.test_reselect import daemon
from edge.private_bus import PrivateBus, private_bus
from nodenet.cli.bridge import has_run_since, show
from nodenet.core.errors import StageFailed
from status_cases import GOOD

__all__ = ["private_bus"]


def with_stage(**fields: Any) -> dict[str, Any]:
    """Return a status document in which configure-ovs has other *fields*; it ran from 1.0 to 2.5."""
    stages = [stage | fields if stage["name"] == "configure-ovs" else stage for stage in GOOD["stages"]]
    return GOOD | {"stages": stages}


async def test_a_refusal_is_printed_with_its_exit_code(private_bus: PrivateBus) -> None:
    async with daemon(private_bus.address, refuses=True) as calls:
        process = await nodenetctl(private_bus.address, "bridge", "make")
        async with asyncio.timeout(60):
            out, said = await process.communicate()
    assert (process.returncode, out) == (StageFailed.exit_code, b"")
    assert said.decode().startswith("nodenetctl: no address is eligible")
    assert calls == [("RunStage", ["configure-ovs"])]


async def test_a_removal_without_a_status_is_no_silent_failure(private_bus: PrivateBus) -> None:
    """On this machine nodenetd has not reported."""
    async with daemon(private_bus.address) as calls:
        process = await nodenetctl(private_bus.address, "bridge", "remove")
        async with asyncio.timeout(60):
            out, said = await process.communicate()
    assert (process.returncode, out.decode(), said.decode()) == (
        1,
        "",
        "nodenetctl: nodenetd has not reported in this boot. See `systemctl status nodenetd`.\n",
    )
    assert calls == [("RemoveBridge", [])]


@pytest.mark.parametrize(
    ("before", "document", "over"),
    [
        (GOOD, GOOD, False),  # the run from before: nodenetd has not begun yet
        (GOOD, with_stage(started=None, ended=None, status="pending"), False),
        (GOOD, with_stage(started=9.0, ended=None, status="running"), False),
        (GOOD, with_stage(started=9.0, ended=None, status="waiting"), False),
        (GOOD, with_stage(started=9.0, ended=9.5, status="done"), True),
        (GOOD, with_stage(started=9.0, ended=9.5, status="failed"), True),
        (None, GOOD, True),
    ],
    ids=["before", "pending", "running", "waiting", "done", "failed", "nothing known before"],
)
def test_the_stage_has_ended_once_it_began_again(
    before: dict[str, Any] | None, document: dict[str, Any], *, over: bool
) -> None:
    """RunStage is answered before the stage begins: its last status is not the answer."""
    assert has_run_since(before, document) is over


@pytest.mark.parametrize(
    ("document", "code", "out", "err"),
    [
        (with_stage(detail="br-ex over eth0"), 0, "configure-ovs: done: br-ex over eth0\n", ""),
        (with_stage(status="skipped", detail="no br-ex"), 0, "configure-ovs: skipped: no br-ex\n", ""),
        (with_stage(status="failed", detail="a \x1b[2J cause"), 1, "", "configure-ovs: failed: a ?[2J cause\n"),
        (with_stage(status="waiting", detail="ovsdb"), 1, "", "configure-ovs: waiting: ovsdb\n"),
    ],
    ids=["done", "skipped", "failed", "waiting"],
)
def test_the_stage_is_printed_and_its_failure_is_exit_code_1(
    capsys: pytest.CaptureFixture[str], document: dict[str, Any], code: int, out: str, err: str
) -> None:
    assert show(document) == code
    assert capsys.readouterr() == (out, err)
