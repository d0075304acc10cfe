"""Each row of the tables of networks and neighbours names a test, and that test has a case for the row."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from make_faults import names_of_tests

ROOT = Path(__file__).parents[1]
ROWS = tomllib.loads((ROOT / "docs/dev/networks.toml").read_text())
KNOWN = names_of_tests()
SOURCES = {
    "test_networks_of_data_centres_are_taken": ROOT / "tests/core/probes/test_cut_off.py",
    "test_a_fault_of_the_first_review_is_found": ROOT / "tests/simulation/mutants.py",
}
"""Test with cases → where they are."""


@pytest.mark.parametrize("row", [*ROWS["network"], *ROWS["neighbour"]], ids=lambda row: row.get("is") or row["does"])
def test_each_row_has_a_test_that_exists(row: dict[str, str]) -> None:
    """A name that two tests have does not say which one is meant."""
    assert KNOWN[row["test"]] == 1
    if row["test"] in SOURCES:
        assert f'"{row["case"]}"' in SOURCES[row["test"]].read_text()


def test_no_network_and_no_neighbour_has_two_rows() -> None:
    names = [row.get("is") or row["does"] for row in [*ROWS["network"], *ROWS["neighbour"]]]
    assert len(names) == len(set(names)) >= 30
