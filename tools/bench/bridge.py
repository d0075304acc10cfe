"""How long is a node out of reach while br-ex is made, and while another NIC takes the place of the one below it?

Each run is beside a bare apply of the same document. `bridge.py --runs N`; part of `make bench`. The node is put back
by `nodenetctl bridge remove` between two runs, and by a rollback after a bare apply.
"""

from __future__ import annotations

import argparse
import itertools
import json
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests/lab")]

from bench import measures  # noqa: E402 -- found there
from bench.figures import BR_EX, Figure, Unit, table, with_section  # noqa: E402
from harness import Dhcp, Flavour, Ipv6, Lab, LabError, Lan, Node, install_product, progress  # noqa: E402
from pinger import Pinger  # noqa: E402
from story import settle, stage, status  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
SETTINGS = {
    "/etc/nodenet/nodenet.toml.d/10-lab.toml": 'network_type = "OVNKubernetes"\n[bridge]\ndatapath = "netdev"\n'
}
KEYFILE = "/etc/NetworkManager/system-connections/uplink.nmconnection"
STATIC = """[connection]
id=uplink
type=ethernet
interface-name=eth0
[ipv4]
method=manual
address1=10.88.0.50/24
gateway=10.88.0.1
dns=10.88.0.1;
[ipv6]
method=disabled
"""
KINDS = {"DHCP": None, "static": STATIC}
SPARE_FILE = "/etc/NetworkManager/system-connections/spare.nmconnection"
SPARE = """[connection]
id=spare
type=ethernet
interface-name=eth1
[ipv4]
method=disabled
[ipv6]
method=disabled
"""
DEFAULT_BRIDGE = "/etc/ovnk/default_bridge"
SWAP_SILENT, SWAP_OVER_BARE = 0.3, 0.5
"""Seconds for a swap, and its silence over that of a bare apply: the aims."""
FAST = {"DHCP": 0.28, "static": 0.22}
"""Seconds without the network in the fast mode of a bare apply: the aims, unless it was slower in the same run."""
SLOW = 2.0
"""Above it lies the slow mode of a bare apply over DHCP, where the address comes back with the lease only."""
TOTAL = {"DHCP": 2.0, "static": None}
OVER_APPLY = {"DHCP": None, "static": 1.3}
AGAIN = 0.5
LATER_BOOTS = 3
BEFORE, AFTER = 0.3, 0.5
BARE_SECONDS = 6.0
"""How long a bare apply may take until the address is back, before it is rolled back."""
RESULT = "/run/outage.json"
DOCUMENT = f"{measures.BENCH}/br-ex.json"
EARLY = f"""[Unit]
DefaultDependencies=no
Before=NetworkManager.service
[Service]
ExecStart={" ".join(measures.program("outage", measures.LIBRARY, "{address}", RESULT))}
[Install]
WantedBy=sysinit.target
"""


@dataclass(frozen=True, slots=True)
class Window:
    """When the stage, or the call of libnmstate, began and ended; what is seen after *until* is something else."""

    begun: float
    ended: float
    until: float = math.inf


@dataclass(frozen=True, slots=True)
class Run:
    """One making of br-ex, in seconds."""

    route: float
    """Without a default route."""
    address: float
    """Without the node IP."""
    silent: float
    """The longest time without an answer to a host on the LAN."""
    back: float
    """From the beginning until the node IP is there and the LAN hears from it."""
    total: float
    """Until the stage, or the call of libnmstate, has ended."""
    workers: int = 0
    again: float = 0.0
    """The stage in a reload that changes nothing."""

    @property
    def outage(self) -> float:
        """Without one or the other."""
        return max(self.route, self.address)


@dataclass(frozen=True, slots=True)
class Measured:
    """All runs over one kind of uplink."""

    kind: str
    ours: Sequence[Run]
    bare: Sequence[Run]
    later: Sequence[float]
    """Later boots: seconds without route or address after both were there."""


def main() -> int:
    """Measure and keep the section; exit 1 when the lab cannot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="of each kind (20)")
    runs = parser.parse_args().runs
    try:
        with Lab() as lab:
            product, lan = install_product(), lab.lan()
            lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
            text = section([measure(lab, lan, product, kind, runs) for kind in KINDS], runs)
            text += swap_section(*measure_swaps(lab, lan, product, runs), runs)
    except LabError as error:
        progress(str(error))
        return 1
    page = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    PAGE.write_text(with_section(page, text), encoding="utf-8")
    sys.stdout.write(text)
    return 0


def measure(lab: Lab, lan: Lan, product: Path, kind: str, runs: int) -> Measured:
    """Return what one node over one kind of uplink shows."""
    units = [measures.UNIT]
    node = lab.node("worker-0", nics=[lan], layers=[product], enable=units, files=SETTINGS, flavour=Flavour.OPENSHIFT)
    if text := KINDS[kind]:
        node.write(KEYFILE, text, 0o600)
    measures.equip(node)
    node.boot()
    address = settle(node, timeout=120)["node_ips"][0]
    ours, bare = [], []
    for number in range(runs):
        progress(f"br-ex over {kind}, run {number + 1} of {runs}: nodenetd's, and a bare apply")
        node.run("nodenetctl bridge remove", timeout=120)
        bare.append(bare_run(node, lan, address))
        ours.append(own_run(node, lan, address))
    found = Measured(kind, ours, bare, list(later_boots(node, address, kind)))
    node.remove()
    del lab.nodes[node.name]
    return found


def own_run(node: Node, lan: Lan, address: str) -> Run:
    """Let nodenetd make br-ex, and look at it again in a reload."""
    with Pinger(lan, address) as pinger:
        begin_watch(node, address)
        pinger.wait_for_reply()
        time.sleep(BEFORE)
        node.run("nodenetctl bridge make", timeout=120)
        time.sleep(AFTER)
        seen = end_watch(node)
    begun, ended = stage_times(node)
    node.run("systemctl reload nodenetd", timeout=120)
    again_begun, again_ended = stage_times(node)
    return seen_run(seen, pinger.replies, Window(begun, ended), again_ended - again_begun)


def bare_run(node: Node, lan: Lan, address: str, document: object = None) -> Run:
    """Apply the same document without a daemon; default: the one of the plan of now."""
    document = document or node.json("nodenetctl explain br-ex --json", timeout=60)["document"]
    node.write(DOCUMENT, json.dumps(document))
    node.run(f"systemctl stop {measures.UNIT}")
    with Pinger(lan, address) as pinger:
        begin_watch(node, address)
        pinger.wait_for_reply()
        time.sleep(BEFORE)
        words = measures.program("bare_bridge", measures.BUNDLED, DOCUMENT, str(BARE_SECONDS))
        told = json.loads(node.run(words, timeout=120).stdout)
        seen = end_watch(node)
    node.run(f"systemctl start {measures.UNIT}", timeout=120)
    return seen_run(seen, pinger.replies, Window(told["begun"], told["ended"], told["ended"] + BARE_SECONDS - AFTER))


def seen_run(seen: Mapping[str, Any], heard: Sequence[float], when: Window, again: float = 0.0) -> Run:
    """Return a run of what the poller saw and when the pinger heard an answer. Raises LabError when there is no end."""
    gaps = {name: [gap for gap in seen[name] if gap[0] < when.until] for name in ("route", "address")}
    if any(len(gap) == 1 for found in gaps.values() for gap in found):
        raise LabError(f"the node did not get its network back: {gaps}")
    replies = itertools.pairwise(heard)
    silences = [(later - earlier, later) for earlier, later in replies if when.begun <= later and earlier < when.until]
    silent, answered = max(silences)
    there = max((gap[1] for gap in gaps["address"]), default=when.begun)
    return Run(
        route=sum(gap[1] - gap[0] for gap in gaps["route"]),
        address=sum(gap[1] - gap[0] for gap in gaps["address"]),
        silent=silent,
        back=max(answered, there) - when.begun,
        total=when.ended - when.begun,
        workers=seen["workers"],
        again=again,
    )


def measure_swaps(lab: Lab, lan: Lan, product: Path, runs: int) -> tuple[list[Run], list[Run]]:
    """Return the swaps of two NICs on one LAN by nodenetd, and by bare applies."""
    units = [measures.UNIT]
    nics = [lan, lan]
    node = lab.node("worker-0", nics=nics, layers=[product], enable=units, files=SETTINGS, flavour=Flavour.OPENSHIFT)
    node.write(KEYFILE, STATIC, 0o600)
    node.write(SPARE_FILE, SPARE, 0o600)
    measures.equip(node)
    node.boot()
    address = settle(node, timeout=120)["node_ips"][0]
    ours, bare = [], []
    for number in range(runs):
        progress(f"another NIC below br-ex, run {number + 1} of {runs}: nodenetd's, and a bare apply")
        now, link = ("eth1", "eth0") if number % 2 else ("eth0", "eth1")
        node.write(DEFAULT_BRIDGE, f"{link}\n")
        document = node.json("nodenetctl explain br-ex --json", timeout=60)["document"]
        node.write(DEFAULT_BRIDGE, f"{now}\n")  # for the nodenetd that is started after the bare apply
        hold_number(node, now)
        bare.append(bare_run(node, lan, address, document))
        node.write(DEFAULT_BRIDGE, f"{link}\n")
        hold_number(node, now)
        ours.append(own_run(node, lan, address))
        if (found := status(node)["uplink"]) != link:
            raise LabError(f"br-ex is over {found}, not over {link}")
    node.remove()
    del lab.nodes[node.name]
    return ours, bare


def hold_number(node: Node, link: str) -> None:
    """Give br-ex flows that have the port number of *link*, as those of OVN-Kubernetes have it."""
    number = node.run(f"ovs-vsctl get interface {link} ofport").stdout.strip()
    flows = f"in_port={number},actions=LOCAL\\nin_port=LOCAL,actions=output:{number}\\n"
    node.run(f"printf '{flows}' | ovs-ofctl replace-flows br-ex -")


def swap_section(ours: Sequence[Run], bare: Sequence[Run], runs: int) -> str:
    """Return what a swap shows, as a part of the section."""
    names = {"silent": "silent", "total": "until the end"}
    rows = [(words, spread(ours, name), spread(bare, name)) for name, words in names.items()]
    worst = max(run.silent for run in ours)
    ratio = median(run.silent for run in ours) / median(run.silent for run in bare)
    figures = (
        Figure("another NIC below br-ex: silent, worst run", worst, Unit.SECONDS, SWAP_SILENT, why_missed=WHY),
        Figure("its silence over that of a bare apply, medians", ratio, Unit.RATIO, SWAP_OVER_BARE, why_missed=WHY),
    )
    return "\n".join((
        "\n### Another NIC below br-ex\n",
        SWAPS.format(runs=runs, seconds=BARE_SECONDS),
        table(("seconds", "nodenetd", "bare apply"), rows),
        table(("figure", "measured", "aim", ""), [figure.cells for figure in figures]),
        *(f"- {figure.name}: {figure.why_missed}" for figure in figures if figure.met is False),
    )).rstrip() + "\n"  # fmt: skip


def later_boots(node: Node, address: str, kind: str) -> Iterator[float]:
    """Yield the seconds without route or address in boots that find br-ex made."""
    node.write("/etc/systemd/system/outage.service", EARLY.format(address=address))
    node.run("systemctl enable outage.service")
    for number in range(LATER_BOOTS):
        progress(f"br-ex over {kind}, later boot {number + 1} of {LATER_BOOTS}")
        node.reboot()
        document = settle(node, timeout=120)
        if document["bridge"] != "br-ex":
            raise LabError(f"br-ex is not there after a reboot: {document}")
        time.sleep(1)
        seen = end_watch(node)
        yield sum(gap[1] - gap[0] for name in ("route", "address") for gap in seen[name])


def begin_watch(node: Node, address: str) -> None:
    """Start the poller, and wait for its first look."""
    words = measures.program("outage", measures.LIBRARY, address, RESULT)
    node.run(["systemd-run", "--quiet", "--unit=outage", *words])
    node.wait_until(["test", "-e", f"{RESULT.removesuffix('.json')}.begun"])


def end_watch(node: Node) -> dict[str, Any]:
    """End the poller; return what it saw."""
    node.run("systemctl stop outage; rm -f /run/outage.begun")
    seen: dict[str, Any] = node.json(["cat", RESULT])
    return seen


def stage_times(node: Node) -> tuple[float, float]:
    """Return begin and end of the stage, in seconds of CLOCK_REALTIME."""
    document = status(node)
    if document["bridge"] != "br-ex":
        raise LabError(f"br-ex was not made: {document}")
    told = stage(document, "configure-ovs")
    since = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME)
    return told["started"] + since, told["ended"] + since


def section(found: Iterable[Measured], runs: int) -> str:
    """Return the section of the page."""
    found = list(found)
    figures = [figure for measured in found for figure in judged(measured)]
    rows = [row for measured in found for row in compared(measured)]
    return "\n".join((
        BR_EX,
        HOW.format(runs=runs),
        f"At the end the load average was {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors.\n",
        table(("uplink", "seconds", "nodenetd", "bare apply"), rows),
        table(("figure", "measured", "aim", ""), [figure.cells for figure in figures]),
        *(f"- {figure.name}: {figure.why_missed}" for figure in figures if figure.met is False),
    )).rstrip() + "\n"  # fmt: skip


def compared(measured: Measured) -> Iterator[tuple[str, str, str, str]]:
    """Yield the rows of what a bare apply shows as well."""
    names = {"route": "without a default route", "address": "without the node IP", "silent": "silent"}
    for name, words in {**names, "back": "until the node is back", "total": "until the end"}.items():
        yield measured.kind, words, spread(measured.ours, name), spread(measured.bare, name)


def spread(runs: Iterable[Run], name: str) -> str:
    """Return median and worst of one value."""
    values = [getattr(run, name) for run in runs]
    return f"{median(values):.2f} / {max(values):.2f}"


def judged(measured: Measured) -> Iterator[Figure]:
    """Yield what has an aim."""
    kind, ours = measured.kind, measured.ours
    outage = max(run.outage for run in ours)
    fast = max([FAST[kind], *(run.outage for run in measured.bare if run.outage < SLOW)])
    back, total = median(run.back for run in ours), median(run.total for run in ours)
    ratio = total / median(run.total for run in measured.bare)
    yield Figure(f"{kind}: without route or node IP, worst run", outage, Unit.SECONDS, fast, why_missed=WHY)
    yield Figure(
        f"{kind}: runs in the slow mode", sum(run.outage > SLOW for run in ours), Unit.TIMES, 0, why_missed=WHY
    )
    yield Figure(f"{kind}: until the node is back, median", back, Unit.SECONDS, TOTAL[kind], why_missed=WHY)
    yield Figure(f"{kind}: the whole stage, median", total, Unit.SECONDS, TOTAL[kind], why_missed=WHY_LATE)
    yield Figure(
        f"{kind}: the whole stage over the bare apply", ratio, Unit.RATIO, OVER_APPLY[kind], why_missed=WHY_MORE
    )
    again = median(run.again for run in ours)
    why = "it is libnmstate's show and difference, beside whatever else this machine does; see the load"
    yield Figure(f"{kind}: stage in a reload without change, median", again, Unit.SECONDS, AGAIN, why_missed=why)
    yield Figure(
        f"{kind}: processes that run libnmstate, most",
        max(run.workers for run in ours),
        Unit.TIMES,
        1,
        why_missed="see who asks",
    )
    later = max(measured.later)
    yield Figure(
        f"{kind}: later boot, without route or node IP",
        later,
        Unit.SECONDS,
        0,
        why_missed="see NetworkManager's journal",
    )


HOW = """\
Written by `python tools/bench/bridge.py`; {runs} runs of each kind on one node each, Open vSwitch's userspace datapath,
in turns with a bare `libnmstate.apply` of the same document, which is rolled back. Median and worst, in seconds.
Silent: the longest silence of a ping from the LAN, every 20 ms. Back: until the LAN hears from the node IP again.
"""
SWAPS = """\
{runs} swaps of two NICs on one LAN, in turns with a bare `libnmstate.apply` of the same document, which is rolled back
after {seconds:g} s. The flows of br-ex have the port number of the NIC, as those of OVN-Kubernetes have it. The switch
sends frames to the old cable until it sees the MAC of br-ex on the new one.
"""
WHY = "see `ip -ts monitor link address neigh` and NetworkManager's journal on the node for what took longer"
WHY_MORE = "the proof of Open vSwitch, libnmstate's show and difference, and NetworkManager's profiles come before it"
WHY_LATE = (
    "the node is back, but its DHCP client asked before the uplink was attached to the bridge, and is made to ask "
    "again when libnmstate has verified the rest"
)

if __name__ == "__main__":
    sys.exit(main())
