"""The section on changes of DNS says whether a burst was one write."""

from __future__ import annotations

import pytest

from bench.figures import LARGE_HOSTS, LOOK_UPS, kept_section, with_section
from bench.lookups import Measured, section


@pytest.mark.parametrize(("writes", "verdict"), [(1, "met"), (0, "missed"), (7, "missed")])
def test_one_write_for_a_burst_is_the_aim(writes: int, verdict: str) -> None:
    """None at all would mean that the change was lost."""
    assert Measured(0.001, 1.0, 50, writes).rows[-1][-1] == verdict


def test_both_sections_stand_on_one_page() -> None:
    """Each survives the writing of the other."""
    page = with_section("# Benchmarks\n", section(Measured(0.001, 1.0, 50, 1)))
    page = with_section(page, LARGE_HOSTS + "\nhosts\n")
    assert all(kept_section(page, heading) for heading in (LARGE_HOSTS, LOOK_UPS))
