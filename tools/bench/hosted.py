"""How long is a VIP away, and what does nodenet-hosted cost? Three booted control-plane nodes with the real programs.

`python tools/bench/hosted.py --runs 20` prints medians and worst values (root).
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests", "tests/lab", "daemon")]

from harness import Lab, Node, install_product  # noqa: E402 -- found there
from harness.lan import Dhcp, Ipv6  # noqa: E402
from vip_rig import API, Options, Rig, has, until  # noqa: E402

IDLE_SECONDS = 30
STEP_SECONDS = 0.01


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
        str(seconds),
        API,
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as ping:
        time.sleep(1)
        act()
        output = ping.communicate()[0]
    times = [float(found) for found in re.findall(r"\[(\d+\.\d+)\].*bytes from", output)]
    return max((after - before for before, after in pairwise(times)), default=seconds)


def removal(rig: Rig) -> float:
    """Return the seconds until the VIP is off a node whose keepalived is killed."""
    node = rig.nodes[rig.one_holder()]
    node.run("systemctl kill -s KILL nodenet-keepalived")
    began = time.monotonic()
    until(lambda: not has(node, API), "the VIP to go")
    return time.monotonic() - began


def leave(rig: Rig) -> float:
    """Return the silence of the VIP while its holder is drained."""
    holder = rig.one_holder()
    found = silence(rig, lambda: rig.nodes[holder].run("nodenetctl hosted drain", timeout=60), 12)
    rig.nodes[holder].run("nodenetctl hosted undrain")
    rig.quiet()
    return found


def power_cut(rig: Rig) -> float:
    """Return the silence of the VIP after a power cut of its holder."""
    holder = rig.one_holder()
    found = silence(rig, rig.nodes[holder].power_cut, 8)
    rig.boot(holder)
    rig.quiet()
    return found


def idle(node: Node) -> str:
    """Return what the companion costs while nothing happens."""

    def used() -> tuple[int, int]:
        shown = node.run("systemctl show -p CPUUsageNSec -p MainPID --value nodenet-hosted").stdout.split()
        return int(shown[0]), int(shown[1])

    (before, pid), began = sorted(used(), reverse=True), time.monotonic()
    time.sleep(IDLE_SECONDS)
    after = max(used())
    share = (after - before) / 1e9 / (time.monotonic() - began)
    memory = node.run(f"grep VmRSS /proc/{pid}/status; grep -E ^Pss: /proc/{pid}/smaps_rollup").stdout.split()
    return f"{share:.2%} of a core, RSS {int(memory[1]) / 1024:.1f} MB, PSS {int(memory[4]) / 1024:.1f} MB"


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    product = install_product()
    for advert in (1.0, 0.1):
        with Lab() as lab:
            rig = Rig(lab, lab.lan(dhcp=Dhcp(ipv6=Ipv6.NONE)), product, Options(advert=advert))
            rig.boot()
            holder = rig.quiet()
            print(f"advert {advert} s: idle holder: {idle(rig.nodes[holder])}", flush=True)
            for measure in (removal, leave, power_cut):
                values = []
                for _ in range(runs):
                    values.append(measure(rig))
                    rig.quiet()
                median = statistics.median(values)
                print(
                    f"advert {advert} s: {measure.__name__}: median {median:.3f} s, worst {max(values):.3f} s",
                    flush=True,
                )
    return 0


if __name__ == "__main__":
    sys.exit(main())
