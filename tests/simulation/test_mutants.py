"""Would the simulation find what the first review found? Each fault, put back, violates a property in its kept run."""

from __future__ import annotations

from pathlib import Path

import pytest

from simulation.mutants import MUTANT, put_back
from simulation.result import run
from simulation.scenario import from_json

KEPT = sorted((Path(__file__).parents[2] / "fixtures" / "seeds" / "put-back").glob("*.json"))


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_a_fault_of_the_first_review_is_found(kept: Path) -> None:
    """`python tools/simulate.py --put-back ENTRY` looks for a run that finds it; docs/simulation.md has the table."""
    scenario, why = from_json(kept.read_text())
    assert run(scenario).text == ""
    with put_back(MUTANT[kept.stem]):
        assert run(scenario).rule == why.partition(":")[0]
