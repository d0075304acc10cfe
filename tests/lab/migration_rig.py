"""A small cluster whose API moves to an external load balancer and back, and clients that ask for it all the time."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dns_questions import ask
from harness import Lab, Lan, Node
from harness import namespaces as ns
from harness.kube import Cluster
from hosted_cluster_objects import MANIFESTS, RESOURCE, RESOURCES, resource
from hosted_operators import SETTINGS, Operators, beat, operated
from kube_nodes import add_node
from vip_rig import DOMAIN, Options, Rig, until

BALANCER = "10.88.0.9"
NAME = f"api-int.{DOMAIN}"
PROXY = """
import socket, sys, threading
servers = sys.argv[2:]
def copy(source, target):
    try:
        while data := source.recv(65536):
            target.sendall(data)
    except OSError:
        pass
    for end in (source, target):
        try:
            end.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
def serve(client, number):
    for turn in range(len(servers)):
        try:
            server = socket.create_connection((servers[(number + turn) % len(servers)], 6443), 2)
        except OSError:
            continue
        threading.Thread(target=copy, args=(client, server), daemon=True).start()
        return copy(server, client)
    client.close()
with socket.create_server((sys.argv[1], 6443), backlog=128) as line:
    number = 0
    while True:
        client, _ = line.accept()
        number += 1
        threading.Thread(target=serve, args=(client, number), daemon=True).start()
"""
"""A load balancer: passes TCP on to the API servers in turn."""
CLIENT = f"""
import socket, ssl, time
tls = ssl.create_default_context(cafile="/etc/kubernetes/ca.crt")
tls.verify_flags &= ~ssl.VERIFY_X509_STRICT
with open("/run/client.log", "a", buffering=1) as log:
    while True:
        began = time.time()
        try:
            place = socket.getaddrinfo("{NAME}", 6443, socket.AF_INET, socket.SOCK_STREAM)[0][4]
            with socket.create_connection(place, 20) as plain, tls.wrap_socket(plain, server_hostname="{NAME}") as line:
                line.sendall(b"GET /readyz HTTP/1.1\\r\\nHost: api-int\\r\\nConnection: close\\r\\n\\r\\n")
                found = f"{{place[0]}} {{line.recv(64).split()[1].decode()}}"
        except (OSError, IndexError) as error:
            found = f"- {{error!r}}"
        print(f"{{began:.3f}} {{found}}", file=log)
        time.sleep(max(0, began + 0.1 - time.time()))
"""


class Balancer:
    """A host of the LAN with the external load balancer."""

    def __init__(self, lan: Lan, servers: list[str]) -> None:
        self._lan = lan
        self._servers = servers
        self._netns = f"{lan.netns}-balancer"
        self._group = lan._group.with_name("balancer")
        ns.make_netns(self._netns)
        lan.plug("balancer", self._netns, "eth0", "02:00:00:00:99:01")
        ns.ip(self._netns, "address", "add", f"{BALANCER}/24", "dev", "eth0")
        ns.ip(self._netns, "link", "set", "eth0", "up")
        self.start()

    def start(self) -> None:
        inside = ["ip", "netns", "exec", self._netns, "python3", "-c", PROXY, BALANCER, *self._servers]
        self._process = ns.start_in_cgroup(self._group, inside, output=self._lan.state / "balancer.log")

    def stop(self) -> None:
        ns.end(self._process)

    def remove(self) -> None:
        self.stop()
        ns.remove_netns(self._netns)
        ns.kill_cgroup(self._group)


class Story:
    """The phases of the object as they come, and what the clients saw in each."""

    def __init__(self, cluster: Cluster, rig: Rig) -> None:
        self.cluster = cluster
        self.rig = rig
        self.seen: list[tuple[float, str]] = []
        self.marks = dict.fromkeys(rig.names, 0)

    @property
    def migration(self) -> dict[str, Any]:
        found = self.cluster.admin.find(RESOURCE) or {}
        migration: dict[str, Any] = (found.get("status") or {}).get("migration") or {}
        if migration and (not self.seen or self.seen[-1][1] != migration["phase"]):
            self.seen.append((time.time(), migration["phase"]))
        return migration

    def edit(self, address: str | None) -> None:
        """Ask for another address."""
        self.seen = [(time.time(), self.migration["phase"])]
        self.cluster.admin.patch(RESOURCE, {"spec": {"apiintIpAddress": address}})

    def until(self, what: str, **wanted: Any) -> None:
        """Wait until the record has these values."""
        until(lambda: {key: self.migration.get(key) for key in wanted} == wanted, f"{what}: {wanted}", 180)

    def phases(self) -> list[tuple[str, float, float]]:
        """Return each phase since the edit, with its begin and end."""
        ends = [*(began for began, _ in self.seen[1:]), time.time()]
        return [(phase, began, ended) for (began, phase), ended in zip(self.seen, ends, strict=True)]

    def failed(self, title: str) -> list[str]:
        """Print requests and failures of each phase; return the failures."""
        lines = []
        for name, node in self.rig.nodes.items():
            if not node.is_on:
                continue
            said = node.run("cat /run/client.log").stdout.splitlines()
            lines += [f"{line} {name}" for line in said[self.marks[name] :]]
            self.marks[name] = len(said)
        bad = [line for line in lines if line.split()[2] != "200"]
        for phase, began, ended in self.phases():
            inside = [line for line in lines if began <= float(line.split()[0]) < ended]
            wrong = [line for line in inside if line in bad]
            print(f"{title}: {phase:14} {ended - began:5.1f} s  {len(inside):4} requests, {len(wrong)} failed")  # noqa: T201
        return bad


@contextlib.contextmanager
def beating(cluster: Cluster, names: list[str]) -> Iterator[None]:
    """Renew the Leases of nodes as their kubelets would."""
    over = threading.Event()

    def run() -> None:
        while not over.is_set():
            with contextlib.suppress(OSError):
                beat(cluster, *names)
            over.wait(5)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(30)


def follows(node: Node, address: str, *, haproxy: bool) -> bool:
    """Return whether a node answers the address, and whether its haproxy runs as it should."""
    runs = node.run("systemctl is-active nodenet-haproxy", check=False).stdout.strip() == "active"
    return ask(node, NAME) == f"NOERROR {address}" and runs is haproxy


def drains(operators: Operators, name: str, seconds: int) -> None:
    """Start an operator that drains for *seconds*."""
    (operators.directory / "nodenet.toml").write_text(f"{SETTINGS}hosted.drain_seconds = {seconds}\n")
    operators.start(name)


@dataclass(frozen=True, slots=True)
class Migrating:
    """The parts of the cluster; kubelets of the nodes in *alive* renew their Leases."""

    rig: Rig
    story: Story
    balancer: Balancer
    operators: Operators
    alive: list[str]


@contextlib.contextmanager
def migrating(lab: Lab, lan: Lan, product: Path, *, drain_seconds: int) -> Iterator[Migrating]:
    """Boot two control-plane nodes with a client each, the load balancer, and an operator that is named "first"."""
    rig = Rig(lab, lan, product, Options(nodes=2))
    with Cluster(lan) as cluster:
        for path in MANIFESTS:
            cluster.kubectl("apply", "-f", str(path))
        operators = Operators(operated(cluster))
        for number, name in enumerate(rig.names):
            add_node(cluster, name, number)
            rig.nodes[name].write("/etc/kubernetes/kubeconfig", cluster.node_client(name).kubeconfig(), 0o600)
        until(lambda: cluster.admin.find(RESOURCES), "the kind")
        cluster.admin.create(RESOURCES, resource({}))
        rig.boot()
        rig.ready()
        balancer = Balancer(lan, [f"10.88.0.{20 + number}" for number in range(2)])
        try:
            alive = list(rig.names)
            with beating(cluster, alive):
                drains(operators, "first", drain_seconds)
                story = Story(cluster, rig)
                story.until("the record", phase="SelfHosted", attempt=0)
                for node in rig.nodes.values():
                    node.run(["systemd-run", "--unit=lab-client", "--quiet", "python3", "-c", CLIENT])
                yield Migrating(rig, story, balancer, operators, alive)
        finally:
            balancer.remove()
            for name in list(operators.names):
                operators.end(name)
