"""The page of metrics has every metric that there is, and no other one."""

from __future__ import annotations

import re

from make_metrics import FAMILIES, PAGE, made


def test_the_page_is_the_list() -> None:
    """`python tools/make_metrics.py` writes it."""
    page = PAGE.read_text(encoding="utf-8")
    assert made(page) == page
    assert all(page.count(f"<!-- {name}: made by") == 1 for name in (*FAMILIES, "events"))


def test_names_are_those_that_prometheus_asks_for() -> None:
    """https://prometheus.io/docs/practices/naming/: a prefix, base units, `_total` for counters only."""
    families = [family for some in FAMILIES.values() for family in some]
    assert len({family.name for family in families}) == len(families)
    for family in families:
        assert re.fullmatch(r"nodenet(_[a-z]+)+", family.name)
        assert (family.kind == "counter") == family.name.endswith("_total"), family.name
        assert family.summary.endswith("."), family.name
        assert "|" not in family.summary, family.name
