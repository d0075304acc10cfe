"""The table says what was measured, and hides no missed aim."""

from __future__ import annotations

from bench.figures import Figure, Report, Unit, import_costs, markdown, milliseconds, table

TRACE = """import time: self [us] | cumulative | imported package
import time:       100 |        100 |   asyncio
import time:      2000 |       2100 | dbus_next.aio
import time:       500 |        500 |   dbus_next
import time:        30 |         30 | json
"""


def test_import_costs_are_summed_by_package() -> None:
    """Each module counts once, without what it imported."""
    assert import_costs(TRACE) == {"dbus_next": 2.5, "standard library": 0.13}
    assert list(import_costs(TRACE)) == ["dbus_next", "standard library"]


def test_a_median_is_told_in_milliseconds() -> None:
    assert milliseconds([0.001, 0.003, 0.5]) == 3


def test_columns_line_up() -> None:
    assert table(("part", "ms"), [("a long name", "1")]) == (
        "| part        | ms |\n|-------------|----|\n| a long name | 1  |\n"
    )


def test_a_missed_aim_is_told_with_its_reason() -> None:
    """The verdict stands in the table, the reason below it."""
    good = Figure("size", 39.94, Unit.MB, aim=40)
    bad = Figure("boot", 251, Unit.MS, aim=250, why_missed="imports take 200 ms")
    page = markdown(Report("2 processors", [good, bad], [("bus", 3.04)], [("nodenet", 1)]))
    assert "| size   | 39.9 MB  | ≤ 40.0 MB | met    |" in page
    assert "| boot   | 251 ms   | ≤ 250 ms  | missed |" in page
    assert "## Missed aims\n\n- boot: imports take 200 ms\n" in page
    assert "| bus  | 3.0 |" in page


def test_no_aim_is_missed_where_none_is_set() -> None:
    page = markdown(Report("", [Figure("ratio", 1.2, Unit.RATIO, aim=1.2), Figure("floor", 90, Unit.MS)], []))
    assert "Missed" not in page
