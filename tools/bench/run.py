"""How fast and how small is nodenet? `make bench` boots nodes, measures, and writes docs/dev/benchmarks.md."""

from __future__ import annotations

import json
import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests/lab")]

from bench import measures  # noqa: E402 -- found there
from bench.figures import (  # noqa: E402
    BY_THEMSELVES,
    Figure,
    Report,
    Unit,
    import_costs,
    kept_section,
    markdown,
    milliseconds,
    with_section,
)
from harness import Flavour, Lab, LabError, Lan, Node, install_product, progress  # noqa: E402
from story import CLUSTER, STATIC, node_file, settle  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
FILE = node_file("worker-0.yml")
SETTINGS = "/etc/nodenet/nodenet.toml.d/10-lab.toml"
PLAIN = '[stages]\nconfigure-ovs = "skip"\n'
CHAIN = """\
platform = "baremetal"
network_type = "OVNKubernetes"
api_vips = ["10.88.0.5"]
ingress_vips = ["10.88.0.6"]
[bridge]
datapath = "netdev"
"""
"""A node that has work for every stage. Nothing answers DNS on it, which is looked for with the watchdog's beat."""
SEARCH_SECONDS = 75
"""After a minute without success it is done with the watchdog's beat."""
STARTS = 15
FIRST_BOOTS = 5
SMALLEST_PART_MS = 0.1
LEAVE = "import os; os._exit(0)"
"""A daemon does not tidy up after its start."""
IMPORT = f"import sys; sys.path.insert(0, {measures.LIBRARY!r}); import nodenet.daemon; {LEAVE}"


@dataclass(frozen=True, slots=True)
class Site:
    """Where nodes are made."""

    lab: Lab
    lan: Lan
    product: Path

    def node(self, *, enabled: bool = True, manager_late: int = 0) -> Node:
        """Boot a node with the product and the static document; not *enabled*: the daemon stays off.

        *manager_late*: seconds that NetworkManager starts later.
        """
        units = [measures.UNIT] if enabled else []
        node = self.lab.node(
            "worker-0", nics=[self.lan], layers=[self.product], enable=units, files={FILE: STATIC, SETTINGS: PLAIN}
        )
        measures.equip(node)
        node.delay_unit("NetworkManager.service", manager_late)
        node.boot()
        return node


def main() -> int:
    """Measure, print the page, keep it; exit 1 when the lab cannot."""
    try:
        with Lab() as lab:
            page = markdown(measure(Site(lab, lab.lan(), install_product())))
    except LabError as error:
        progress(str(error))
        return 1
    before = PAGE.read_text(encoding="utf-8") if PAGE.exists() else ""
    whole = page
    for section in filter(None, (kept_section(before, heading) for heading in BY_THEMSELVES)):
        whole = with_section(whole, section)
    PAGE.write_text(whole, encoding="utf-8")
    sys.stdout.write(page)
    return 0


def measure(site: Site) -> Report:
    """Return the figures of one run; first boots need nodes of their own, the rest shares one."""
    first = [*first_boots(site), *chain(site)]
    patient = [reactions(site), after_waiting(site)]
    node = site.node()
    settle(node, timeout=120)
    node.wait_settled()
    progress(f"{STARTS} starts with an unchanged file")
    starts, floor = unchanged(node)
    boot, breakdown, imports = boot_figures(node, starts, floor)
    return Report(machine(node), [*boot, *first, *footprint(node), *patient, *commands(node)], breakdown, imports)


def unchanged(node: Node) -> tuple[list[measures.Start], list[measures.Run]]:
    """Return starts of the daemon and runs of the floor, taken in turns."""
    starts, floor = [], []
    for _ in range(STARTS):
        starts.append(measures.restart(node))
        floor += measures.spawn(node, measures.program("floor", measures.BUNDLED, FILE))
    return starts, floor


def boot_figures(
    node: Node, starts: Sequence[measures.Start], floor: Sequence[measures.Run]
) -> tuple[list[Figure], list[tuple[str, float]], list[tuple[str, float]]]:
    """Return the figures of a start, its parts, and what its imports cost."""
    total, least = milliseconds(start.total for start in starts), milliseconds(run.wall for run in floor)
    parts = median_parts(starts)
    alone = single_parts(node, floor, dict(parts)[measures.UNTIL_FIRST_WORD])
    figures = [
        Figure("start with an unchanged file, exec to READY", total, Unit.MS),
        Figure("the floor: a bare script's show and difference", least, Unit.MS),
        Figure("start above the floor", total - least, Unit.MS, aim=250, why_missed=longest(parts)),
    ]
    (trace,) = measures.spawn(node, [*measures.PYTHON, "-X", "importtime", "-c", IMPORT])
    return figures, [*parts, *alone], list(import_costs(trace.err).items())


def median_parts(starts: Sequence[measures.Start]) -> list[tuple[str, float]]:
    """Return the parts of a start that can be seen at all, in milliseconds."""
    medians = [(name, milliseconds(start.parts.get(name, 0.0) for start in starts)) for name in starts[0].parts]
    return [(name, value) for name, value in medians if value >= SMALLEST_PART_MS]


def longest(parts: Sequence[tuple[str, float]]) -> str:
    """Return the parts that matter most, in words."""
    most = sorted(parts, key=lambda part: part[1], reverse=True)[:3]
    return "the longest parts: " + ", ".join(f"{name} {value:.0f} ms" for name, value in most)


def single_parts(node: Node, floor: Sequence[measures.Run], until_first_word: float) -> list[tuple[str, float]]:
    """Return what the ingredients of a start cost when they run alone."""
    empty = milliseconds(run.wall for run in measures.spawn(node, [*measures.PYTHON, "-c", LEAVE], STARTS))
    daemon = milliseconds(run.wall for run in measures.spawn(node, [*measures.PYTHON, "-c", IMPORT], STARTS))
    probes = [json.loads(run.out) for run in measures.spawn(node, measures.program("parts", measures.LIBRARY), STARTS)]
    library = [json.loads(run.out) for run in floor]
    return [
        ("the first word less interpreter and imports: the unit's sandbox", until_first_word - daemon),
        ("alone: interpreter", empty),
        ("alone: imports of the daemon", daemon - empty),
        ("alone: bus, connect and Hello", milliseconds(probe["bus"] for probe in probes)),
        ("alone: kernel, links, addresses and routes", milliseconds(probe["kernel"] for probe in probes)),
        ("alone: import of libnmstate", milliseconds(run["import"] for run in library)),
        ("alone: libnmstate, show", milliseconds(run["show"] for run in library)),
        ("alone: libnmstate, difference", milliseconds(run["difference"] for run in library)),
    ]


def first_boots(site: Site) -> list[Figure]:
    """Return how a first boot with a node file compares with a bare apply of the same file on an equal node."""
    boots, lines, processes, calls = [], [], [], []
    for number in range(FIRST_BOOTS):
        progress(f"first boot {number + 1} of {FIRST_BOOTS}, with the daemon and with a bare apply")
        node = site.node()
        boots.append(measures.first_boot(node))
        lines.append(measures.time_line(node))
        remove(site, node)
        node = site.node(enabled=False)
        process, call = measures.bare_apply(node, FILE)
        processes.append(process)
        calls.append(call)
        remove(site, node)
    whole = median(boot.total for boot in boots)
    ratio = whole / median(calls)
    detail = f"against the whole process of a bare script, import included: {whole / median(processes):.2f}"
    why = longest(median_parts(boots)) + "; publishing, in stage nodeip, has systemd read its unit files again"
    return [
        Figure("first boot, NetworkManager ready to READY", whole * 1000, Unit.MS),
        Figure("one bare libnmstate.apply of the same file", milliseconds(calls), Unit.MS),
        Figure("first boot over the bare apply", ratio, Unit.RATIO, aim=1.3, detail=detail, why_missed=why),
        *own_work("first boot", lines, "on a node that waits for nothing"),
    ]


def chain(site: Site) -> list[Figure]:
    """Return what nodenetd adds to boots in which every stage has work, br-ex over DHCP included; and what it takes."""
    lines: list[Mapping[str, Any]] = []
    for number in range(FIRST_BOOTS):
        progress(f"boot {number + 1} of {FIRST_BOOTS} of the whole chain: DHCP, VIPs, br-ex")
        node = bridged(site)
        lines.append(measures.time_line(node))
        remove(site, node)
    node = bridged(site)
    settle(node, timeout=120)
    progress(f"{SEARCH_SECONDS} s in which a resolver on the node is looked for more and more rarely")
    time.sleep(SEARCH_SECONDS)
    taken = footprint(node, " with br-ex and VIPs")
    remove(site, node)
    return [*own_work("whole chain with br-ex", lines, "on a node with DHCP and VIPs"), *taken]


def bridged(site: Site) -> Node:
    """Boot a node with DHCP, VIPs, a node file and br-ex."""
    files = {node_file("cluster.yml"): CLUSTER, SETTINGS: CHAIN}
    layers, units = [site.product], [measures.UNIT]
    node = site.lab.node(
        "worker-0", nics=[site.lan], layers=layers, enable=units, flavour=Flavour.OPENSHIFT, files=files
    )
    measures.equip(node)
    node.boot()
    return node


def own_work(name: str, lines: Sequence[Mapping[str, Any]], where: str) -> list[Figure]:
    """Return what nodenetd itself adds to a boot: its stages, without the time in which it waits for others."""
    share = median(line["share"] for line in lines)
    detail = f"of the time from the start of userspace to READY, {where}"
    stages = [(stage, median(line["work"].get(stage, 0.0) for line in lines) * 1000) for stage in lines[0]["work"]]
    why = f"the node boots in seconds; {longest(stages)}"
    return [
        Figure(f"{name}, nodenetd's own work", milliseconds(line["own"] for line in lines), Unit.MS),
        Figure(f"{name}, share of nodenetd's own work", share, Unit.RATIO, aim=0.1, detail=detail, why_missed=why),
    ]


def reactions(site: Site) -> Figure:
    """Return how soon a stage goes on when NetworkManager says that it has started up."""
    seconds = []
    for number in range(FIRST_BOOTS):
        progress(f"boot {number + 1} of {FIRST_BOOTS} with a late NetworkManager")
        node = site.node(manager_late=measures.LATE_SECONDS)
        seconds.append(measures.reaction(measures.time_line(node)))
        remove(site, node)
    why = "10 ms are the pause that makes one event of a burst; the rest is the bus"
    detail = "from NetworkManager's own line in the journal to the end of the wait"
    return Figure(
        "NetworkManager ready to next attempt", milliseconds(seconds), Unit.MS, aim=20, detail=detail, why_missed=why
    )


def remove(site: Site, node: Node) -> None:
    """Throw a node away, so that the next one of that name is a fresh one."""
    node.remove()
    del site.lab.nodes[node.name]


def footprint(node: Node, where: str = "") -> list[Figure]:
    """Return memory and wake-ups of the daemon after READY; *where* is added to the names."""
    progress(f"{measures.IDLE_SECONDS} s of idling, {measures.SETTLED_SECONDS} s after READY at the earliest")
    resident = measures.memory(node)
    total, beats = measures.wakeups(node)
    counted = f"{total:.1f} a minute were counted, {beats:.1f} are the watchdog's"
    idle = max(0.0, total - beats)
    return [
        Figure(f"memory after READY (RSS){where}", resident, Unit.MB, aim=40, why_missed="see what the daemon imports"),
        Figure(
            f"idle wake-ups besides the watchdog{where}", idle, Unit.PER_MINUTE, 2, detail=counted, why_missed=counted
        ),
    ]


def after_waiting(site: Site) -> Figure:
    """Return the memory of a daemon that had to wait for an address, by DHCP and router advertisement."""
    progress("a boot that waits for its addresses")
    node = site.lab.node("worker-0", nics=[site.lan], layers=[site.product], enable=[measures.UNIT])
    node.write(SETTINGS, PLAIN)
    measures.equip(node)
    node.boot()
    settle(node, timeout=120)
    resident = measures.memory(node)
    remove(site, node)
    return Figure(
        "memory where addresses were waited for", resident, Unit.MB, aim=40, why_missed="see what the daemon imports"
    )


def commands(node: Node) -> list[Figure]:
    """Return the processor time of the commands that people and probes call often."""
    figures = []
    for words in (["status"], ["explain", "node-ip"]):
        runs = measures.spawn(node, ["/usr/bin/nodenetctl", *words], STARTS)
        spent = milliseconds(run.cpu for run in runs)
        name = f"nodenetctl {' '.join(words)}, processor time"
        figures.append(Figure(name, spent, Unit.MS, aim=120, why_missed="imports, see -X importtime"))
    return figures


def machine(node: Node) -> str:
    """Return what it was measured on, without a name."""
    cpuinfo = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    model = next(line.partition(":")[2].strip() for line in cpuinfo.splitlines() if line.startswith("model name"))
    versions = [
        node.run("python3 -V").stdout.strip(),
        *node.run("systemctl --version").stdout.split(" (")[:1],
        f"NetworkManager {node.run('NetworkManager --version').stdout.strip()}",
    ]
    return (
        f"Build machine: {cpuinfo.count('model name')} processors ({model}), Linux {platform.release().split('-')[0]}. "
        f"Node: {', '.join(versions)}, booted by systemd-nspawn; its one NIC has a static address, "
        "a DNS server and a default route in the node file."
    )


if __name__ == "__main__":
    sys.exit(main())
