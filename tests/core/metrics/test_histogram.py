from __future__ import annotations

from nodenet.core.metrics.family import BOUNDS, Family, Histogram, Kind

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
