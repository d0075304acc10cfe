"""How a metric is written."""

from __future__ import annotations

import pytest

from nodenet.core.metrics.family import Family, Kind, text

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
