"""How soon after the node IP does a node answer DNS, and how many questions does its server answer in a second?

A negative time: it answered on that address before it was selected as the node IP.

`python tools/bench/hosted_dns.py --runs 20` prints medians and worst values (root). The second part runs dnsmasq, with
the configuration that nodenet makes, and a CoreDNS with the same zone on one booted node, in turns. CoreDNS is built by
Go from the modules that `coredns/go.mod` pins, once, and kept outside the repository.
"""

from __future__ import annotations

import argparse
import hashlib
import re
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Address, ip_address, ip_network
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
if __name__ == "__main__":
    sys.path[:0] = [str(ROOT / place) for place in ("tools", "tests", "tests/lab", "daemon")]

from harness import Lab, Node, host, install_product  # noqa: E402 -- found there
from harness.kube_programs import run_go  # noqa: E402
from harness.lan import Dhcp, Ipv6  # noqa: E402
from harness.rootfs import DEFAULT, locked, packages  # noqa: E402
from hosted_watch import first_answer, stage_ended, watch_units  # noqa: E402
from nodenet.core.hosted_services.dnsmasq import BUS_NAME  # noqa: E402
from nodenet.core.hosted_services.model import (  # noqa: E402
    HOSTS,
    ClusterNode,
    Here,
    Inputs,
    Options,
    Place,
    Role,
    Service,
)
from nodenet.core.hosted_services.plan import plan  # noqa: E402
from nodenet.core.ip import Family  # noqa: E402
from nodenet.core.node_ip.last_published import SELECTION  # noqa: E402
from story import settle  # noqa: E402
from vip_rig import PROGRAMS  # noqa: E402

MODULE = Path(__file__).with_name("coredns")
DOMAIN = "c.example.com"
NODES = 50
SECONDS, CLIENTS = 5, 20
COREDNS_PORT = 5354
SETTINGS = f"""platform = "baremetal"
api_vips = ["10.88.0.5"]
ingress_vips = ["10.88.0.6"]
cluster_domain = "{DOMAIN}"
hosted.enabled = "auto"
stages.configure-ovs = "skip"
"""
COREFILE = f"""{DOMAIN}:{COREDNS_PORT} {{
    bind 127.0.0.1
    template IN A apps.{DOMAIN} {{
        answer "{{{{ .Name }}}} 60 IN A 10.88.0.6"
    }}
    hosts {HOSTS} {{
        ttl 60
    }}
    cache 30
}}
"""
NODE_IP = "10.88.0.120"


@dataclass(frozen=True, slots=True)
class Load:
    """What one run of dnsperf found: answers a second, and the time within which 99 of 100 came, in milliseconds."""

    rate: float
    p99: float


def first_answers(runs: int) -> Iterator[tuple[str, float]]:
    """Yield, for boots of a new node and of one that had the node IP before, the seconds until it answers DNS there."""
    product = install_product()
    with Lab() as lab:
        lan = lab.lan(dhcp=Dhcp(ipv6=Ipv6.NONE))
        node = lab.node(
            "m0",
            nics=[lan],
            layers=[packages(DEFAULT, *PROGRAMS), product],
            files={"/etc/nodenet/nodenet.toml": SETTINGS, **watch_units(NODE_IP)},
            enable=["nodenetd.service", "lab-first-answer.service"],
        )
        lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, addresses={node.mac(): IPv4Address(NODE_IP)}))
        for _ in range(runs):
            for boot in ("first boot", "reboot"):
                node.boot()
                settle(node)
                yield boot, first_answer(node) - stage_ended(node, "nodeip")
                if boot == "reboot":
                    node.run(f"rm {SELECTION}")
                node.off()


def zone() -> Mapping[str, str]:
    """Return dnsmasq's configuration and the names of a cluster with so many nodes."""
    nodes = tuple(ClusterNode(f"node-{n}", (ip_address(f"10.88.1.{n + 1}"),), Role.WORKER) for n in range(NODES))
    vips = (ip_address("10.88.0.5"),), (ip_address("10.88.0.6"),)
    options = Options("baremetal", DOMAIN, *vips)
    places = {Family.IPV4: Place(ip_address("127.0.0.1"), "lo", ip_network("127.0.0.0/8"))}
    made = plan(Inputs(options, Here("node-0", places), nodes=nodes))
    text = made.texts[Service.DNSMASQ].replace(f"enable-dbus={BUS_NAME}\n", "")  # its name needs nodenet's policy
    return {"/run/bench/dnsmasq.conf": text, str(HOSTS): made.hosts}


def questions() -> str:
    """Return what is asked: api-int, an application, and nodes, in dnsperf's form."""
    names = [f"api-int.{DOMAIN}", f"console.apps.{DOMAIN}", *(f"node-{n}.{DOMAIN}" for n in range(NODES))]
    return "".join(f"{name} A\n" for name in names)


def loads(runs: int) -> Iterator[tuple[str, Load]]:
    """Yield what each server answers, in turns."""
    with Lab() as lab:
        lan = lab.lan(dhcp=Dhcp(ipv6=Ipv6.NONE))
        node = lab.node("m0", nics=[lan], layers=[packages(DEFAULT, "dnsmasq-base", "dnsperf"), coredns()])
        node.boot()
        for path, text in {**zone(), "/run/bench/Corefile": COREFILE, "/run/bench/questions": questions()}.items():
            node.run(["sh", "-c", 'mkdir -p "$(dirname "$1")" && printf %s "$2" >"$1"', "sh", path, text])
        start(
            node, "dnsmasq", "dnsmasq --keep-in-foreground --conf-file=/run/bench/dnsmasq.conf --pid-file= --user=root"
        )
        start(node, "coredns", "/usr/local/bin/coredns -conf /run/bench/Corefile")
        servers = {"dnsmasq": 53, "CoreDNS": COREDNS_PORT}
        for port in servers.values():
            node.wait_until(
                f"dnsperf -s 127.0.0.1 -p {port} -d /run/bench/questions -n 1 | grep -q '100.00%'", timeout=20
            )
        for _ in range(runs):
            for name, port in servers.items():
                yield name, load(node, port)


def start(node: Node, unit: str, command: str) -> None:
    """Run a server on the node until it is off."""
    node.run(["systemd-run", "--quiet", f"--unit=bench-{unit}", *command.split()])


def load(node: Node, port: int) -> Load:
    """Ask a server for some seconds."""
    said = node.run(
        f"dnsperf -s 127.0.0.1 -p {port} -d /run/bench/questions -l {SECONDS} -c {CLIENTS} -O latency-histogram",
        timeout=SECONDS + 30,
    ).stdout
    rate = re.search(r"Queries per second:\s+([\d.]+)", said)
    if rate is None:
        raise host.LabError(f"dnsperf said: {said}")
    return Load(float(rate[1]), p99(said))


def p99(said: str) -> float:
    """Return the upper end of the bucket, in milliseconds, that has the 99th of 100 answers."""
    buckets = [(float(high), int(count)) for _, high, count in _BUCKET.findall(said)]
    wanted, seen = 0.99 * sum(count for _, count in buckets), 0
    for high, count in buckets:
        seen += count
        if seen >= wanted:
            return high * 1e3
    raise host.LabError(f"dnsperf has no histogram: {said}")


_BUCKET = re.compile(r"^\s*([\d.]+)\s*-\s*([\d.]+):\s+(\d+)", re.MULTILINE)


def coredns() -> Path:
    """Return a layer with CoreDNS in /usr/local/bin; it is built on first use, which takes some minutes."""
    seen = hashlib.sha256(b"".join((MODULE / name).read_bytes() for name in ("go.mod", "go.sum")))
    shelf = host.cache() / "coredns"
    shelf.mkdir(parents=True, exist_ok=True)
    made = shelf / seen.hexdigest()[:16]
    with locked(shelf / "lock"):
        if not made.is_dir():
            host.progress("building CoreDNS (once; some minutes)")
            with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
                place = Path(scratch) / "tree/usr/local/bin"
                place.mkdir(parents=True)
                for name in ("go.mod", "go.sum"):
                    shutil.copy(MODULE / name, scratch)
                words = ["build", "-mod=readonly", "-trimpath", "-ldflags", "-s -w", "-o", str(place / "coredns")]
                run_go([*words, "github.com/coredns/coredns"], Path(scratch))
                (Path(scratch) / "tree").rename(made)
        host.prune(shelf)
    return made


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20)
    runs = parser.parse_args().runs
    by_boot: dict[str, list[float]] = {}
    for boot, seconds in first_answers(runs):
        by_boot.setdefault(boot, []).append(seconds)
    for boot, values in by_boot.items():
        shown = f"median {statistics.median(values):.3f} s, worst {max(values):.3f} s"
        print(f"{boot}: from the node IP to the first answer there: {shown}", flush=True)
    if shutil.which("go") is None:
        print("queries a second: not measured, Go is not installed and CoreDNS cannot be built")
        return 0
    by_server: dict[str, list[Load]] = {}
    for name, one in loads(runs):
        by_server.setdefault(name, []).append(one)
    for name, all_of in by_server.items():
        rate, slowest = statistics.median(one.rate for one in all_of), min(one.rate for one in all_of)
        late, latest = statistics.median(one.p99 for one in all_of), max(one.p99 for one in all_of)
        print(
            f"{name}: {rate:.0f} answers a second (worst {slowest:.0f}), 99 of 100 within {late:.2f} ms "
            f"(worst {latest:.2f} ms)",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
