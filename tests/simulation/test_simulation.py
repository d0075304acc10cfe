"""Boots of a simulated node: a bounded number of seeds, those that have failed once, and the simulation itself."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from nodenet.core.history.entry import Entry
from nodenet.stages.apply.history import History
from simulation.by_hand import HAND
from simulation.engine import Timeline
from simulation.faults import POINTS, Fault
from simulation.kinds import KINDS
from simulation.mutants import Mutant, put_back
from simulation.nodes import ORDINARY
from simulation.result import run, smallest
from simulation.scenario import Scenario, from_json
from simulation.search import (
    CUTS,
    EVENTS,
    PANICS,
    SECOND,
    STRAY,
    SWAPPED,
    TRIED,
    TROUBLES,
    calls,
    known_calls,
    run_seed,
    sweep,
)
from simulation.summary import Summary, summaries_of_seeds

SEEDS, PART = 2000, 200
IN_ALL = 20_000
"""With those that `make test` runs beside the tests."""
ROOT = Path(__file__).parents[2]
ONCE_FAILED = sorted((ROOT / "fixtures" / "seeds").glob("*.json"))


@pytest.mark.parametrize("first", range(0, SEEDS, PART))
def test_no_seed_violates_a_property(first: int) -> None:
    """`make simulate SEEDS=100000` runs more of them; `python tools/simulate.py --replay SEED` shows one."""
    results = [run_seed(seed) for seed in range(first, first + PART)]
    assert [(each.scenario.seed, each.text) for each in results if each.failed] == []


def test_make_test_runs_the_other_seeds() -> None:
    """Beside lint, types and the tests of booted nodes."""
    others = re.search(r"tools/simulate.py --first (\d+) --seeds (\d+) --when-idle", (ROOT / "Makefile").read_text())
    assert others
    assert (int(others[1]), int(others[1]) + int(others[2])) == (SEEDS, IN_ALL)


def test_seeds_that_wait_for_idle_cores_keep_no_other_program_waiting() -> None:
    """In a session of their own: with autogroups the kernel shares the processor between sessions first."""
    shown = (
        "os.sched_getscheduler(0), os.getsid(0) == os.getpid(), place.read_text().split()[-1] if place.exists() else 19"
    )
    program = f"""
import os, pathlib, simulate
simulate.wait_for_idle_cores()
place = pathlib.Path("/proc/self/autogroup")
print({shown})
"""
    path = os.pathsep.join(str(ROOT / place) for place in ("tools", "tests", "daemon"))
    ran = subprocess.run([sys.executable, "-c", program], env={"PYTHONPATH": path}, check=True, stdout=subprocess.PIPE)
    assert ran.stdout.decode().split() == [str(os.SCHED_IDLE), "True", "19"]


@pytest.mark.parametrize("kept", ONCE_FAILED, ids=lambda path: path.stem)
def test_what_was_found_once_is_not_found_again(kept: Path) -> None:
    """`python tools/simulate.py --replay SEED --keep NAME` keeps one."""
    scenario, why = from_json(kept.read_text())
    assert run(scenario).text == "", why


def test_one_seed_is_one_run() -> None:
    """To the line of the journal, at the same time."""
    seeds = range(900, 910)
    assert [run_seed(seed) for seed in seeds] == [run_seed(seed) for seed in seeds]


def test_a_node_without_faults_gets_ready_in_one_boot() -> None:
    """And a second process of the daemon changes nothing."""
    result = run(Scenario(0, ORDINARY["br-ex"], ()))
    assert (result.text, result.boots, result.processes) == ("", 1, 2)
    assert any("br-ex over eth0" in line and "made in" in line for line in result.journal)
    assert any("br-ex over eth0" in line and "as it was" in line for line in result.journal)


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_node_gets_ready_without_faults(name: str) -> None:
    """Faults strike at what it calls: `tools/simulate.py --learn-calls` writes them where much has changed."""
    result = run(Scenario(0, ORDINARY[name], (), 0.0))
    assert (result.text, result.boots) == ("", 1)
    known = {point for point, _ in known_calls()[name, ""].all}
    assert len(known & result.calls.keys()) > 0.9 * len(known | result.calls.keys())


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_fault_can_strike(kind: str) -> None:
    result = run(Scenario(0, ORDINARY["br-ex"], (Fault(kind, "", 1, 20.0, 5.0, 0.5),)))
    assert (result.text, result.struck[kind]) == ("", 1)


def test_every_kind_of_fault_is_searched_with() -> None:
    assert {*CUTS, *TROUBLES, *EVENTS, TRIED, PANICS, STRAY, SECOND, HAND, SWAPPED} == set(KINDS)


def test_a_sweep_strikes_at_every_call() -> None:
    """The first fault of each scenario is met, since the boot is quiet until then."""
    swept = list(sweep("plain", "daemon-killed", "reload"))
    assert len(swept) == sum(times for _, times in calls(ORDINARY["plain"]))
    for scenario in swept[::60]:
        assert run(scenario).struck["daemon-killed"] == 1


def test_seeds_are_run_in_parts_and_summed_up() -> None:
    whole = Summary()
    for part in summaries_of_seeds(0, 3, 1):
        whole.take(part)
    results = [run_seed(seed) for seed in range(3)]
    assert (whole.runs, whole.processes) == (3, sum(each.processes for each in results))
    assert whole.covered == sum((each.covered for each in results), Counter())


def test_a_violation_is_found_and_its_faults_made_fewer() -> None:
    """A DHCP server that never answers, in a world that calls itself fair, keeps a node from getting ready."""
    scenario = Scenario(0, replace(ORDINARY["plain"], profile="dhcp"), ())
    silent = Fault("dhcp-silent", "", 1, 0.0, 9999.0, 0.0)
    noise = Fault("wall-clock-steps", "", 1, 30.0, 1.0, 0.7)
    assert not run(replace(scenario, faults=(silent, noise))).failed  # it is healed at last
    assert smallest(replace(scenario, faults=(noise,)), "P3").faults == (noise,)


def test_two_faults_that_are_alike_end_one_after_the_other() -> None:
    """The second is over before the first apply, which meets the first one."""
    wrong = Fault("apply-goes-wrong", "", 1, 0.0, 40.0, 0.99)
    result = run(Scenario(0, ORDINARY["file"], (wrong, replace(wrong, lasts=0.1)), 100.0))
    assert (result.text, result.struck["apply-goes-wrong"]) == ("", 2)


def test_a_second_run_writes_the_entry_of_the_history_that_a_disk_kept_back() -> None:
    """Without such a disk the first run has to write it."""
    scenario, _ = from_json((ROOT / "fixtures" / "seeds" / "history-entry-that-a-disk-kept-back.json").read_text())
    kept_back = run(scenario)
    assert any("The history has no entry of cluster.yml" in line for line in kept_back.journal)
    assert (kept_back.text, kept_back.processes) == ("", 2)
    forgets = Mutant("", "the first run writes no entry", ((History, "add", _late_entry()),))
    with put_back(forgets):
        result = run(Scenario(0, ORDINARY["file"], (), 0.0))
    assert result.text.startswith("P6: a second run wrote ['/var/lib/nodenet/history/1.json']")


def _late_entry() -> Callable[[History, Entry], Entry]:
    add, first = History.add, [True]

    def late(self: History, entry: Entry) -> Entry:
        return entry if first and first.pop() else add(self, entry)

    return late


def test_the_kept_runs_find_faults_of_every_property_but_those_of_the_loop() -> None:
    """A property that no put-back fault violates may be one that cannot be violated."""
    kept = (ROOT / "fixtures" / "seeds").rglob("*.json")
    found = {json.loads(path.read_text())["why"].partition(":")[0] for path in kept}
    assert found >= {"P1", "P2", "P3", "P4", "P5", "P7", "P8", "P9"}


def test_every_point_is_passed_by_some_run() -> None:
    """A fault at a point that no run passes never strikes."""
    passed = {point for known in known_calls().values() for point, _ in known.all}
    named_late = Scenario(0, replace(ORDINARY["plain"], named_after=5.0), ())
    for scenario in (named_late, *(from_json(kept.read_text())[0] for kept in ONCE_FAILED)):
        passed |= set(run(scenario).points)
    assert set(POINTS) - passed == set()


def test_events_come_in_order() -> None:
    timeline, seen = Timeline(), list[str]()
    timeline.after(2.0, lambda: seen.append("later"))
    timeline.after(1.0, lambda: seen.append("first"))
    timeline.after(1.0, lambda: seen.append("second"))
    timeline.run_until(1.5)
    assert (seen, timeline.now) == (["first", "second"], 1.5)
    timeline.run_until(2.0)
    assert seen == ["first", "second", "later"]
