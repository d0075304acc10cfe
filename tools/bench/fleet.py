"""How long does `nodenetctl fleet` take for very many nodes, how much memory, and how large is its page?

`python tools/bench/fleet.py` makes 10 000 report archives with documents as nodes write them, in a temporary folder,
runs the verb, and writes its section of docs/dev/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DAEMON = ROOT / "daemon"
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tools"), str(DAEMON)]

from bench.figures import FLEET, table, with_section  # noqa: E402 -- found there
from nodenet.edge.report import packed  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
NODES = 10_000
AIM_SECONDS, AIM_MIB, AIM_PAGE_MIB = 60, 1024, 20
JOURNAL = b"".join(
    b"2026-11-28T06:00:%02d.%06dZ nodenetd[812]: a line of the journal\n" % (i % 60, i) for i in range(900)
)
RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from nodenet.cli.main import main; sys.exit(main(sys.argv[1:]))"


@dataclass(frozen=True, slots=True)
class Measured:
    """One run: seconds, MiB of memory at most, MiB of the page, exit code."""

    nodes: int
    seconds: float
    memory: float
    page: float
    code: int

    @property
    def too_much(self) -> bool:
        """Whether an aim is missed."""
        return self.seconds > AIM_SECONDS or self.memory > AIM_MIB or self.page > AIM_PAGE_MIB


def documents(number: int, **changed: object) -> dict[str, bytes]:
    """Return the parts of a report of node *number* that matter, and a journal; *changed*: keys of the status."""
    address = f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}"
    name = f"control-{number}" if number < 3 else f"worker-{number}"
    mac = f"52:54:00:{number >> 16:02x}:{number >> 8 & 255:02x}:{number & 255:02x}"
    nic = {"ifindex": 2, "ifname": "eth0", "flags": ["UP", "LOWER_UP"], "mtu": 1500, "operstate": "UP", "address": mac}
    given = {"family": "inet", "local": address, "prefixlen": 8, "label": "eth0"}
    default = {"type": "unicast", "dst": "default", "gateway": "10.255.255.254", "dev": "eth0", "table": "main"}
    snapshot = {"links": [nic], "addresses": [{**nic, "addr_info": [given]}], "routes": [default], "routes6": []}
    stages = [
        {"name": each, "status": "done", "started": 2.0 + i, "ended": 2.5 + i}
        for i, each in enumerate(("hostname", "nmstate", "resolv-prepender", "nodeip"))
    ]
    status = {
        "schema_version": 1,
        "boot_id": f"{number:032x}",
        "health": "ok",
        "ready": True,
        "hostname": name,
        "node_file": "cluster.yml",
        "digest": "ab" * 32,
        "applied_digest": "ab" * 32,
        "node_ips": [address],
        "link": "eth0",
        "uplink": None,
        "last_error": None,
        "problems": [],
        "stages": stages,
    }
    about = {"schema_version": 1, "node": name, "made": "2026-11-28T07:00:00Z", "nodenet": "0.1.0", "parts": []}
    made = {"contents.json": about, "status.json": {**status, **changed}, "snapshot.json": snapshot}
    texts = {name: json.dumps(each, indent=1).encode() for name, each in made.items()}
    return {
        "contents.json": texts["contents.json"],
        "versions.txt": b"== nodenetctl version\n0.1.0\n",
        "status.txt": b"ok (kubelet may run)\n",
        "status.json": texts["status.json"],
        "settings.txt": b'platform  "none"  default\n',
        "snapshot.json": texts["snapshot.json"],
        "boot-report.txt": b"2026-11-28 06:00:00 UTC  Boot ab: ready after 5.50 s\n",
        "journal.txt": JOURNAL,
    }


def make(directory: Path, nodes: int) -> None:
    """Write an archive for each node; every hundredth one is odd."""
    for number in range(nodes):
        changed = {"health": "degraded", "last_error": {"cause": "the gateway is lost"}} if number % 100 == 7 else {}
        name = f"nodenet-report-n{number}-20261128T070000Z"
        (directory / f"{name}.tar.gz").write_bytes(packed(name, documents(number, **changed), 0.0))


def measured(directory: Path, nodes: int) -> Measured:
    """Run the verb on *directory*."""
    page = directory / "fleet.html"
    command = [sys.executable, "-c", RUN, str(DAEMON), "fleet", str(directory), "--html", str(page)]
    began = time.monotonic()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    seconds = time.monotonic() - began
    return Measured(nodes, seconds, usage.ru_maxrss / 1024, page.stat().st_size / (1 << 20), process.returncode)


def section(found: Sequence[Measured]) -> str:
    """Return the section of the page."""
    rows = [(f"{one.nodes}", f"{one.seconds:.1f} s", f"{one.memory:.0f} MiB", f"{one.page:.1f} MiB") for one in found]
    aims = f"at most {AIM_SECONDS} s, {AIM_MIB} MiB and {AIM_PAGE_MIB} MiB"
    return f"{FLEET}\n`nodenetctl fleet --html` on report archives; aim for {NODES} nodes: {aims}.\n\n" + table(
        ("nodes", "time", "memory", "page"), rows
    )


def main(argv: list[str] | None = None) -> int:
    """Measure and write the page; return 1 if an aim is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=NODES, help="how many nodes (default: %(default)s)")
    parser.add_argument("--dry-run", action="store_true", help="print the section only")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory(prefix="fleet-") as name:
        make(Path(name), arguments.nodes)
        found = measured(Path(name), arguments.nodes)
    text = section([found])
    print(text)
    if not arguments.dry_run:
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    return 1 if found.too_much or found.code != 1 else 0


if __name__ == "__main__":
    sys.exit(main())
