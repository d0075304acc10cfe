"""Would the simulation find what the first review found? Each fault, put back, violates a property in its kept run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from nodenet.stages.br_ex.verify import Verifier
from simulation.mutants import MUTANT, Mutant, put_back
from simulation.nodes import ORDINARY
from simulation.result import run
from simulation.scenario import from_json
from simulation.search import scenario_of

KEPT = sorted((Path(__file__).parents[2] / "fixtures" / "seeds" / "put-back").glob("*.json"))


@pytest.mark.parametrize("kept", KEPT, ids=lambda path: path.stem)
def test_a_fault_of_the_first_review_is_found(kept: Path) -> None:
    """`python tools/simulate.py --put-back ENTRY` looks for a run that finds it."""
    scenario, why = from_json(kept.read_text())
    assert run(scenario).text == ""
    with put_back(MUTANT[kept.stem]):
        assert run(scenario).rule == why.partition(":")[0]


def test_settings_that_do_not_move_to_br_ex_are_found() -> None:
    async def not_set(*_: object) -> None:
        return None

    quiet = replace(scenario_of(0), node=ORDINARY["br-ex"], faults=())
    assert run(quiet).text == ""
    with put_back(Mutant("", "the settings of the uplink do not move", ((Verifier, "until_set", not_set),))):
        assert run(quiet).text.startswith("P8: health ok, and net/ipv4/conf/forwarding of br-ex is 0")
