"""How a metric is written."""

from __future__ import annotations

import pytest

from nodenet.core.metrics import BOUNDS, Family, Histogram, Kind, text

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
