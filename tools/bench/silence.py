"""How long does the LAN hear nothing of a node with a static address while br-ex is made, and while it is removed?

`silence.py --cycles N`: `nodenetctl bridge remove` and `bridge make` in turns, a ping from the LAN every 10 ms; on a
node that is alone with its router, and beside a second node. The table is kept in docs/dev/benchmarks.md; bridge.py
measures it as well.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests/lab")]

from bench import measures  # noqa: E402 -- found there
from bench.figures import Figure, Unit, table, with_section  # noqa: E402
from harness import Dhcp, Flavour, Ipv6, Lab, LabError, Lan, Node, install_product, progress  # noqa: E402
from pinger import Pinger  # noqa: E402
from story import settle  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
HEADING = "### Silence over a static link\n"
EVERY = 0.01
WORST = 0.28
BEFORE, AFTER = 0.3, 2.0
"""Seconds of ping around each order: a lost ARP request is repeated after one second."""
ADDRESS = "10.88.0.50"
KEYFILE = "/etc/NetworkManager/system-connections/uplink.nmconnection"
STATIC = f"""[connection]
id=uplink
type=ethernet
interface-name=eth0
[ipv4]
method=manual
address1={ADDRESS}/24
gateway=10.88.0.1
dns=10.88.0.1;
[ipv6]
method=disabled
"""
SETTINGS = {
    "/etc/nodenet/nodenet.toml.d/10-lab.toml": 'network_type = "OVNKubernetes"\n[bridge]\ndatapath = "netdev"\n'
}


@dataclass(frozen=True, slots=True)
class Cycles:
    """The longest silence of each order, in seconds."""

    beside: str
    make: Sequence[float]
    remove: Sequence[float]


def main() -> int:
    """Measure and print; exit 1 when the lab cannot or a silence was too long."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cycles", type=int, default=20, help="of each kind (20)")
    cycles = parser.parse_args().cycles
    try:
        with Lab() as lab:
            found = list(measured(lab, install_product(), cycles))
    except LabError as error:
        progress(str(error))
        return 1
    text = section(found)
    if PAGE.exists():
        PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    sys.stdout.write(text)
    return int(any(figure.met is False for figure in figures(found)))


def measured(lab: Lab, product: Path, cycles: int) -> Iterator[Cycles]:
    """Yield what a lone node shows, and what one beside a second node does."""
    lan = lab.lan("silence")
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    for beside in ("its router only", "a second node"):
        node = lab.node(
            "worker-0",
            nics=[lan],
            layers=[product],
            enable=[measures.UNIT],
            files=SETTINGS,
            flavour=Flavour.OPENSHIFT,
        )
        node.write(KEYFILE, STATIC, 0o600)
        node.boot()
        settle(node, timeout=120)
        nodes = [node]
        if beside == "a second node":
            nodes.append(lab.node("worker-1", nics=[lan]))
            nodes[-1].boot()
        orders: dict[str, list[float]] = {"remove": [], "make": []}
        for number in range(cycles):
            progress(f"br-ex over a static link beside {beside}, cycle {number + 1} of {cycles}")
            for order, silences in orders.items():
                silences.append(silence(node, lan, order))
        yield Cycles(beside, orders["make"], orders["remove"])
        for each in nodes:
            each.remove()
            del lab.nodes[each.name]


def silence(node: Node, lan: Lan, order: str) -> float:
    """Return the longest silence around an order to nodenetd."""
    with Pinger(lan, ADDRESS, every=EVERY) as pinger:
        pinger.wait_for_reply()
        time.sleep(BEFORE)
        node.run(["nodenetctl", "bridge", order], timeout=120)
        time.sleep(AFTER)
    return pinger.outage


def section(found: Iterable[Cycles]) -> str:
    """Return the section of the page."""
    found = list(found)
    rows = [
        (cycles.beside, order, f"{median(seconds):.2f}", f"{max(seconds):.2f}")
        for cycles in found
        for order, seconds in (("make", cycles.make), ("remove", cycles.remove))
    ]
    how = HOW.format(cycles=len(found[0].make), load=os.getloadavg()[0], processors=os.cpu_count())
    return "\n".join((
        HEADING,
        how,
        table(("node beside", "order", "median s", "worst s"), rows),
        table(("figure", "measured", "aim", ""), [figure.cells for figure in figures(found)]),
        *(f"- {figure.name}: {figure.why_missed}" for figure in figures(found) if figure.met is False),
    )).rstrip() + "\n"  # fmt: skip


HOW = """\
Written by `python tools/bench/silence.py`; {cycles} cycles each of `bridge remove` and `bridge make`, a ping from the
LAN every 10 ms. At the end the load average was {load:.1f} on {processors} processors.
"""


def figures(found: Iterable[Cycles]) -> list[Figure]:
    """Return what has an aim."""
    why = "see `ip -ts monitor link address neigh` and NetworkManager's journal on the node for what took longer"
    return [
        Figure(
            f"static, beside {cycles.beside}: longest silence of `{order}`",
            max(seconds),
            Unit.SECONDS,
            WORST,
            why_missed=why,
        )
        for cycles in found
        for order, seconds in (("make", cycles.make), ("remove", cycles.remove))
    ]


if __name__ == "__main__":
    sys.exit(main())
