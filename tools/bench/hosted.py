"""How long is a VIP away, how many requests fail, and what do hosted services cost? Beside the stack they replace.

`python tools/bench/hosted.py --runs 20` (root) boots three control-plane nodes with the real programs, with 0.25 s
(the default) and with 0.1 s between two advertisements, then three nodes with the former configurations, then one node
beside a real kube-apiserver; it writes the section of docs/dev/benchmarks.md. With 20 runs: twenty minutes.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from math import ceil
from pathlib import Path
from typing import TypeVar

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests", "tests/lab", "daemon")]

from bench.figures import HOSTED, table, with_section  # noqa: E402 -- found there
from bench.hosted_change import change_of_a_node  # noqa: E402
from bench.hosted_old import OldRig  # noqa: E402
from harness import Lab, LabError, eventually, install_product, progress  # noqa: E402
from harness.lan import Dhcp, Ipv6  # noqa: E402
from nodenet.core.settings.model import HostedSettings  # noqa: E402
from vip_rig import API, Options, Rig, has  # noqa: E402

T = TypeVar("T")
PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
CLIENT = ROOT / "tools" / "bench" / "hosted_client.py"
NO_IPV6 = Dhcp(ipv6=Ipv6.NONE)
IDLE_SECONDS = 30
STEP_SECONDS = 0.01
RATE = 100
"""Connections a second; with a request by TLS in each, half of it."""
OURS = ("nodenet-hosted", "nodenet-keepalived", "nodenet-haproxy", "nodenet-dnsmasq")
OLD = ("lab-keepalived", "lab-haproxy", "lab-monitor")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its values in *unit*, and the worst that is aimed at."""

    name: str
    stack: str
    values: Sequence[float]
    aim: float | None = None
    unit: str = "s"

    @property
    def cells(self) -> tuple[str, ...]:
        """A line of the table."""
        worst = max(self.values)
        digits = 2 if self.unit != "" else 0
        verdict = "" if self.aim is None else "met" if worst <= self.aim else "missed"
        aim = "" if self.aim is None else f"≤ {self.aim:g} {self.unit}".rstrip()
        shown = [f"{value:.{digits}f} {self.unit}".rstrip() for value in (statistics.median(self.values), worst)]
        return (self.name, self.stack, *shown, aim, verdict)


def silence(rig: Rig, act: Callable[[], object], seconds: float) -> float:
    """Return the longest time between two answers of the VIP to a ping each 10 ms while *act* is done."""
    command = [
        "ip",
        "netns",
        "exec",
        rig.lan.netns,
        "ping",
        "-D",
        "-n",
        "-i",
        str(STEP_SECONDS),
        "-w",
        str(ceil(seconds)),
    ]
    with subprocess.Popen([*command, API], stdout=subprocess.PIPE, text=True) as ping:
        time.sleep(0.5)
        act()
        output, ended = ping.communicate()[0], time.time()
    times = [float(found) for found in re.findall(r"\[(\d+\.\d+)\].*bytes from", output)]
    return max((after - before for before, after in pairwise([*times, ended])), default=seconds)


@contextmanager
def client(rig: Rig, seconds: float, *, tls: bool = False) -> Iterator[list[tuple[float, float | None]]]:
    """Open connections to the VIP for some seconds; what became of them is in the list at the end of the block."""
    found: list[tuple[float, float | None]] = []
    ca = [str(rig.lan.state / "ca.crt")] if tls else []
    words = [sys.executable, str(CLIENT), API, str(RATE / 2 if tls else RATE), str(seconds), *ca]
    with subprocess.Popen(["ip", "netns", "exec", rig.lan.netns, *words], stdout=subprocess.PIPE, text=True) as program:
        time.sleep(0.5)
        yield found
        found += [(began, took) for began, took in json.loads(program.communicate()[0])]


def failed(found: Sequence[tuple[float, float | None]], since: float, seconds: float = 60.0) -> int:
    """Return how many connections failed of those that began in the *seconds* after *since*."""
    return sum(took is None for began, took in found if since <= began <= since + seconds)


def power_cut(rig: Rig, seconds: float) -> float:
    """Return the silence of the VIP after a power cut of its holder, which boots again meanwhile."""
    holder = rig.one_holder()
    found = silence(rig, rig.nodes[holder].power_cut, seconds)
    rig.nodes[holder].boot()
    return found


def death(rig: Rig, unit: str, seconds: float) -> tuple[float, float, int]:
    """Kill keepalived of the holder: the silence, the seconds until its VIP was gone, and the holders at the end."""
    node = rig.nodes[rig.one_holder()]
    gone: list[float] = []

    def kill() -> None:
        node.run(["systemctl", "kill", "-s", "KILL", unit])
        began = time.monotonic()
        while has(node, API) and time.monotonic() - began < seconds - 1:
            time.sleep(0.01)
        gone.append(time.monotonic() - began)

    away = silence(rig, kill, seconds)
    # The nodes are asked one after another, so that a VIP that moves meanwhile may be seen on none of them.
    return away, gone[0], len(eventually(lambda: rig.holders() or None, "a holder"))


def drain(rig: Rig, seconds: float) -> tuple[float, int]:
    """Return the silence of the VIP while its holder is drained, and the new connections that failed."""
    holder = rig.one_holder()
    with client(rig, seconds) as found:
        away = silence(rig, lambda: rig.nodes[holder].run("nodenetctl hosted drain", timeout=60), seconds - 1.5)
    rig.nodes[holder].run("nodenetctl hosted undrain")
    rig.moved(holder)
    return away, failed(found, 0, float("inf"))


def stop(rig: Rig, seconds: float) -> tuple[float, int]:
    """The same where keepalived is stopped, and haproxy with it, as at the end of their containers."""
    holder = rig.one_holder()
    node = rig.nodes[holder]
    with client(rig, seconds) as found:
        away = silence(rig, lambda: node.run("systemctl stop lab-keepalived lab-monitor lab-haproxy"), seconds - 1.5)
    node.run("nft delete table ip lab; rm -f /run/lab-redirect; systemctl start lab-keepalived lab-haproxy lab-monitor")
    rig.moved(holder)
    return away, failed(found, 0, float("inf"))


def server_death(rig: Rig, number: int) -> int:
    """Return the requests through the VIP that failed of those in the 3 s after an API server was killed."""
    others = sorted(rig.nodes.keys() - {rig.one_holder()})
    node = rig.nodes[others[number % len(others)]]  # haproxy believes the other one again meanwhile
    with client(rig, 3.7, tls=True) as found:
        began = time.monotonic()
        node.run("systemctl stop lab-apiserver")
    node.run("systemctl start lab-apiserver")
    return failed(found, began, 3.0)


def whole_cluster(rig: Rig) -> float:
    """Return the seconds from a power cut of all nodes, which boot at once, until the API answers at the VIP."""
    for node in rig.nodes.values():
        node.power_cut()
    began = time.monotonic()
    for node in rig.nodes.values():
        node.boot()
    ask = ["ip", "netns", "exec", rig.lan.netns, "curl", "-sf", "-m", "0.5", "--cacert", str(rig.lan.state / "ca.crt")]
    ask += ["--connect-to", f"::{API}:", "https://api-int.c1.example.com:6443/readyz"]
    eventually(lambda: subprocess.run(ask, capture_output=True, check=False).returncode == 0 or None, "it", timeout=120)
    return time.monotonic() - began


def cost(rig: Rig, *units: str) -> dict[str, tuple[float, float]]:
    """Return what units of the holder cost while nothing happens: per cent of a core, and megabytes (PSS)."""
    node = rig.nodes[rig.one_holder()]

    def used() -> dict[str, int]:
        shown = {unit: node.run(["systemctl", "show", "-P", "CPUUsageNSec", unit]).stdout for unit in units}
        return {unit: int(text) for unit, text in shown.items()}

    def size(unit: str) -> float:
        pids = node.run(f"cat /sys/fs/cgroup/system.slice/{unit}.service/cgroup.procs").stdout.split()
        found = node.run(["grep", "-h", "^Pss:", *(f"/proc/{pid}/smaps_rollup" for pid in pids)], check=False).stdout
        return sum(int(line.split()[1]) for line in found.splitlines()) / 1024

    before, began = used(), time.monotonic()
    time.sleep(IDLE_SECONDS)
    after, seconds = used(), time.monotonic() - began
    return {unit: ((after[unit] - before[unit]) / 1e7 / seconds, size(unit)) for unit in units}


def costs(found: Mapping[str, tuple[float, float]], stack: str) -> Iterator[Row]:
    """Yield what all services cost, and nodenet-hosted by itself."""
    yield Row("idle cost of all services, processor", stack, [sum(share for share, _ in found.values())], unit="%")
    yield Row("idle cost of all services, memory (PSS)", stack, [sum(size for _, size in found.values())], unit="MB")
    if OURS[0] in found:
        share, size = found[OURS[0]]
        yield Row("idle cost of nodenet-hosted, processor", stack, [share], 0.5, "%")
        yield Row("idle cost of nodenet-hosted, memory (PSS)", stack, [size], 45, "MB")


def deaths_of_servers(rig: Rig, runs: int, stack: str) -> Row:
    """Measure the death of an API server."""
    found = [server_death(rig, number) for number in range(runs)]
    return Row("API server killed, requests failed in 3 s", stack, found, unit="")


USUAL = HostedSettings().advert_interval


def measured(product: Path, advert: float, runs: int) -> Iterator[Row]:
    """Yield what nodenet's nodes show with *advert* seconds between two advertisements."""
    fast = advert < USUAL
    stack = f"nodenet, {advert:g} s"
    with Lab() as lab:
        rig = Rig(lab, lab.lan(dhcp=NO_IPV6), product, Options(advert=advert))
        rig.boot()
        rig.quiet()
        if not fast:
            yield from costs(cost(rig, *OURS), stack)
            yield deaths_of_servers(rig, runs, stack)
        deaths = times(runs, lambda: death(rig, "nodenet-keepalived", 2.0 if fast else 3.0), rig)
        yield Row("VIP silent, keepalived killed", stack, [one[0] for one in deaths], 1.2)
        yield Row("VIP still on that node", stack, [one[1] for one in deaths], 1.0)
        yield Row("holders after that", stack, [one[2] for one in deaths], 1, "")
        leaves = times(runs, lambda: drain(rig, 4.0 if fast else 6.5), rig)
        yield Row("VIP silent, planned leave", stack, [one[0] for one in leaves], 0.15 if fast else None)
        yield Row("new connections failed, planned leave", stack, [one[1] for one in leaves], 0, "")
        cuts = times(runs, lambda: power_cut(rig, 2.0 if fast else 5.0), rig)
        yield Row("VIP silent, power cut of its holder", stack, cuts, 0.5 if fast else 1.2)
        if not fast:
            rig.quiet()
            yield Row("whole cluster cut, until the API answers", stack, times(runs, lambda: whole_cluster(rig)))


def measured_old(runs: int) -> Iterator[Row]:
    """Yield what nodes with the former configurations show."""
    stack = "former stack, 1 s"
    with Lab() as lab:
        rig = OldRig(lab, lab.lan(dhcp=NO_IPV6))
        rig.boot()
        rig.quiet()
        yield from costs(cost(rig, *OLD), stack)
        yield deaths_of_servers(rig, runs, stack)
        leaves = times(runs, lambda: stop(rig, 5.0), rig)
        yield Row("VIP silent, planned leave", stack, [one[0] for one in leaves])
        yield Row("new connections failed, planned leave", stack, [one[1] for one in leaves], unit="")
        cuts = times(runs, lambda: power_cut(rig, 5.0), rig)
        yield Row("VIP silent, power cut of its holder", stack, cuts)
        rig.quiet()
        away, gone, holders = death(rig, "lab-keepalived", 8.0)  # once: it does not heal
        yield Row("VIP silent, keepalived killed", stack, [away])
        yield Row("VIP still on that node", stack, [gone])
        yield Row("holders after that", stack, [holders], unit="")


def times(runs: int, measure: Callable[[], T], rig: Rig | None = None) -> list[T]:
    """Measure some times; there is a holder and a candidate before the next time."""
    found = []
    for _ in range(runs):
        found.append(measure())
        if rig is not None:
            rig.ready()
    return found


def section(rows: Sequence[Row], runs: int) -> str:
    """Return the section of the page."""
    shown = table(("figure", "stack", "median", "worst", "aim", ""), [row.cells for row in rows])
    return (
        f"{HOSTED}\nWritten by `python tools/bench/hosted.py`: {runs} runs of each kind in one run, on booted nodes "
        "with the real\nprograms. The former stack: keepalived, haproxy and their checks with its configurations, "
        "as services without\ncontainers, so that its boot cannot be compared. VIP silent: the longest time without "
        "an answer to a ping each 10 ms.\n\n"
        f"{shown}"
    )


def main() -> int:
    """Measure and print; exit 1 when the lab cannot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20)
    runs, began = parser.parse_args().runs, time.monotonic()
    rows: list[Row] = []
    try:
        product = install_product()
        parts = (measured(product, USUAL, runs), measured(product, 0.1, runs), measured_old(runs))
        for part in parts:
            for row in part:
                progress(f"{time.monotonic() - began:.0f} s: {', '.join(row.cells)}")
                rows.append(row)
        for name, values in change_of_a_node(product, runs).items():
            rows.append(Row(name, "nodenet", values))
    except LabError as error:
        progress(str(error))
        return 1
    text = section(sorted(rows, key=lambda row: row.name), runs)
    PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    sys.stdout.write(text)
    progress(f"{time.monotonic() - began:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
