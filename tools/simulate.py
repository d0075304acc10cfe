"""Boot simulated nodes, one for each seed, with faults: `python tools/simulate.py --seeds 1000`.

A seed that violates a property is printed with the command that replays it and the fewest faults that still violate it.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests", "daemon")]

from simulation.faults import POINTS
from simulation.kinds import KINDS
from simulation.missing import Missing, missing
from simulation.mutants import MUTANT, MUTANTS, Mutant, put_back
from simulation.nodes import ORDINARY
from simulation.result import run, smallest
from simulation.scenario import Scenario, from_json, to_json
from simulation.search import CALLS, known_calls, learn_calls, scenario_of, sweep
from simulation.summary import Found, Summary, first_found, summaries, summaries_of_seeds

KEPT = Path(__file__).parents[1] / "fixtures" / "seeds"
PUT_BACK = KEPT / "put-back"
BAR = 30


def progress(done: int, number: int, began: float, failed: int) -> None:
    """Draw the bar, on a terminal only."""
    if not sys.stderr.isatty():
        return
    filled = min(BAR * done // max(number, 1), BAR)
    rate = done / max(time.monotonic() - began, 0.001)
    sys.stderr.write(f"\r[{'#' * filled}{'.' * (BAR - filled)}] {done}/{number} {rate:.0f}/s {failed} failed ")
    sys.stderr.flush()


def report(summary: Summary, seconds: float, jobs: int) -> None:
    """Print what the runs found."""
    started = summary.processes
    print(f"{summary.runs} runs, {summary.boots} boots, {started} starts of nodenetd in {seconds:.0f} s")
    rates = f"{summary.runs / seconds:.0f} runs a second; {started / seconds / jobs:.0f} starts a second and core"
    print(f"{rates}; {summary.seconds / 3600:.0f} simulated hours")
    print("faults:     " + ", ".join(f"{kind} {count}" for kind, count in sorted(summary.struck.items())))
    print("properties: " + ", ".join(f"{rule} {count}" for rule, count in sorted(summary.checked.items())))
    never = list(never_struck(summary))
    seldom = sum(each.is_seldom for each in never)
    print(f"{len(summary.covered)} triples of stage, call and fault; {len(never)} never, {seldom} of them seldom ones")
    struck = {(stage, kind) for stage, _, kind in summary.covered}
    for stage in sorted({stage for stage, _ in struck}):
        if kinds := sorted(kind for kind in KINDS if (stage, kind) not in struck):
            print(f"never in {stage or 'no stage'}: {', '.join(kinds)}")
    for found in summary.failed[:20]:
        print_found(found)


def never_struck(summary: Summary) -> Iterator[Missing]:
    """Yield the triples that no run had."""
    known = chain.from_iterable(calls.all for calls in known_calls().values())
    return missing(summary.covered, {*POINTS, *(point for point, _ in known)})


def print_found(found: Found) -> None:
    """Print a run that violates a property, with the fewest faults that still do."""
    print(f"\nseed {found.scenario.seed}: {found.text}")
    for fault in smallest(found.scenario, found.text.partition(":")[0]).faults:
        print(f"    {fault}")
    print(f"    {found.scenario.node}")
    if scenario_of(found.scenario.seed) == found.scenario:
        print(f"    replay: python tools/simulate.py --replay {found.scenario.seed}")


def replay(scenario: Scenario, keep: str | None) -> int:
    """Run *scenario* and print its journal; write what is left of its faults to a file called *keep*."""
    result = run(scenario)
    if keep and result.failed:
        (KEPT / f"{keep}.json").write_text(to_json(smallest(result.scenario, result.rule), result.text))
    print(result.scenario.node)
    for fault in result.scenario.faults:
        print(fault)
    print("\n".join(result.journal))
    print(result.text or "no violation")
    return 1 if result.failed else 0


def put_faults_back(entries: str, first: int, seeds: int, jobs: int) -> int:
    """Print for each fault of the first review how many seeds find it; return 1 where one is not found."""
    chosen = [mutant.entry for mutant in MUTANTS if entries == "all" or mutant.entry in entries.split(",")]
    missed = set(chosen)
    for entry, found in first_found(chosen, range(first, first + seeds), jobs):
        missed.remove(entry)
        print(f"| {entry} | {MUTANT[entry].words} | {found.scenario.seed - first + 1} | {found.text} |", flush=True)
        _keep(MUTANT[entry], found)
    for entry in sorted(missed):
        print(f"| {entry} | {MUTANT[entry].words} | > {seeds} | not found |")
    return 1 if missed else 0


def _keep(mutant: Mutant, found: Found) -> None:
    """Write the run that finds *mutant*, where none is kept yet."""
    file = PUT_BACK / f"{mutant.entry}.json"
    if not file.exists():
        with put_back(mutant):
            fewest = smallest(found.scenario, found.text.partition(":")[0])
        file.write_text(to_json(fewest, found.text))


def scenarios_of_sweep(nodes: str, kinds: str, then: str) -> list[Scenario]:
    """Return one scenario for each call of each of *nodes* and each of *kinds*."""
    names = list(ORDINARY) if nodes == "all" else nodes.split(",")
    return list(chain.from_iterable(sweep(name, kind, then) for name in names for kind in kinds.split(",")))


def wait_for_idle_cores() -> None:
    """Let this process and its children run only while no other program wants the processor (sched(7), SCHED_IDLE).

    Where the kernel shares the processor between sessions first (sched(7), autogroups), they get one with the least
    share. The leader of a process group, as a shell's job is, keeps its session.
    """
    with suppress(OSError):
        os.setsid()
        Path("/proc/self/autogroup").write_text("19")
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def main() -> int:
    """Return 1 where a property was violated."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once")
    parser.add_argument("--when-idle", action="store_true", help="run only while no other program wants the processor")
    parser.add_argument("--replay", metavar="SEED", help="run one seed, or a file of fixtures/seeds; print its journal")
    parser.add_argument("--keep", metavar="NAME", help="with --replay: write the fewest faults to fixtures/seeds")
    parser.add_argument("--put-back", metavar="ENTRIES", help="faults of the first review (R1,R2 or all) to be found")
    parser.add_argument(
        "--sweep", metavar="NODES", help=f"a fault at every call of these nodes: all, {', '.join(ORDINARY)}"
    )
    parser.add_argument("--kinds", default="power-cut,daemon-killed", help="with --sweep: which faults")
    parser.add_argument("--then", default="", metavar="KIND", help="with --sweep: what follows two seconds later")
    parser.add_argument("--missing", metavar="FILE", help="write the triples that no run had, and why, to this file")
    parser.add_argument("--learn-calls", action="store_true", help="write which calls ordinary nodes make: other seeds")
    options = parser.parse_args()
    if options.when_idle:
        wait_for_idle_cores()
    if options.learn_calls:
        CALLS.write_text(learn_calls())
        return 0
    if options.put_back:
        return put_faults_back(options.put_back, options.first, options.seeds, options.jobs)
    if options.replay is not None:
        seed = options.replay
        return replay(scenario_of(int(seed)) if seed.isdigit() else from_json(Path(seed).read_text())[0], options.keep)
    began, summary = time.monotonic(), Summary()
    if options.sweep:
        swept = scenarios_of_sweep(options.sweep, options.kinds, options.then)
        number, parts = len(swept), summaries(swept, options.jobs)
    else:
        number, parts = options.seeds, summaries_of_seeds(options.first, options.seeds, options.jobs)
    for part in parts:
        summary.take(part)
        progress(summary.runs, number, began, len(summary.failed))
    report(summary, time.monotonic() - began, options.jobs)
    if options.missing:
        Path(options.missing).write_text("".join(f"{each}\n" for each in never_struck(summary)))
    return 1 if summary.failed else 0


if __name__ == "__main__":
    sys.exit(main())
