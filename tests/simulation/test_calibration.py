"""The laws of the world are those of booted nodes: what the lab contradicts is a fault of the world."""

from __future__ import annotations

import json

import pytest

from simulation.calibration import CASES, STORIES, simulated


@pytest.mark.parametrize("name", sorted(path.stem for path in STORIES.glob("*.json")))
def test_a_simulated_node_tells_the_story_of_a_booted_one(name: str) -> None:
    """`python tools/calibrate.py NAME` boots one and writes its story."""
    assert simulated(CASES[name]) == json.loads((STORIES / f"{name}.json").read_text())
