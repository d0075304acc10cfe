"""Simulate the node of a report archive: `python tools/replay.py nodenet-report-worker-0.tar.gz`.

The node of the archive boots in the simulated world (docs/dev/simulation.md) with its settings, files and cables. Exit
code 0: it decides the same in the same order; 1: the first difference is named; 64: the archive cannot be simulated.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1] / place) for place in ("tests", "daemon")]

from nodenet.cli.outputs import printable
from nodenet.core.errors import UsageInvalid
from nodenet.edge.archive import unpacked
from simulation.replay import replayed


def main(argv: list[str] | None = None) -> int:
    """Print the differences; return the exit code."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "archive", type=Path, metavar="ARCHIVE", help="what `nodenetctl report` has written, also unpacked"
    )
    archive: Path = parser.parse_args(argv).archive
    try:
        files, notes = unpacked(archive)
        differences = replayed(files)
    except UsageInvalid as error:
        print(printable(f"{archive}: {error.cause}"), file=sys.stderr)
        return error.exit_code
    for line in (*notes, *differences):
        print(printable(line))
    print("The simulation is otherwise." if differences else "The simulation decides the same in the same order.")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
