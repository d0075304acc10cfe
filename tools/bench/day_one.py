"""How long do `nodenetctl day-one check` and `nodenetctl check` take for very many hosts?

`python tools/bench/day_one.py` makes node files and an install-config of 500, 2000 and 10 000 hosts in a scratch
folder, checks them, then 10 000 hosts of one cluster.yml and its hosts.csv, and as many files of their own, and writes
the section of docs/dev/benchmarks.md.
"""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Sequence
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
AIM_RATIO = 1.2
"""Processor time of a host in a table, by that of a host with a file of its own."""
TOO_LARGE = 65
"""Exit code of a check that finds one MachineConfig too large for so many hosts, and nothing else."""
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
        return _checked(
            hosts, "day-one", "check", str(nodes), "--install-config", str(install_config), codes=(0, TOO_LARGE)
        )


def measure_table(hosts: int) -> tuple[Measured, Measured]:
    """Check *hosts* of one cluster.yml with a table, and the same hosts with a file of their own."""
    with tempfile.TemporaryDirectory() as scratch:
        nodes, _ = day_one_cluster.write(Path(scratch), hosts)
        table = day_one_cluster.write_table(Path(scratch) / "table", hosts)
        return _checked(hosts, "check", str(table)), _checked(hosts, "check", str(nodes))


def _checked(hosts: int, *words: str, codes: Collection[int] = (0,)) -> Measured:
    argv = [sys.executable, "-m", "nodenet.cli.main", *words]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    peak = 0
    environment = os.environ | {"PYTHONPATH": str(ROOT / "daemon")}
    with subprocess.Popen(argv, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            peak = max(peak, _kilobytes(process.pid))
            time.sleep(PAUSE)
    if process.returncode not in codes:
        raise RuntimeError(f"nodenetctl {' '.join(words)}: exit code {process.returncode}")
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


def section(measured: Sequence[Measured], by_table: Measured, by_files: Measured) -> str:
    """Return the section of the page."""
    headings = ("hosts", "time", "processor time", "for each host", "memory, all processes", f"≤ {AIM_SECONDS} s, 1 GB")
    rows = table(headings, [each.cells for each in measured])
    ratio = by_table.processor / by_files.processor
    others = (("cluster.yml and hosts.csv", by_table), ("a file of each host", by_files))
    return (
        f"{DAY_ONE}\nWritten by `python tools/bench/day_one.py`: `nodenetctl day-one check` of a folder\nwith a "
        "node file (br-ex, static) for each host, and an install-config with the `networkConfig` of each host, "
        f"on {os.cpu_count()} cores.\n\n{rows}\n"
        "`nodenetctl check` of the same hosts with one file for all and a table, and with a file of each host:\n\n"
        f"{table(('', *headings), [(name, *each.cells) for name, each in others])}\n"
        f"A host in the table takes {ratio:.2f} times the processor time of a host with a file of its own "
        f"(≤ {AIM_RATIO}: {'met' if ratio <= AIM_RATIO else 'missed'}).\n"
        f"At the end the load average was {os.getloadavg()[0]:.1f}: the check is one process, and waits for a core.\n"
    )


if __name__ == "__main__":
    results = [measure(hosts) for hosts in HOSTS]
    made = section(results, *measure_table(max(HOSTS)))
    PAGE.write_text(with_section(PAGE.read_text(), made))
    print(made)
