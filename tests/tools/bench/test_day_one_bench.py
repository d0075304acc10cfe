"""The section about day one: what it shows, and that a small cluster can be measured."""

from __future__ import annotations

from bench.day_one import HOSTS, Measured, measure, measure_table, section
from bench.figures import DAY_ONE

BY_FILES = Measured(max(HOSTS), 50, 60, 100)


def test_the_section_says_whether_the_aim_is_met() -> None:
    text = section([Measured(500, 1.5, 2.0, 100), Measured(max(HOSTS), 61, 80, 500)], BY_FILES, BY_FILES)
    assert text.startswith(DAY_ONE)
    assert "| 500 " in text
    assert "| 4.0 ms " in text
    assert "| missed" in text
    assert "takes 1.00 times the processor time of a host with a file of its own (≤ 1.2: met)" in text
    fast = [Measured(max(HOSTS), 59, 80, 500)]
    assert "| missed" not in section(fast, BY_FILES, BY_FILES)
    slow = section(fast, Measured(max(HOSTS), 61, 90, 100), BY_FILES)
    assert "| missed" in slow
    assert "takes 1.50 times" in slow
    assert "(≤ 1.2: missed)" in slow


def test_a_small_cluster_with_a_table_is_measured() -> None:
    """A check that finds something wrong raises."""
    by_table, by_files = measure_table(20)
    assert by_table.hosts == by_files.hosts == 20
    assert min(by_table.processor, by_files.processor) > 0


def test_a_small_cluster_is_measured() -> None:
    found = measure(20)
    assert found.hosts == 20
    assert found.processor > 0
    assert found.megabytes > 10
