"""The section on large hosts and the rest of the page are written without each other."""

from __future__ import annotations

import pytest

from bench.figures import LARGE_HOSTS, kept_section, with_section
from bench.selection import KINDS, Measured, pure, section

SECTION = section([Measured("links", 4_000, 100, 50, 300)], [("select", "9 ms", "", "")])


@pytest.mark.parametrize("page", ["# Benchmarks\n", "# Benchmarks\n\n## Other\n\ntext\n"])
def test_a_section_is_added_kept_and_replaced(page: str) -> None:
    once = with_section(page, SECTION)
    assert once.startswith(page.rstrip())
    assert kept_section(once, LARGE_HOSTS).strip() == SECTION.strip()
    assert with_section(once, SECTION) == once
    assert kept_section(page, LARGE_HOSTS) == ""


def test_what_follows_the_section_stays() -> None:
    page = f"# Benchmarks\n\n{LARGE_HOSTS}\nold\n\n## Other\n\ntext\n"
    again = with_section(page, SECTION)
    assert "old" not in again
    assert again.endswith("\n\n## Other\n\ntext\n")


def test_the_row_has_both_parts_and_the_ratio() -> None:
    row = Measured("links", 4_000, 100, 50, 300).cells
    assert row == ("4 000 links", "100.0", "50.0", "150.0", "300.0", "0.50", "met")
    assert Measured("links", 4_000, 900, 50, 300).cells[-1] == "missed"
    assert Measured("links", 10, 900, 50, 300).cells[-1] == ""


@pytest.mark.parametrize("kind", KINDS)
def test_hosts_grow_by_distinct_lines(kind: str) -> None:
    """A batch that says something twice fails."""
    lines, sizes = KINDS[kind]
    last = min(sizes[-1], 10_000)
    made = [*lines(0, sizes[0]), *lines(sizes[0], last)]
    assert len(set(made)) == len(made)
    assert made == list(lines(0, last))


def test_the_function_alone_and_the_command_are_measured() -> None:
    told = [row[0].split(",")[0] for row in pure(100)]
    assert told == ["select", "the same with a verdict for each", "nodenetctl explain node-ip --snapshot"]
