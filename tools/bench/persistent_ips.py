"""How fast is an address given, and what does that cost the API?

`python tools/bench/persistent_ips.py` runs etcd, kube-apiserver and the services on this machine, calls the plugin and
the services themselves, and writes the section of docs/dev/benchmarks.md. `--claims` makes the start with many claims
smaller, for a quick look.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests", "tests/lab", "daemon")]

from bench import pool_lock  # noqa: E402 -- found there
from bench.figures import PERSISTENT_IPS, Figure, Unit, missed, table, with_section  # noqa: E402
from harness import Lab, progress  # noqa: E402
from harness.cni_programs import Cni, cni_programs  # noqa: E402
from harness.kube_bulk import send_all  # noqa: E402
from ipam_node import Answer, IpamNode, plugin  # noqa: E402
from ipam_site import Network, Pod, Site, Space, claim_document, element, pod_document  # noqa: E402

PAGE = ROOT / "docs" / "dev" / "benchmarks.md"
CALLS = 100
SERVICES = (1, 2, 5, 10, 20)
MANY = 1000
CLAIMS = 50_000
IDLE_SECONDS = 60
AT_ONCE = 50
CLAIM_REQUESTS = (
    "the status names the pod that has the claim, which keeps other pods out: one PATCH, and one GET of a new pod"
)
SHARED = "kube-apiserver, etcd, the service and the callers share the cores"


@dataclass
class Bench:
    """Where it is measured, and what was found."""

    site: Site
    space: Space
    figures: list[Figure] = field(default_factory=list)
    nodes: int = 0

    def add(self, name: str, value: float, unit: Unit, aim: float | None = None, **words: str) -> None:
        """Keep a figure and show it."""
        figure = Figure(name, value, unit, aim, **words)
        self.figures.append(figure)
        progress(" ".join(figure.cells))

    def node(self, *, proxy: bool = False) -> IpamNode:
        """Start a service."""
        self.nodes += 1
        made = IpamNode(self.site, f"bench-{self.nodes}", self.nodes, proxy=proxy, wired=False)
        made.start()
        return made

    def pods(self, network: Network, count: int, *, claimed: bool = True) -> list[Pod]:
        """Make pods, each with a claim of its own."""
        names = [f"{network.name}-{self.site.unique()}-{number}" for number in range(count)]
        if claimed:
            claims = [claim_document(name, network) for name in names]
            send_all(self.site.admin, [("POST", self.space.claim_path(), claim) for claim in claims])
        path = f"/api/v1/namespaces/{self.space.name}/pods"
        documents = [pod_document(name, element(network, name if claimed else "")) for name in names]
        made = send_all(self.site.admin, [("POST", path, document) for document in documents])
        return [Pod(self.space.name, name, one["metadata"]["uid"]) for name, one in zip(names, made, strict=True)]

    def pod_of_claim(self, network: Network, claim: str) -> Pod:
        """Make one more pod with a claim."""
        return self.space.pod(f"{claim}-{self.site.unique()}", element(network, claim))


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value that this share of the values does not exceed."""
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


def timed(call: Callable[[], Answer]) -> float:
    """Return the milliseconds of a call that succeeds."""
    began = time.monotonic()
    answer = call()
    took = time.monotonic() - began
    if answer.exit:
        raise SystemExit(f"a call failed: {answer}")
    return took * 1000


def host_local(node: IpamNode, network: Network, pod: Pod, command: str) -> Answer:
    """Call host-local as the plugin is called."""
    ipam = {"type": "host-local", "ranges": [[{"subnet": network.subnets}]], "dataDir": str(node.directory / "lib")}
    stdin = json.dumps({"cniVersion": "1.1.0", "name": network.name, "type": "bridge", "ipam": ipam})
    env = {"CNI_COMMAND": command, "CNI_CONTAINERID": pod.sandbox, "CNI_NETNS": "/run/netns/x", "CNI_IFNAME": "net1"}
    program = cni_programs() / Path(Cni.HOST_LOCAL.value).name
    env |= {"CNI_PATH": str(program.parent)}
    done = subprocess.run([program], input=stdin, capture_output=True, text=True, env=env, check=False)
    return Answer(done.returncode, json.loads(done.stdout or "{}"), done.stderr)


def whole_calls(bench: Bench) -> None:
    """ADD and DEL by the plugin and by host-local, in turns."""
    network = bench.site.network("10.90.0.0/16")
    node = bench.node()
    times: dict[str, list[float]] = {name: [] for name in ("host", "known", "again", "moved", "del", "host del")}
    pods = bench.pods(network, CALLS)
    for pod in pods:
        node.ask("ADD", network, pod)
        node.ask("DEL", network, pod)
    stdin = network.stdin()
    for pod in pods:
        times["host"].append(timed(partial(host_local, node, network, pod, "ADD")))
        times["known"].append(timed(partial(node.plug, "ADD", stdin, pod)))
        times["again"].append(timed(partial(node.plug, "ADD", stdin, pod)))
        new = bench.pod_of_claim(network, pod.name)
        times["moved"].append(timed(partial(node.plug, "ADD", stdin, new)))
    for pod in pods:
        times["host del"].append(timed(partial(host_local, node, network, pod, "DEL")))
        times["del"].append(timed(partial(node.plug, "DEL", stdin, pod)))
    p50 = {name: statistics.median(values) for name, values in times.items()}
    p99 = {name: percentile(values, 0.99) for name, values in times.items()}
    shown = "the whole process of the plugin, in turns with host-local's; p99 {:.0f} ms, host-local {:.0f} ms"
    bench.add("host-local, ADD", p50["host"], Unit.MS)
    bench.add(
        *("ADD with a known claim over host-local", p50["known"] - p50["host"], Unit.MS, 5),
        detail=shown.format(p99["known"], p99["host"]),
        why_missed=CLAIM_REQUESTS,
    )
    bench.add(
        *("ADD of a new pod with a known claim over host-local", p50["moved"] - p50["host"], Unit.MS, 5),
        detail=f"as in a migration: the pod is read, the status names it; {shown.format(p99['moved'], p99['host'])}",
        why_missed=CLAIM_REQUESTS,
    )
    again = "from the store, without the API; " + shown.format(p99["again"], p99["host"])
    bench.add("ADD repeated for its sandbox over host-local", p50["again"] - p50["host"], Unit.MS, 5, detail=again)
    bench.add(
        "DEL over host-local", p50["del"] - p50["host del"], Unit.MS, detail=shown.format(p99["del"], p99["host del"])
    )
    node.stop()


def requests(bench: Bench) -> None:
    """Requests of one ADD and one DEL, counted between service and server."""
    network = bench.site.network("10.91.0.0/16")
    node = bench.node(proxy=True)
    pods = bench.pods(network, 50)
    node.ask("ADD", network, pods.pop())
    before = len(bench.site.proxy.requests())
    for pod in pods:
        node.ask("ADD", network, pod)
    added = len(bench.site.proxy.requests())
    each = (added - before) / len(pods)
    listed = [one["method"] for one in bench.site.proxy.requests(since=before)[: int(each)]]
    bench.add("API requests of an ADD of a new claim", each, Unit.RATIO, 4, detail=", ".join(listed))
    for pod in pods:
        node.ask("DEL", network, pod)
    bench.add("API requests of a DEL", (len(bench.site.proxy.requests()) - added) / len(pods), Unit.RATIO)
    time.sleep(5)
    before, used = len(bench.site.proxy.requests()), processor(node.pid)
    time.sleep(IDLE_SECONDS)
    bench.add(
        "API requests in an idle minute, beside the watch", len(bench.site.proxy.requests()) - before, Unit.TIMES, 0
    )
    bench.add("processor time in an idle minute", (processor(node.pid) - used) * 1000, Unit.MS)
    node.stop()
    for at_once in (1, AT_ONCE):
        sent = pool_lock.requests_for(bench.site.admin, 100, at_once) / 100
        bench.add(f"API requests of an ADD with a pool lock, {at_once} at a time (played)", sent, Unit.RATIO)


def processor(pid: int) -> float:
    """Return the seconds of processor time that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def together(calls: Sequence[Callable[[], Awaitable[Answer]]], at_once: int) -> list[float]:
    """Make calls, so many at a time; return the seconds of each."""
    limit = asyncio.Semaphore(at_once)

    async def one(call: Callable[[], Awaitable[Answer]]) -> float:
        async with limit:
            began = time.monotonic()
            answer = await call()
            if answer.exit:
                raise SystemExit(f"a call failed: {answer}")
            return time.monotonic() - began

    return list(await asyncio.gather(*(one(call) for call in calls)))


def adds(node: IpamNode, network: Network, pods: Sequence[Pod]) -> Iterator[Callable[[], Awaitable[Answer]]]:
    """Return the calls."""
    for pod in pods:
        yield partial(node.asked, "ADD", network, pod)


def bursts(bench: Bench) -> None:
    """New claims at one service: 50 and 100 at a time."""
    node = bench.node()
    for at_once, aims in ((AT_ONCE, (1.0, 0.5)), (100, (None, None))):
        runs = []
        for _ in range(5):
            network = bench.site.network("10.92.0.0/16")
            pods = bench.pods(network, 100)
            began = time.monotonic()
            values = asyncio.run(together(list(adds(node, network, pods)), at_once))
            runs.append((time.monotonic() - began, percentile(values, 0.99), statistics.median(values)))
        total, worst, middle = (statistics.median(column) for column in zip(*runs, strict=True))
        peer = "; whereabouts, measured likewise: 7.4 s, p50 2.4 s, p99 6.8 s" if at_once == AT_ONCE else ""
        bench.add(
            *(f"100 ADDs of new claims, {at_once} at a time, in all", total, Unit.SECONDS, aims[0]),
            detail=f"{100 / total:.0f} a second, p50 {middle:.2f} s{peer}",
            why_missed=SHARED,
        )
        name = f"100 ADDs of new claims, {at_once} at a time, p99"
        bench.add(name, worst, Unit.SECONDS, aims[1], why_missed=SHARED)
    node.stop()


def growth(bench: Bench) -> None:
    """1000 ADDs over more and more services."""
    server = bench.site.cluster.processes()
    for count in SERVICES:
        nodes = [bench.node() for _ in range(count)]
        network = bench.site.network("10.94.0.0/16")
        pods = bench.pods(network, MANY)
        calls = [call for number, node in enumerate(nodes) for call in adds(node, network, pods[number::count])]
        before = {name: processor(pid) for name, pid in server.items()}
        own = sum(processor(node.pid) for node in nodes)
        began = time.monotonic()
        asyncio.run(together(calls, AT_ONCE * min(count, 4)))
        took = time.monotonic() - began
        spent = sum(processor(pid) - before[name] for name, pid in server.items()) / took
        own = (sum(processor(node.pid) for node in nodes) - own) / took
        detail = f"API server and etcd {spent:.2f} cores, the services {own:.2f}, of {os.cpu_count()}"
        bench.add(f"ADDs a second of new claims, {count} services", MANY / took, Unit.TIMES, detail=detail)
        for node in nodes:
            node.stop()


def many_claims(bench: Bench, count: int) -> None:
    """Start beside very many claims that other nodes have."""
    network = bench.site.network("10.96.0.0/14")
    names = [f"many-{number}" for number in range(count)]
    path = bench.space.claim_path()
    progress(f"making {count} claims")
    send_all(bench.site.admin, (("POST", path, claim_document(name, network)) for name in names))
    ips = [f"10.{96 + number // 65536}.{number // 256 % 256}.{number % 256}/14" for number in range(1, count + 1)]
    status = [{"status": {"ips": [ip], "ownerPod": {"name": "one"}}} for ip in ips]
    changes = (("PATCH", f"{path}/{name}/status", one) for name, one in zip(names, status, strict=True))
    send_all(bench.site.admin, changes)
    began = time.monotonic()
    node = bench.node()
    listening = time.monotonic() - began
    (pod,) = bench.pods(bench.site.network("10.100.0.0/24"), 1, claimed=False)
    other = bench.site.network("10.101.0.0/24")
    if node.ask("ADD", other, bench.pods(other, 1)[0]).exit:
        raise SystemExit(f"no address for {pod}")
    busy = processor(node.pid)
    while (now := processor(node.pid)) != busy or time.monotonic() - began < 1:
        busy = now
        time.sleep(0.5)
    took = processor(node.pid)
    bench.add(f"start with {count} claims until it serves", listening, Unit.SECONDS, 5)
    bench.add(f"start with {count} claims, processor time", took, Unit.SECONDS)
    status_text = Path(f"/proc/{node.pid}/status").read_text()
    found = {key: int(size) / 1000 for key, size in re.findall(r"(VmRSS|VmHWM):\s+(\d+)", status_text)}
    detail = f"at most {found['VmHWM']:.0f} MB"
    bench.add(f"memory with {count} claims", found["VmRSS"], Unit.MB, 150, detail=detail)
    node.stop()


def section(figures: Sequence[Figure]) -> str:
    """Return the section of the page."""
    rows = table(("figure", "measured", "aim", ""), [figure.cells for figure in figures])
    late = "\n".join(line.replace("## Missed aims", "### Missed aims of persistent IPs") for line in missed(figures))
    return (
        f"{PERSISTENT_IPS}\nWritten by `python tools/bench/persistent_ips.py`: etcd, kube-apiserver, the services and "
        f"the callers share {os.cpu_count()} cores. At the end the load average was {os.getloadavg()[0]:.1f}.\n\n"
        f"{rows}\n{late}\n"
    )


def main() -> int:
    """Measure and write the section."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--claims", type=int, default=CLAIMS)
    parser.add_argument("--only", default="", help="a part of a function's name")
    options = parser.parse_args()
    plugin()
    cni_programs()
    with Lab() as lab, Site(lab) as site:
        bench = Bench(site, site.space())
        parts: list[tuple[str, Callable[[], Any]]] = [
            ("whole_calls", lambda: whole_calls(bench)),
            ("requests", lambda: requests(bench)),
            ("bursts", lambda: bursts(bench)),
            ("growth", lambda: growth(bench)),
            ("many_claims", lambda: many_claims(bench, options.claims)),
        ]
        for name, part in parts:
            if options.only in name:
                part()
    text = section(bench.figures)
    if not options.only:
        PAGE.write_text(with_section(PAGE.read_text(), text))
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
