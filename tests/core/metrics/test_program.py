"""What every program counts."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metrics_text import parsed
from nodenet.core.messages import Message
from nodenet.core.metrics import COUNTED, FAMILIES, Program, ProgramMetrics, text

PACKAGE = Path(__file__).parents[3] / "daemon/nodenet"
ELSEWHERE = {Program.NODENETD: ("hosted/", "cni/", "cluster_operator/", "cli/"), Program.HOSTED: ("cni/", "cli/")}
"""Folders whose code a program does not run."""


def test_events_are_counted_from_zero() -> None:
    """A monitoring system sees the first event only if there was a zero before."""
    metrics, changes = ProgramMetrics(Program.NODENETD, "1.2.3", 1.5), list[str]()
    metrics.changed = lambda: changes.append("changed")
    metrics.seen(Message.ROLLED_BACK)
    metrics.seen(Message.STARTED)
    found = parsed(text(metrics.lines()), FAMILIES)
    assert {one["event"]: one.value for one in found if one.family == "nodenet_events_total"} == {
        event.name.lower(): float(event is Message.ROLLED_BACK) for event in COUNTED[Program.NODENETD]
    }
    assert changes == ["changed"]


def test_version_and_end_are_shown() -> None:
    metrics = ProgramMetrics(Program.IPAM, "1.2.3", 1.5)
    metrics.running = False
    lines = list(metrics.lines())
    assert 'nodenet_info{program="nodenet-ipam",version="1.2.3"} 1' in lines
    assert 'nodenet_running{program="nodenet-ipam"} 0' in lines
    assert 'nodenet_start_time_seconds{program="nodenet-ipam"} 1.5' in lines


@pytest.mark.parametrize("program", Program)
def test_every_counted_event_is_one_that_the_program_logs(program: Program) -> None:
    """An event that nothing logs would be a line of zeros for ever."""
    own = [path for path in PACKAGE.rglob("*.py") if path.name not in ("messages.py", "program.py")]
    places = [path.relative_to(PACKAGE).as_posix() for path in own]
    sources = "".join(
        path.read_text(encoding="utf-8")
        for path, place in zip(own, places, strict=True)
        if not place.startswith(ELSEWHERE.get(program, ()))
    )
    logged = set(re.findall(r"\bMessage\.([A-Z_]+)\b", sources))
    assert [event.name for event in COUNTED[program] if event.name not in logged] == []
    assert len(set(COUNTED[program])) == len(COUNTED[program])
