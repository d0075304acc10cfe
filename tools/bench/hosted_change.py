"""How soon have haproxy and dnsmasq changed after a Node has? One control-plane node beside a real kube-apiserver."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from harness import Lab, Node
from harness.kube import Cluster
from harness.lan import Dhcp, Ipv6
from kube_nodes import BINDING, ROLE, add_node
from vip_rig import DOMAIN, Options, Rig, until

WATCH = """
import json, socket, struct, sys, time
address, name = sys.argv[1], sys.argv[2]
question = struct.pack("!6H", 7, 0x100, 1, 0, 0, 0)
question += b"".join(bytes([len(part)]) + part.encode() for part in name.split(".")) + b"\\0\\0\\1\\0\\1"
found = {}
def haproxy():
    with socket.socket(socket.AF_UNIX) as line:
        line.connect("/run/nodenet-haproxy/admin.sock")
        line.sendall(b"show servers conn api\\n")
        return address in line.makefile().read()
def dnsmasq():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as line:
        line.settimeout(0.2)
        line.sendto(question, ("127.0.0.1", 53))
        return line.recv(512)[-4:] == socket.inet_aton(address)
print("ready", flush=True)
until = time.monotonic() + 30
while len(found) < 2 and time.monotonic() < until:
    for look in (haproxy, dnsmasq):
        try:
            if look.__name__ not in found and look():
                found[look.__name__] = time.monotonic()
        except OSError:
            pass
    time.sleep(0.01)
print(json.dumps(found))
"""
NAME = f"master-1.{DOMAIN}"


def change_of_a_node(product: Path, runs: int) -> Mapping[str, list[float]]:
    """Return the seconds from the change of a Node's address until each program has it."""
    found: dict[str, list[float]] = {"haproxy": [], "dnsmasq": []}
    with Lab() as lab:
        lan = lab.lan(dhcp=Dhcp(ipv6=Ipv6.NONE))
        rig = Rig(lab, lan, product, Options(nodes=1))
        node = rig.nodes["master-0"]
        with Cluster(lan) as cluster:
            for document in (ROLE, BINDING):
                cluster.admin.apply(document)
            for number in range(2):
                add_node(cluster, f"master-{number}", number)
            node.write("/etc/kubernetes/kubeconfig", cluster.node_client("master-0").kubeconfig(), 0o600)
            rig.boot()
            until(lambda: "10.88.0.21" in node.run("cat /run/nodenet/hosted/hosts", check=False).stdout, "the Node")
            for number in range(runs):
                for program, seconds in _once(node, cluster, f"10.88.0.{100 + number % 100}").items():
                    found[program].append(seconds)
    return {f"a Node changed, until {program} has it": values for program, values in found.items()}


def _once(node: Node, cluster: Cluster, address: str) -> Mapping[str, float]:
    command = node.enter_argv("python3", "-c", WATCH, address, NAME)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as watch:
        if watch.stdout is not None:
            watch.stdout.readline()
        began = time.monotonic()
        changed = {"status": {"addresses": [{"type": "InternalIP", "address": address}]}}
        cluster.admin.patch("/api/v1/nodes/master-1/status", changed)
        times = json.loads(watch.communicate()[0])
    time.sleep(1.0)
    return {program: at - began for program, at in times.items()}
