"""The section about day one: what it shows, and that a small cluster can be measured."""

from __future__ import annotations

from bench.day_one import HOSTS, Measured, measure, section
from bench.figures import DAY_ONE


def test_the_section_says_whether_the_aim_is_met() -> None:
    text = section([Measured(500, 1.5, 2.0, 100), Measured(max(HOSTS), 61, 80, 500)])
    assert text.startswith(DAY_ONE)
    assert "| 500 " in text
    assert "| 4.0 ms " in text
    assert "| missed" in text
    assert "| met" in section([Measured(max(HOSTS), 59, 80, 500)])


def test_a_small_cluster_is_measured() -> None:
    found = measure(20)
    assert found.hosts == 20
    assert found.processor > 0
    assert found.megabytes > 10
