"""What is a metric of Prometheus, and which metrics has every program of ours?"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metrics_text import parsed
from nodenet.core.messages import Message
from nodenet.core.metrics import BOUNDS, COUNTED, FAMILIES, Family, Histogram, Kind, Program, ProgramMetrics, text

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
    others = ("core/messages.py", "core/metrics.py", *ELSEWHERE.get(program, ()))
    own = [path for path in PACKAGE.rglob("*.py") if not path.relative_to(PACKAGE).as_posix().startswith(others)]
    sources = "".join(path.read_text(encoding="utf-8") for path in own)
    logged = set(re.findall(r"\bMessage\.([A-Z_]+)\b", sources))
    assert [event.name for event in COUNTED[program] if event.name not in logged] == []
    assert len(set(COUNTED[program])) == len(COUNTED[program])


PLAIN = Family("nodenet_ready", Kind.GAUGE, "1 when kubelet may run.")
LABELLED = Family("nodenet_x_total", Kind.COUNTER, "Two\nlines and a \\.", ("a", "b"))


def test_a_value_without_labels() -> None:
    assert text(PLAIN.lines([(True, ())])) == (
        "# HELP nodenet_ready 1 when kubelet may run.\n# TYPE nodenet_ready gauge\nnodenet_ready 1\n"
    )


def test_a_family_without_samples_is_left_out() -> None:
    assert text(LABELLED.lines([])) == ""


def test_nothing_in_a_label_or_a_summary_breaks_the_format() -> None:
    assert list(LABELLED.lines([(0.25, ('"', "\\\n"))])) == [
        "# HELP nodenet_x_total Two\\nlines and a \\\\.",
        "# TYPE nodenet_x_total counter",
        'nodenet_x_total{a="\\"",b="\\\\\\n"} 0.25',
    ]


def test_each_label_has_one_value() -> None:
    with pytest.raises(ValueError, match="argument 2 is shorter"):
        LABELLED.sample(1, "only one")


def test_one_choice_is_1_and_the_others_are_0() -> None:
    assert list(LABELLED.one_of("y", ("x", "y"), "l")) == [(0.0, ("l", "x")), (1.0, ("l", "y"))]


DURATION = Family("x_seconds", Kind.HISTOGRAM, "How long something takes.", ("verb",))


def test_each_bucket_counts_what_is_not_longer() -> None:
    histogram = Histogram()
    for seconds in (0.0004, 0.001, 0.3, 99.0):
        histogram.observe(seconds)
    lines = list(histogram.lines(DURATION, "ADD"))
    found = dict(line.rsplit(" ", 1) for line in lines)
    assert [found[f'x_seconds_bucket{{verb="ADD",le="{bound}"}}'] for bound in BOUNDS] == ["2"] * 7 + ["2"] + ["3"] * 6
    assert lines[-3:] == [
        'x_seconds_bucket{verb="ADD",le="+Inf"} 4',
        'x_seconds_sum{verb="ADD"} 99.301400',
        'x_seconds_count{verb="ADD"} 4',
    ]


def test_without_a_duration_everything_is_zero() -> None:
    assert {line.rsplit(" ", 1)[1] for line in Histogram().lines(DURATION, "a")} == {"0", "0.000000"}


def test_the_bounds_ascend() -> None:
    assert list(BOUNDS) == sorted(set(BOUNDS))
