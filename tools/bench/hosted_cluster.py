"""What does nodenet-operator cost with 500 nodes, and how soon is an edit of HostedNetServices seen on five nodes?

`python tools/bench/hosted_cluster.py --runs 40` (root) makes 500 Nodes that report in a real kube-apiserver and runs
the operator beside it; then it boots three control-plane nodes and two workers and edits each switch. It writes the
section of docs/dev/benchmarks.md. With 40 runs it takes some ten minutes.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests", "tests/lab", "daemon")]

from bench.figures import HOSTED_CLUSTER, table, with_section  # noqa: E402 -- found there
from harness import Lab, LabError, eventually, install_product, progress  # noqa: E402
from harness.kube import Cluster  # noqa: E402
from harness.kube_bulk import send_all  # noqa: E402
from harness.kube_client import connect  # noqa: E402
from harness.lan import Dhcp, Ipv6  # noqa: E402
from hosted_cluster_objects import MANIFESTS, RESOURCE, RESOURCES, resource  # noqa: E402
from hosted_operators import NODE_LEASES, Operators, lease_of, many, operated, report_of, status  # noqa: E402
from kube_nodes import add_node  # noqa: E402
from nodenet.core.hosted_cluster.node_report import ANNOTATION  # noqa: E402
from switch_watch import NONE, RIGHT, dns_watched, tcp_watched  # noqa: E402
from vip_rig import API, DOMAIN, FIRST, INGRESS, Options, Rig, until  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
NO_IPV6 = Dhcp(ipv6=Ipv6.NONE)
NODES, SILENT, MASTERS = 500, 100, 3
LONG_SECONDS = 3600
"""The longest Lease: these nodes are alive, whatever the machine does."""
SAMPLES = 4
"""Changes that an operator is asked to show before the next one starts: later statuses are written with pauses."""
IDLE_SECONDS, RENEW_SECONDS = 60.0, 10.0
PORT = 9400
MASTERS_OF, WORKERS_OF, WORDS = 3, 2, ("Disabled", "Enabled")
SWITCHES = ("nodesResolution", "appsResolution", "apiInt", "ingressHa")


@dataclass(frozen=True, slots=True)
class Row:
    """One figure: its values in *unit*, and the worst that is aimed at."""

    name: str
    values: Sequence[float]
    unit: str = "s"
    aim: float | None = None

    @property
    def cells(self) -> tuple[str, ...]:
        """A line of the table."""
        late = statistics.quantiles(self.values, n=100, method="inclusive")[98] if len(self.values) > 1 else None
        shown = [
            f"{value:.2f} {self.unit}" if value is not None else "" for value in (statistics.median(self.values), late)
        ]
        if self.aim is None:
            return (self.name, *shown, "", "")
        worst = late if late is not None else self.values[0]
        return (self.name, *shown, f"≤ {self.aim:g} {self.unit}", "met" if worst <= self.aim else "missed")


class Statuses:
    """When the API had which health of the nodes: a watch of the measurement's own."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: list[tuple[float, dict[str, str]]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        while True:
            try:
                self._watch()
            except (LabError, OSError, http.client.HTTPException) as error:
                progress(f"the watch has ended: {error}")  # with the cluster; otherwise what follows is missed
                return

    def _watch(self) -> None:
        with closing(self._cluster.admin.connection()) as connection:
            connection.sock.settimeout(None)
            connection.request("GET", f"{RESOURCES}?watch=true&timeoutSeconds=3600")
            for line in connection.getresponse():
                event = json.loads(line)
                if event["type"] == "ERROR":  # as just after the kind was made
                    return
                nodes = (event["object"].get("status") or {}).get("nodes") or ()
                self._seen.append((time.monotonic(), {node["name"]: node["healthy"] for node in nodes}))

    def after(self, began: float, wanted: Mapping[str, str], timeout: float = 60) -> float:
        """Return the seconds from *began* until the status had *wanted*."""

        def found() -> float | None:
            return next(
                (at - began for at, all_ in list(self._seen) if at > began and wanted.items() <= all_.items()), None
            )

        return eventually(found, f"{len(wanted)} nodes in the status", timeout=timeout, pause=0.02)


@contextmanager
def renewed(cluster: Cluster, names: Sequence[str]) -> Iterator[None]:
    """Renew the Leases of nodes each ten seconds, as their kubelets do."""
    over = threading.Event()

    def renew() -> None:
        while not over.wait(RENEW_SECONDS):
            send_all(
                cluster.admin, [("PATCH", f"{NODE_LEASES}/{name}", lease_of(name, LONG_SECONDS)) for name in names]
            )

    thread = threading.Thread(target=renew)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def requests_of(cluster: Cluster) -> float:
    """Return how many requests the operator has sent."""
    with closing(http.client.HTTPConnection(cluster.server.address, PORT)) as connection:
        connection.sock = connect(cluster.server.netns, cluster.server.address, PORT)
        connection.request("GET", "/metrics")
        lines = connection.getresponse().read().decode().splitlines()
    return next(float(line.split()[1]) for line in lines if line.startswith("nodenet_operator_api_requests_total "))


def processor_of(pid: int) -> float:
    """Return the seconds of processor time of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_of(pid: int) -> float:
    """Return the megabytes of a process (PSS)."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1024


def reported(cluster: Cluster, name: str, *, well: bool) -> dict[str, str]:
    """Let a node report its health; return what the status then has."""
    text = json.loads(report_of())
    given = text if well else {**text, "health": "degraded", "problems": ["haproxy does not run"]}
    cluster.admin.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {ANNOTATION: json.dumps(given)}}})
    return {name: "True" if well else "False"}


def measured_operator(runs: int) -> Iterator[Row]:
    """Yield what the operator shows with 500 nodes."""
    with Lab() as lab, Cluster(lab.lan(serve=False)) as cluster:
        for path in MANIFESTS:
            cluster.kubectl("apply", "-f", str(path))
        eventually(lambda: cluster.admin.find(RESOURCES), "the kind", timeout=60)
        operators = Operators(operated(cluster))
        alive = [f"worker-{number}" for number in range(NODES - MASTERS - SILENT)]
        silent = [f"silent-{number}" for number in range(SILENT)]
        many(cluster, alive, LONG_SECONDS)
        many(cluster, silent)
        for number in range(MASTERS):
            name = f"master-{number}"
            add_node(cluster, name, number)
            cluster.admin.apply(lease_of(name, LONG_SECONDS))
            text = report_of(API, INGRESS) if number == 0 else report_of()
            cluster.admin.patch(f"/api/v1/nodes/{name}", {"metadata": {"annotations": {ANNOTATION: text}}})
        statuses, latencies = Statuses(cluster), []
        began = time.monotonic()
        operators.start("operator-0")
        yield Row(
            "operator started, until 500 nodes are in a new status",
            [statuses.after(began, dict.fromkeys(alive, "True"))],
        )
        for number in range(runs):
            if number % SAMPLES == 0:
                operators.end(operators.names[0], signal.SIGTERM)
                operators.start(f"operator-{1 + number // SAMPLES}")
                until(lambda: operators.leader() == operators.names[0], "a leader")
                time.sleep(2)  # it has read everything
            began = time.monotonic()
            wanted = reported(cluster, alive[number // 2], well=bool(number % 2))
            latencies.append(statuses.after(began, wanted))
        yield Row("a node's report changed, until the status shows it", latencies, aim=2.0)
        operators.end(operators.names[0], signal.SIGTERM)
        yield from idle(operators, statuses, alive, silent)
        operators.forget()


def idle(operators: Operators, statuses: Statuses, alive: Sequence[str], silent: Sequence[str]) -> Iterator[Row]:
    """Yield what an operator costs that has nothing to do, and when it finds that nodes are silent."""
    cluster, began = operators.cluster, time.monotonic()
    pid = operators.start("idle", f"--metrics-port={PORT}")
    with renewed(cluster, alive):
        took = statuses.after(began, dict.fromkeys(silent, "Unknown"), timeout=120)
        shown = [one["name"] for one in status(cluster)["nodes"] if one["healthy"] == "Unknown"]
        if sorted(shown) != sorted(silent):
            raise LabError(f"{len(shown)} nodes are unknown, and {len(silent)} are silent")
        yield Row(f"{SILENT} Leases of 40 s expired, until these nodes are unknown", [took], aim=90.0)
        time.sleep(RENEW_SECONDS)
        before, spent, since = requests_of(cluster), processor_of(pid), time.monotonic()
        time.sleep(IDLE_SECONDS)
        seconds = time.monotonic() - since
        # The question for the figures is none of them: it goes to the operator.
        yield Row("idle, requests to the API", [(requests_of(cluster) - before) * 60 / seconds], "/min", 20)
        yield Row("idle, processor", [(processor_of(pid) - spent) * 100 / seconds], "%")
        yield Row("idle, memory (PSS)", [memory_of(pid)], "MB", 128)


def measured_edits(product: Path, runs: int) -> Iterator[Row]:
    """Yield how soon an edit of each switch is seen on all of five nodes; VIPs are asked from the LAN."""
    options = Options(nodes=MASTERS_OF + WORKERS_OF, workers=WORKERS_OF)
    with Lab() as lab:
        lan = lab.lan(dhcp=NO_IPV6)
        rig = Rig(lab, lan, product, options)
        with Cluster(lan) as cluster, tempfile.TemporaryDirectory() as scratch, ExitStack() as watches:
            for path in MANIFESTS:
                cluster.kubectl("apply", "-f", str(path))
            eventually(lambda: cluster.admin.find(RESOURCES), "the kind", timeout=60)
            cluster.admin.create(RESOURCES, resource())
            for number, name in enumerate(rig.names):
                add_node(cluster, name, number, "control-plane" if name.startswith("master") else "worker")
                rig.nodes[name].write("/etc/kubernetes/kubeconfig", cluster.node_client(name).kubeconfig(), 0o600)
            rig.boot()
            rig.quiet()
            names = {
                "nodesResolution": (f"master-0.{DOMAIN}", f"10.88.0.{FIRST}"),
                "appsResolution": (f"console.apps.{DOMAIN}", INGRESS),
                "apiInt": (f"api-int.{DOMAIN}", API),
            }
            servers = {"ingressHa": (INGRESS, 9)}
            seen = [
                watches.enter_context(dns_watched(node, Path(scratch, name), names)) for name, node in rig.nodes.items()
            ]
            vip = watches.enter_context(tcp_watched(lan, Path(scratch, "vip"), servers))
            until(lambda: all(one.states() == dict.fromkeys(names, RIGHT) for one in seen), "DNS")
            until(lambda: vip.states() == {"ingressHa": RIGHT}, "the ingress VIP")
            took: dict[str, list[float]] = defaultdict(list)
            for _ in range(runs):
                for name in SWITCHES:
                    for word, state in zip(WORDS, (NONE, RIGHT), strict=True):
                        asked = [vip] if name == "ingressHa" else seen
                        spec = {name: word} if name == "ingressHa" else {"dns": {name: word}}
                        began = time.monotonic()
                        cluster.admin.patch(RESOURCE, {"spec": spec})
                        for one in asked:
                            until(lambda one=one: one.after(began, name, state) is not None, f"{name} {word}")  # type: ignore[misc]  # noqa: B023
                        took[f"{name} {word}"].append(max(one.after(began, name, state) or 0.0 for one in asked))
                        time.sleep(1)
    for edit, values in took.items():
        yield Row(f"edit of {edit}, until all nodes follow", values, aim=5.0)


def section(rows: Sequence[Row], runs: int) -> str:
    """Return the section of the page."""
    shown = table(("figure", "median", "99 of 100", "aim", ""), [row.cells for row in rows])
    return (
        f"{HOSTED_CLUSTER}\nWritten by `python tools/bench/hosted_cluster.py`: {runs} changes of a report, with "
        f"{NODES} Nodes in a real\nkube-apiserver, whose Leases are renewed each ten seconds. Edits: on three "
        "control-plane nodes and two workers,\nwith 1 s between two VRRP advertisements: for four seconds no node "
        f"takes a VIP that was off.\n\n{shown}"
    )


def main() -> int:
    """Measure and print; exit 1 when the lab cannot."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=40)
    runs, began = parser.parse_args().runs, time.monotonic()
    rows: list[Row] = []
    try:
        for part in (measured_operator(runs), measured_edits(install_product(), max(1, runs // 4))):
            for row in part:
                progress(f"{time.monotonic() - began:.0f} s: {', '.join(row.cells)}")
                rows.append(row)
    except LabError as error:
        progress(str(error))
        return 1
    text = section(rows, runs)
    PAGE.write_text(with_section(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    sys.stdout.write(text)
    progress(f"{time.monotonic() - began:.0f} s in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
