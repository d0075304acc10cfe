"""What a poller and a pinger saw becomes seconds; what is past the window is left out."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(TESTS / "lab")]

from bench import bridge  # noqa: E402 -- found there
from harness import LabError  # noqa: E402


def seen(**gaps: list[list[float]]) -> dict[str, object]:
    return {"route": [], "address": [], "workers": 1, **gaps}


def test_the_node_is_back_when_it_has_its_address_and_is_heard() -> None:
    found = bridge.seen_run(
        seen(route=[[10.2, 10.3]], address=[[10.2, 10.4]]), [9.98, 10.0, 10.2, 10.5, 10.52], bridge.Window(10.0, 11.2)
    )
    assert (round(found.route, 3), round(found.address, 3), round(found.silent, 3)) == (0.1, 0.2, 0.3)
    assert (round(found.back, 3), round(found.total, 3), found.workers) == (0.5, 1.2, 1)


def test_a_rollback_afterwards_does_not_count() -> None:
    found = bridge.seen_run(
        seen(address=[[10.2, 10.3], [20.0, 22.0]]), [10.1, 10.3, 20.0, 22.0], bridge.Window(10.0, 10.5, 19.0)
    )
    assert round(found.address, 3) == 0.1


def test_a_node_that_stays_without_network_is_no_measurement() -> None:
    with pytest.raises(LabError, match="did not get its network back"):
        bridge.seen_run(seen(address=[[10.2]]), [10.1, 10.2], bridge.Window(10.0, 10.5))


def test_a_missed_aim_is_told_with_its_reason() -> None:
    run = bridge.Run(route=0.1, address=0.3, silent=0.3, back=0.5, total=2.6, workers=1, again=0.2)
    bare = dataclasses.replace(run, address=2.7)
    text = bridge.section([bridge.Measured("DHCP", [run], [bare], [0.0])], 1)
    assert "| 0.30 s   | ≤ 0.28 s | missed |" in text
    assert "- DHCP: the whole stage, median: the node is back" in text


def test_a_bare_apply_of_the_same_run_that_was_slower_is_the_aim() -> None:
    """One in its slow mode is not."""
    run = bridge.Run(route=0.1, address=0.3, silent=0.3, back=0.5, total=2.6, workers=1, again=0.2)
    bare = [dataclasses.replace(run, route=seconds) for seconds in (0.2, 0.34, 2.7)]
    text = bridge.section([bridge.Measured("DHCP", [run], bare, [0.0])], 1)
    assert "| 0.30 s   | ≤ 0.34 s | met" in text
