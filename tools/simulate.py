"""Boot simulated nodes, one for each seed, with faults: `python tools/simulate.py --seeds 1000`.

A seed that violates a property is printed with the command that replays it and the fewest faults that still violate it.
"""

from __future__ import annotations

import argparse
import gc
import os
import sys
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests", "daemon")]

from simulation.mutants import MUTANTS, Mutant, put_back
from simulation.run import Result, run, run_seed, smallest
from simulation.scenario import scenario_of, to_json

KEPT = Path(__file__).parents[1] / "fixtures" / "seeds"
PUT_BACK = KEPT / "put-back"
CHUNK = 50
BAR = 30


@dataclass(slots=True)
class Summary:
    """What many runs found."""

    runs: int = 0
    boots: int = 0
    processes: int = 0
    seconds: float = 0.0
    struck: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    covered: set[tuple[str, str, str]] = field(default_factory=set)
    failed: list[tuple[int, str]] = field(default_factory=list)

    def add(self, result: Result) -> None:
        """Count one run."""
        self.runs += 1
        self.boots += result.boots
        self.processes += result.processes
        self.seconds += result.seconds
        self.struck += result.struck
        self.checked += result.checked
        self.covered |= result.covered
        if result.failed:
            self.failed.append((result.scenario.seed, result.text))

    def take(self, other: Summary) -> None:
        """Count the runs of *other* as well."""
        self.runs += other.runs
        self.boots += other.boots
        self.processes += other.processes
        self.seconds += other.seconds
        self.struck += other.struck
        self.checked += other.checked
        self.covered |= other.covered
        self.failed += other.failed


def simulated(seeds: range) -> Summary:
    """Return the summary of one run for each seed."""
    gc.freeze()
    summary = Summary()
    for seed in seeds:
        summary.add(run_seed(seed))
    return summary


def all_of(first: int, number: int, jobs: int) -> Iterator[Summary]:
    """Yield the summaries of parts of the seeds, as they come."""
    chunks = [range(begin, min(begin + CHUNK, first + number)) for begin in range(first, first + number, CHUNK)]
    if jobs == 1:
        yield from map(simulated, chunks)
        return
    with ProcessPoolExecutor(jobs) as pool:
        yield from pool.map(simulated, chunks)


def progress(done: int, number: int, began: float, failed: int) -> None:
    """Draw the bar, on a terminal only."""
    if not sys.stderr.isatty():
        return
    filled = BAR * done // number
    rate = done / max(time.monotonic() - began, 0.001)
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (BAR - filled)}] {done}/{number} {rate:.0f}/s {failed} failed ")
    sys.stderr.flush()


def report(summary: Summary, seconds: float, jobs: int) -> None:
    """Print what the runs found."""
    started = summary.processes
    print(f"{summary.runs} seeds, {summary.boots} boots, {started} starts of nodenetd in {seconds:.0f} s")
    print(f"{started / seconds / jobs:.0f} starts a second and core; {summary.seconds / 3600:.0f} simulated hours")
    print("faults:     " + ", ".join(f"{kind} {count}" for kind, count in sorted(summary.struck.items())))
    print("properties: " + ", ".join(f"{rule} {count}" for rule, count in sorted(summary.checked.items())))
    print(f"{len(summary.covered)} triples of stage, point and fault")
    for seed, text in summary.failed[:20]:
        print(f"\nseed {seed}: {text}")
        found = run_seed(seed)
        for fault in smallest(scenario_of(seed), found.rule).faults:
            print(f"    {fault}")
        print(f"    {scenario_of(seed).node}")
        print(f"    replay: python tools/simulate.py --replay {seed}")


def replay(seed: int, keep: str | None) -> int:
    """Run one seed and print its journal; write what is left of its faults to a file called *keep*."""
    result = run(scenario_of(seed))
    if keep and result.failed:
        (KEPT / f"{keep}.json").write_text(to_json(smallest(result.scenario, result.rule), result.text))
    print(result.scenario.node)
    for fault in result.scenario.faults:
        print(fault)
    print("\n".join(result.journal))
    print(result.text or "no violation")
    return 1 if result.failed else 0


def found_by(mutant: Mutant, first: int, seeds: int) -> tuple[int, Result] | None:
    """Return how many seeds it takes to notice *mutant*, and the run that does; None where none of *seeds* do."""
    for number in range(seeds):
        with put_back(mutant):
            result = run_seed(first + number)
        if result.failed and not run_seed(first + number).failed:
            return number + 1, result
    return None


def put_faults_back(entries: str, first: int, seeds: int) -> int:
    """Print for each fault of the first review how many seeds find it; return 1 where one is not found."""
    chosen = [mutant for mutant in MUTANTS if entries == "all" or mutant.entry in entries.split(",")]
    missed = 0
    for mutant in chosen:
        found = found_by(mutant, first, seeds)
        missed += found is None
        number, text = (str(found[0]), found[1].text) if found else (f"> {seeds}", "not found")
        print(f"| {mutant.entry} | {mutant.words} | {number} | {text} |", flush=True)
        if found:
            with put_back(mutant):
                fewest = smallest(found[1].scenario, found[1].rule)
            (PUT_BACK / f"{mutant.entry}.json").write_text(to_json(fewest, text))
    return 1 if missed else 0


def main() -> int:
    """Return 1 where a property was violated."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--replay", type=int, metavar="SEED", help="run one seed and print its journal")
    parser.add_argument("--keep", metavar="NAME", help="with --replay: write the fewest faults to fixtures/seeds")
    parser.add_argument("--put-back", metavar="ENTRIES", help="faults of the first review (R1,R2 or all) to be found")
    options = parser.parse_args()
    if options.put_back:
        return put_faults_back(options.put_back, options.first, options.seeds)
    if options.replay is not None:
        return replay(options.replay, options.keep)
    began, summary = time.monotonic(), Summary()
    for part in all_of(options.first, options.seeds, options.jobs):
        summary.take(part)
        progress(summary.runs, options.seeds, began, len(summary.failed))
    report(summary, time.monotonic() - began, options.jobs)
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
