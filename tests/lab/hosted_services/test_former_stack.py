"""An upgrade from the stack of static pods and back, node by node; the cluster has no platform of its own (UPI)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from itertools import groupby
from pathlib import Path

from dns_questions import ask, until_answer
from former_stack import PODS, files_of, install, manifests
from harness import Lab, Lan, Node
from harness.rootfs import DEFAULT, packages
from vip_rig import API, DOMAIN, FIRST, Options, Rig, until, weight

ROUTER_ID = 77
"""That of the former stack for the API VIP of a cluster that is called c1."""
SETTINGS = "/etc/nodenet/nodenet.toml"
CLIENT = """
import socket, sys, time
while True:
    began = time.monotonic()
    try:
        socket.create_connection((sys.argv[1], 6443), 0.3).close()
        print("+", end="", flush=True)
        time.sleep(0.02)
    except OSError:
        print("-", end="", flush=True)
        time.sleep(max(0, 0.3 - (time.monotonic() - began)))
"""
BOTH = """
import time
def runs(unit):
    try:
        return open(f"/sys/fs/cgroup/system.slice/{unit}.service/cgroup.procs").read() != ""
    except OSError:
        return False
print("ready", flush=True)
while True:
    for program in ("keepalived", "haproxy"):
        if runs("lab-" + program) and runs("nodenet-" + program):
            print(program, flush=True)
    time.sleep(0.01)
"""
TAKEOVER_SECONDS = 4.0
"""Three intervals and the skew of VRRP."""
FAILED = int(2 * TAKEOVER_SECONDS / 0.3)
"""Fewer connections than this fail in a row: those of two takeovers. A standstill of the machine stops them, too."""


def rig_of_both(lab: Lab, lan: Lan, product: Path) -> Rig:
    """Return two nodes with nodenet and the former stack on their disks; kubelet has the manifests of the latter."""
    rig = Rig(lab, lan, product, Options(nodes=2, layers=[packages(DEFAULT, "curl")]))
    addresses = {name: f"10.88.0.{FIRST + number}" for number, name in enumerate(rig.names)}
    for name, node in rig.nodes.items():
        install(node, files_of(name, addresses, ROUTER_ID))
        manifests(node, there=True)
        node.enable("lab-static-pods.service")
        text = node.path(SETTINGS).read_text()
        text = text.replace('platform = "baremetal"\n', "").replace('enabled = "auto"', 'enabled = "yes"')
        assert "platform" not in text
        node.write(SETTINGS, text)
    return rig


@contextmanager
def never_both(node: Node, path: Path) -> Iterator[None]:
    """Watch that programs of both stacks never run on a node at one time."""
    with (
        path.open("wb") as output,
        subprocess.Popen(node.enter_argv("python3", "-u", "-c", BOTH), stdout=output) as watch,
    ):
        try:
            until(lambda: path.read_text() == "ready\n", "the watch")
            yield
            assert watch.poll() is None
        finally:
            watch.kill()
    assert path.read_text() == "ready\n", f"two stacks on {node.name}"


@contextmanager
def connecting(lan: Lan, path: Path) -> Iterator[None]:
    """Connect to the API's VIP from the LAN, one connection after the other."""
    client = lan.start(sys.executable, "-u", "-c", CLIENT, API, output=path)
    try:
        yield
    finally:
        client.terminate()
        client.wait()


def active(node: Node, *units: str) -> bool:
    shown = node.run(["systemctl", "show", "-P", "ActiveState", *units], check=False).stdout.split()
    return shown == ["active"] * len(units)


def take_over(rig: Rig, name: str) -> None:
    """Take the manifests of a node away: nodenet serves it."""
    node = rig.nodes[name]
    manifests(node, there=False)
    until(lambda: active(node, "nodenet-keepalived", "nodenet-haproxy"), f"{name}: nodenet's services")
    until(lambda: weight(node) in {"20", "25"}, f"{name}: its weight")
    assert not active(node, "lab-keepalived")
    rig.one_holder()


def hand_back(rig: Rig, name: str) -> None:
    """Give a node its manifests back: the former stack serves it."""
    node = rig.nodes[name]
    manifests(node, there=True)
    until(lambda: active(node, "lab-keepalived", "lab-haproxy"), f"{name}: the former services")
    until(lambda: rig.document(name)["phase"] == "WaitingForPeerStack", f"{name}: the state")
    until(lambda: node.run("test -e /run/lab-redirect", check=False).returncode == 0, f"{name}: the former redirect")
    assert "nodenet_hosted" not in node.run("nft list tables").stdout
    rig.one_holder()


def test_an_upgrade_and_a_downgrade_node_by_node_never_lose_the_vip(
    lab: Lab, lan: Lan, product: Path, tmp_path: Path
) -> None:
    """Both stacks are in one VRRP group: each takes the VIP over from the other one."""
    rig = rig_of_both(lab, lan, product)
    rig.boot()
    for name, node in rig.nodes.items():
        until(lambda node=node: active(node, *(f"lab-{pod}" for pod in PODS)), f"{name}: the former stack")  # type: ignore[misc]
        until(lambda name=name: rig.document(name).get("phase") == "WaitingForPeerStack", f"{name}: nodenet waits")  # type: ignore[misc]
    first = rig.one_holder()
    (other,) = (name for name in rig.names if name != first)
    with ExitStack() as watches:
        watches.enter_context(connecting(lan, tmp_path / "client"))
        for name, node in rig.nodes.items():
            watches.enter_context(never_both(node, tmp_path / f"both-{name}"))
        take_over(rig, other)
        assert rig.one_holder() == first, "the holder is of the former stack, with nodenet's node as its peer"
        take_over(rig, first)
        assert rig.moved(first) == other
        served_without_a_platform(rig)
        hand_back(rig, other)
        assert rig.moved(other) == first, "the holder is nodenet's, with a node of the former stack as its peer"
        hand_back(rig, first)
        assert rig.moved(first) == other
    seen = (tmp_path / "client").read_text()
    lost = [len(list(some)) for answer, some in groupby(seen) if answer == "-"]
    print(f"{len(seen)} connections; in a row failed: {lost}")  # noqa: T201  (a measurement)
    assert "+" in seen
    assert max(lost, default=0) < FAILED


def served_without_a_platform(rig: Rig) -> None:
    """`enabled = "yes"`: everything runs, and no platform is named."""
    for name, node in rig.nodes.items():
        until(lambda name=name: rig.document(name)["health"] == "ok", f"{name}: health")  # type: ignore[misc]
        found = rig.document(name)
        assert (found["platform"], found["mode"], found["api_int"]["address"]) == ("none", "self-hosted", API)
        until_answer(node, f"api-int.{DOMAIN}", f"NOERROR {API}", timeout=60)
        until(lambda node=node: active(node, "nodenet-dnsmasq"), f"{name}: nodenet's DNS")  # type: ignore[misc]
        assert ask(node, f"{name}.{DOMAIN}") == f"NOERROR 10.88.0.{FIRST + rig.names.index(name)}"
        until(lambda node=node: "nodenet_hosted" in node.run("nft list tables").stdout, f"{name}: the redirect")  # type: ignore[misc]
