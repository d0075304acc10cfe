"""How long does `nodenetctl day-one check` take for very many hosts?

`python tools/bench/day_one.py` makes node files and an install-config of 500, 2000 and 10 000 hosts in a scratch
folder, checks them, and writes the section of docs/dev/benchmarks.md.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests", "daemon")]

import day_one_cluster  # noqa: E402 -- found there
from bench.figures import DAY_ONE, table, with_section  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
HOSTS = (500, 2000, 10_000)
AIM_SECONDS, AIM_MB = 60, 1024
"""For the largest one, on two cores."""
_PEAK = re.compile(r"^VmHWM:\s+(\d+) kB", re.MULTILINE)
PAUSE = 0.05


@dataclass(frozen=True, slots=True)
class Measured:
    """One size: seconds by the clock and of the processors, and the largest sum of all processes in MB."""

    hosts: int
    seconds: float
    processor: float
    megabytes: float

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        met = ""
        if self.hosts == max(HOSTS):
            met = "met" if self.seconds <= AIM_SECONDS and self.megabytes <= AIM_MB else "missed"
        each = 1000 * self.processor / self.hosts
        hosts = f"{self.hosts:,}".replace(",", " ")
        return (
            hosts,
            f"{self.seconds:.1f} s",
            f"{self.processor:.1f} s",
            f"{each:.1f} ms",
            f"{self.megabytes:.0f} MB",
            met,
        )


def measure(hosts: int) -> Measured:
    """Check a cluster of *hosts* in a scratch folder."""
    with tempfile.TemporaryDirectory() as scratch:
        nodes, install_config = day_one_cluster.write(Path(scratch), hosts)
        words = ["day-one", "check", str(nodes), "--install-config", str(install_config)]
        argv = [sys.executable, "-m", "nodenet.cli.main", *words]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        peak = 0
        environment = os.environ | {"PYTHONPATH": str(ROOT / "daemon")}
        with subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            while process.poll() is None:
                peak = max(peak, _kilobytes(process.pid))
                time.sleep(PAUSE)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Measured(hosts, time.monotonic() - began, processor, peak / 1024)


def _kilobytes(pid: int) -> int:
    """Return the peaks of a process and all below it, together: what is shared counts in each."""
    try:
        found = _PEAK.search(Path(f"/proc/{pid}/status").read_text())
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:  # it has ended
        return 0
    return (int(found[1]) if found else 0) + sum(_kilobytes(int(child)) for child in children)


def section(measured: Sequence[Measured]) -> str:
    """Return the section of the page."""
    headings = ("hosts", "time", "processor time", "for each host", "memory, all processes", f"≤ {AIM_SECONDS} s, 1 GB")
    rows = table(headings, [each.cells for each in measured])
    return (
        f"{DAY_ONE}\nWritten by `python tools/bench/day_one.py`: `nodenetctl day-one check` of a folder\nwith a "
        "node file (br-ex, static) for each host, and an install-config with the `networkConfig` of each host, "
        f"on {os.cpu_count()} cores.\n\n{rows}"
    )


if __name__ == "__main__":
    results = [measure(hosts) for hosts in HOSTS]
    PAGE.write_text(with_section(PAGE.read_text(), section(results)))
    print(section(results))
