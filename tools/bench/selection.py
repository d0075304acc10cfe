"""How long does node IP selection take on hosts with very many addresses, links or routes?

Each host is made in its own network namespace, so root is needed and nothing of the machine is touched. What is
compared is iproute2 printing the same host as JSON, in the same run. `python tools/bench/selection.py` writes the
section of docs/dev/benchmarks.md, and leaves the rest of the page as it is.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
DAEMON = ROOT / "daemon"
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / "tools"), str(DAEMON)]

from bench.figures import LARGE_HOSTS, table, with_section  # noqa: E402 -- found there
from nodenet.core.kernel.iproute import to_document  # noqa: E402
from nodenet.core.kernel.snapshot import Snapshot  # noqa: E402
from nodenet.core.node_ip.policy import Policy  # noqa: E402
from nodenet.core.node_ip.select import select  # noqa: E402
from nodenet.edge.kernel import netlink  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
IPROUTE2 = "ip -j route show default table all; ip -j address"
TIMES = 9
FEW = 3
"""Repetitions where one takes long."""
AIM_RATIO, AIM_RATIO_ADDRESSES, AIM_ABOVE = 3, 6, 1_000
"""At most so many times what iproute2 takes (the second: where there are many addresses), above so many items."""
AIM_MS, AIM_EACH_MS = 100, 200
"""For the function alone, and with a verdict in words for each address."""
LIMIT_SECONDS = 180
"""For making and measuring one kind of host."""
MOST_CANDIDATES = 10_000


@dataclass(frozen=True, slots=True)
class Measured:
    """One host: what there was much of, and medians in milliseconds."""

    kind: str
    count: int
    reading: float
    selecting: float
    iproute2: float

    @property
    def cells(self) -> tuple[str, ...]:
        """A row of the table."""
        ours = self.reading + self.selecting
        parts = (f"{value:.1f}" for value in (self.reading, self.selecting, ours, self.iproute2))
        ratio = ours / self.iproute2
        aim = AIM_RATIO_ADDRESSES if self.kind == "addresses" else AIM_RATIO
        met = "" if self.count <= AIM_ABOVE else "met" if ratio <= aim else "missed"
        return (f"{self.count:,} {self.kind}".replace(",", " "), *parts, f"{ratio:.2f}", met)


def addresses(first: int, last: int) -> Iterator[str]:
    """Yield lines that give eth0 more addresses, half of them IPv6."""
    for i in range(first, last):
        if i % 2:
            yield f"addr add 10.{i >> 16}.{i >> 8 & 255}.{i & 255}/32 dev eth0"
        else:
            yield f"addr add 2001:db8:1::{i:x}/128 dev eth0 nodad"


def links(first: int, last: int) -> Iterator[str]:
    """Yield lines that make more pairs of links, each link with an address."""
    for i in range(first, last, 2):
        yield f"link add nic{i} type veth peer name nic{i + 1}"
        for j in (i, i + 1):
            yield f"link set nic{j} up"
            yield f"addr add 10.{j >> 8}.{j & 255}.1/24 dev nic{j}"


def routes(first: int, last: int) -> Iterator[str]:
    """Yield lines that add more routes over the gateway."""
    return (f"route add {20 + (i >> 16)}.{i >> 8 & 255}.{i & 255}.0 via 192.0.2.1" for i in range(first, last))


KINDS: Mapping[str, tuple[Callable[[int, int], Iterable[str]], tuple[int, ...]]] = {
    "addresses": (addresses, (10, 1_000, 10_000)),
    "links": (links, (10, 100, 1_000, 4_000)),
    "routes": (routes, (1_000, 10_000, 100_000, 500_000)),
}
HOST = (
    *("link set lo up", "link add eth0 type veth peer name far0", "link set eth0 up", "link set far0 up"),
    *("addr add 192.0.2.5/24 dev eth0", "route add default via 192.0.2.1"),
)


def ip(lines: Iterable[str]) -> None:
    """Run iproute2, a line each."""
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines), text=True, check=True, stdout=subprocess.DEVNULL)


def measure(kind: str) -> Iterator[Measured]:
    """Yield a host after the other, each larger; the calling process is in a namespace made for it."""
    lines, sizes = KINDS[kind]
    # Duplicate address detection takes seconds, and link-local addresses are not what is counted.
    Path("/proc/sys/net/ipv6/conf/default/accept_dad").write_text("0", encoding="ascii")
    ip(HOST)
    before = 0
    for count in sizes:
        ip(lines(before, count))
        before = count
        yield Measured(kind, count, *_parts(TIMES if count < max(sizes) else FEW))


def _parts(times: int) -> Iterator[float]:
    """Yield the milliseconds of reading, selecting and iproute2, measured in turns: what else runs falls on all."""
    host = netlink.snapshot()
    parts = (netlink.snapshot, lambda: select(host, Policy()), _iproute2)
    rounds = [[timed(part) for part in parts] for _ in range(times)]
    for part in zip(*rounds, strict=True):
        yield median(part) * 1000


def timed(function: Callable[[], object]) -> float:
    """Return the seconds that one call takes."""
    begun = time.perf_counter()
    function()
    return time.perf_counter() - begun


def _iproute2() -> None:
    subprocess.run(["sh", "-c", IPROUTE2], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def inside(kind: str) -> list[Measured]:
    """Return what is measured in a network namespace that ends with the process in it."""
    command = ["unshare", "--net", sys.executable, __file__, "--inside", kind]
    printed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=LIMIT_SECONDS).stdout
    return [Measured(**json.loads(line)) for line in printed.splitlines()]


def crowded(candidates: int) -> Snapshot:
    """Return a host with that many addresses that may all be node IPs."""
    from ipaddress import IPv4Address, IPv6Address, ip_network  # noqa: PLC0415 - only here

    from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route  # noqa: PLC0415

    half = candidates // 2
    four = (Address(IPv4Address("10.0.0.1") + i, 16, "eth0", "eth0") for i in range(half))
    six = (Address(IPv6Address("2001:db8::1") + i, 64, "eth0") for i in range(half))
    ways = (Route(ip_network(text), (NextHop("eth0"),), 100) for text in ("0.0.0.0/0", "::/0"))
    return Snapshot((Link(2, "eth0"),), (*four, *six), tuple(ways))


def pure(candidates: int) -> list[tuple[str, str, str, str]]:
    """Return the rows about such a host: the function alone, and the command with its snapshot."""
    host = crowded(candidates)
    alone = median(timed(lambda: select(host, Policy())) for _ in range(TIMES)) * 1000
    verdicts = median(timed(lambda: select(host, Policy()).candidates) for _ in range(TIMES)) * 1000
    with tempfile.TemporaryDirectory() as directory:
        file = Path(directory, "snapshot.json")
        file.write_text(json.dumps(to_document(host)), encoding="utf-8")
        command = [sys.executable, "-m", "nodenet.cli.main", "explain", "node-ip", "--snapshot", str(file)]
        environment = {**os.environ, "PYTHONPATH": str(DAEMON)}

        def explain() -> None:
            subprocess.run(command, check=True, env=environment, stdout=subprocess.DEVNULL)

        whole = median(timed(explain) for _ in range(FEW)) * 1000
    return [
        (
            f"select, {candidates} candidates",
            f"{alone:.0f} ms",
            f"≤ {AIM_MS} ms",
            "met" if alone <= AIM_MS else "missed",
        ),
        (
            "the same with a verdict for each, as explain has it",
            f"{verdicts:.0f} ms",
            f"≤ {AIM_EACH_MS} ms",
            "met" if verdicts <= AIM_EACH_MS else "missed",
        ),
        ("nodenetctl explain node-ip --snapshot, the whole process", f"{whole:.0f} ms", "", ""),
    ]


def section(hosts: Iterable[Measured], alone: Iterable[tuple[str, str, str, str]]) -> str:
    """Return the section of the page."""
    version = ".".join(map(str, sys.version_info[:3]))
    head = ("host", "reading", "selecting", "both", "iproute2", "ratio", "")
    return "\n".join((
        LARGE_HOSTS,
        f"Written by `python tools/bench/selection.py`; medians in milliseconds, Python {version}, in a network",
        f"namespace. Compared with `{IPROUTE2}` in the same run;",
        f"aim above 1 000: a ratio of {AIM_RATIO} or less, {AIM_RATIO_ADDRESSES} for addresses.",
        f"At the end the load average was {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors.\n",
        table(head, [host.cells for host in hosts]),
        table(("figure", "measured", "aim", ""), alone),
    ))  # fmt: skip


def main() -> int:
    """Measure and keep the section; exit 1 where no namespace can be made."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inside", choices=KINDS, help=argparse.SUPPRESS)
    wanted = parser.parse_args().inside
    if wanted:
        if len(netlink.snapshot().links) > 1:
            sys.stderr.write("--inside changes links and kernel settings: it runs in an empty network namespace only\n")
            return 1
        for measured in measure(wanted):
            sys.stdout.write(json.dumps(asdict(measured)) + "\n")
        return 0
    if os.geteuid() != 0 or not (shutil.which("unshare") and shutil.which("ip")):
        sys.stderr.write("A network namespace needs root, unshare and iproute2\n")
        return 1
    text = section([measured for kind in KINDS for measured in inside(kind)], pure(MOST_CANDIDATES))
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(with_section(page, text), encoding="utf-8")
    sys.stdout.write(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
