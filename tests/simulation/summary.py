"""Many runs on all cores, and what they found together."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial

from simulation.mutants import MUTANT, put_back
from simulation.result import Result, run
from simulation.run import Triple
from simulation.scenario import Scenario
from simulation.search import scenario_of

CHUNK = 50


@dataclass(frozen=True, slots=True)
class Found:
    """A run that violates a property."""

    scenario: Scenario
    text: str


@dataclass(slots=True)
class Summary:
    """What many runs found."""

    runs: int = 0
    boots: int = 0
    processes: int = 0
    seconds: float = 0.0
    struck: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    covered: Counter[Triple] = field(default_factory=Counter)
    failed: list[Found] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """Count one run."""
        self.runs += 1
        self.boots += result.boots
        self.processes += result.processes
        self.seconds += result.seconds
        self.struck += result.struck
        self.checked += result.checked
        self.covered += result.covered
        if result.failed:
            self.failed.append(Found(result.scenario, result.text))

    def take(self, other: Summary) -> None:
        """Count the runs of *other* as well."""
        self.runs += other.runs
        self.boots += other.boots
        self.processes += other.processes
        self.seconds += other.seconds
        self.struck += other.struck
        self.checked += other.checked
        self.covered += other.covered
        self.failed += other.failed


def quiet_collector() -> None:
    """Let the collector run only when it is called: reference counts free what a run leaves behind, but for 200 KB."""
    gc.freeze()
    gc.disable()


def _all(scenarios: Iterable[Scenario], entries: Iterable[str] = ()) -> Summary:
    """Return what the runs of *scenarios* found, with the faults *entries* of the first review put back."""
    summary = Summary()
    with ExitStack() as stack:
        for entry in entries:
            stack.enter_context(put_back(MUTANT[entry]))
        for scenario in scenarios:
            try:
                summary.add(run(scenario))
            except Exception as error:
                error.add_note(f"in {scenario}")  # an error of the simulation itself
                raise
    gc.collect()
    return summary


def _seeds(seeds: range, entries: Iterable[str] = ()) -> Summary:
    return _all(map(scenario_of, seeds), entries)


def _chunks(numbers: range) -> list[range]:
    return [numbers[begin : begin + CHUNK] for begin in range(0, len(numbers), CHUNK)]


def summaries_of_seeds(first: int, number: int, jobs: int) -> Iterator[Summary]:
    """Yield the summaries of parts of the seeds, as they come."""
    chunks = _chunks(range(first, first + number))
    if jobs == 1:
        yield from map(_seeds, chunks)
        return
    with ProcessPoolExecutor(jobs, initializer=quiet_collector) as pool:
        yield from pool.map(_seeds, chunks)


def summaries(scenarios: list[Scenario], jobs: int) -> Iterator[Summary]:
    """Yield the summaries of parts of *scenarios*, as they come."""
    with ProcessPoolExecutor(jobs, initializer=quiet_collector) as pool:
        yield from pool.map(_all, [scenarios[begin : begin + CHUNK] for begin in range(0, len(scenarios), CHUNK)])


def first_found(entries: Iterable[str], seeds: range, jobs: int) -> Iterator[tuple[str, Found]]:
    """Yield each of *entries* that one of *seeds* notices, with the first of those and what it says.

    They are put back together until they are found: one may hide another, so an earlier seed may notice it alone.
    """
    left, chunks, width = list(entries), _chunks(seeds), jobs * 2
    with ProcessPoolExecutor(jobs, initializer=quiet_collector) as pool:
        for begin in range(0, len(chunks), width):
            parts = pool.map(partial(_seeds, entries=tuple(left)), chunks[begin : begin + width])
            for each in (found.scenario for part in parts for found in part.failed):
                if not _all([each], left).failed:  # what it notices has been found meanwhile
                    continue
                for entry in tuple(left):
                    if found := noticed(entry, each):
                        left.remove(entry)
                        yield entry, found
            if not left:
                return


def noticed(entry: str, scenario: Scenario) -> Found | None:
    """Return what *scenario* violates with the fault *entry* and not without it."""
    with put_back(MUTANT[entry]):
        result = run(scenario)
    return Found(scenario, result.text) if result.failed and not run(scenario).failed else None
