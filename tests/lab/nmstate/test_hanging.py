"""An apply that takes long or never ends: what the status says meanwhile, how long it is waited for, what is left."""

from __future__ import annotations

from debian_packages import PYTHON
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan, Node, eventually
from harness.product import PACKAGES
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import ManagerState
from saboteur import add_saboteur
from story import STATIC, causes, checkpoints, mtu, node_file, nothing_left, settle, shorter, stage, status, story

SETTINGS = "/etc/nodenet/nodenet.toml"
PATH = node_file("worker-0.yml")


def stopped_worker(node: Node) -> str:
    """Return the process id of the libnmstate worker, stopped in the middle of its apply."""
    find = "test -e /var/lib/nodenet/change.json && pgrep -f '[n]mstate/worker.py'"
    pid = node.wait_until(find, timeout=30).strip()
    node.run(["kill", "-STOP", pid])
    return pid


def test_a_worker_that_hangs_is_killed_at_its_deadline(product_node: NodeFactory) -> None:
    """The network is put back at once, the apply is tried again, and kubelet gets its node IP."""
    files = {PATH: STATIC, SETTINGS: "apply_timeout = 10\n"}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    pid = stopped_worker(node)
    assert not node.started("kubelet")
    document = settle(node, timeout=90)
    assert node.run(f"test -e /proc/{pid}", check=False).returncode == 1
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert [line["MESSAGE"] for line in story(node) if "did not finish `apply` within 10 s" in line["MESSAGE"]]
    nothing_left(node)


def test_the_node_file_is_named_while_it_is_applied_for_the_first_time(product_node: NodeFactory) -> None:
    """In the status document, in the status for people, in STATUS= and in the journal (R11)."""
    node = product_node(files={PATH: STATIC}, flavour=Flavour.OPENSHIFT)
    node.boot()
    pid = stopped_worker(node)
    shown = "systemctl show -p StatusText --value nodenetd"
    node.wait_until(f"{shown} | grep -qx 'nmstate: running, node file worker-0.yml'", timeout=20)
    document = status(node)
    text = node.run("nodenetctl status", check=False).stdout
    digest = node.run(["sha256sum", PATH]).stdout.split()[0]
    assert (stage(document, "nmstate")["status"], document["ready"]) == ("running", False)
    assert (document["node_file"], document["digest"], document["applied_digest"]) == ("worker-0.yml", digest, None)
    assert f"  node file   worker-0.yml ({digest[:12]}), not applied yet; host name worker-0\n" in text
    assert [line["NODE_FILE"] for line in story(node) if line["MESSAGE"] == f"Found the node file {PATH}"] == [PATH]
    node.run(["kill", "-CONT", pid])
    document = settle(node)
    assert (document["health"], document["applied_digest"]) == ("ok", digest)
    nothing_left(node)


STOPPER = """#!/bin/sh
# Stop NetworkManager's process in the middle of an apply: it keeps its place on the bus and answers nothing.
until test -e /var/lib/nodenet/change.json && busctl get-property org.freedesktop.NetworkManager \
  /org/freedesktop/NetworkManager org.freedesktop.NetworkManager Checkpoints 2>/dev/null | grep -q Checkpoint/
do sleep 0.01; done
kill -STOP "$(systemctl show -p MainPID --value NetworkManager)" && touch /run/lab-stopped
"""
GO_ON = 'kill -CONT "$(systemctl show -p MainPID --value NetworkManager)"'
LEFT = (
    "the rollback is left to NetworkManager, which does not answer "
    "(no answer from org.freedesktop.NetworkManager within 5 s)"
)
TAG = f"c{PYTHON.replace('.', '').replace('python', 'python-')}"
SHORT = 40
"""Seconds for which a file is tried again, and an undo waited for, in the place of five minutes."""
AT_MOST = {
    "nodenet/core/apply/new_file.py": ("BUDGET_SECONDS = 300.0", f"BUDGET_SECONDS = {SHORT}.0"),
    "nodenet/stages/apply/undo.py": ("LONGEST_SECONDS = 300.0", f"LONGEST_SECONDS = {SHORT}.0"),
}
COMPILED = {
    f"{PACKAGES}/nodenet/{where}.{TAG}.pyc": ""
    for where in ("core/apply/__pycache__/new_file", "stages/apply/__pycache__/undo")
}
"""Bytecode for the bundled interpreter, which does not compare it with the source; an empty file is passed over."""
SECOND_LINK = """interfaces:
- name: eth1
  type: ethernet
  state: up
  mtu: 1402
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: 10.88.1.50
      prefix-length: 24
"""


def stopping_node(product_node: NodeFactory, document: str, *nics: Lan, **files: str) -> Node:
    """Return a node whose NetworkManager stops in the middle of the apply of *document*."""
    contents = {PATH: document, SETTINGS: "apply_timeout = 10\n"}
    node = product_node(files=contents | files, flavour=Flavour.OPENSHIFT, nics=nics)
    add_saboteur(node, STOPPER)
    return node


def test_a_network_manager_that_hangs_in_an_apply_and_goes_on(product_node: NodeFactory, lan: Lan) -> None:
    """The apply ends at its deadline, the wait says who does not answer, and the next try is good (R8)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = stopping_node(product_node, STATIC, lan)
    node.boot()
    node.wait_until("test -e /run/lab-stopped", timeout=30)
    shown = f"nmstate: {ManagerState.SILENT}"
    node.wait_until(f"systemctl show -p StatusText --value nodenetd | grep -Fx '{shown}'", timeout=60)
    tries = [entry["MESSAGE"] for entry in story(node) if entry.get("MESSAGE_ID") == Message.APPLY_RETRY.value]
    assert tries == [f"Try 1 of 3 to apply worker-0.yml failed: libnmstate did not finish `apply` within 10 s; {LEFT}"]
    assert (status(node)["node_file"], node.started("kubelet")) == ("worker-0.yml", False)
    node.run(GO_ON)
    document = settle(node, timeout=90)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"
    assert node.addresses() == ["10.88.0.50"]
    assert causes(node) == []
    nothing_left(node)


def test_a_network_manager_that_hangs_for_good_does_not_hold_kubelet_back(
    product_node: NodeFactory, lab: Lab, lan: Lan
) -> None:
    """Kubelet starts on the link that the file does not touch; NetworkManager rolls back when it goes on (R8)."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    second = lab.lan("second", dhcp=Dhcp(router=False, ipv6=Ipv6.NONE))
    node = stopping_node(product_node, SECOND_LINK, lan, second, **shorter(AT_MOST), **COMPILED)
    node.boot()
    node.wait_until("test -e /run/lab-stopped", timeout=30)
    document = settle(node, timeout=SHORT + 120)
    (node_ip,) = node.addresses()
    assert (document["health"], document["ready"], document["node_ips"]) == ("degraded", True, [node_ip])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == node_ip
    failed = stage(document, "nmstate")
    assert failed["status"] == "failed"
    assert "which does not answer" in failed["detail"]
    assert SHORT <= failed["ended"] - failed["started"] < SHORT + 40
    refused, left = causes(node)
    assert (LEFT in refused, left.startswith("what a change has left is not undone: ")) == (True, True)
    node.run(GO_ON)
    eventually(lambda: checkpoints(node) == "ao 0", "NetworkManager's own rollback", timeout=90, pause=0.5)
    addresses, old_mtu = "ip -4 -o address show dev eth1", "grep -qx 1500 /sys/class/net/eth1/mtu"
    node.wait_until(f"{addresses} | grep -q inet && ! {addresses} | grep -q 10.88.1.50 && {old_mtu}", timeout=60)
    assert (mtu(node, "eth1"), node.addresses(), status(node)["node_ips"]) == (1500, [node_ip], [node_ip])
    node.run("systemctl reload nodenetd", timeout=60)
    document = settle(node)
    assert (document["health"], document["node_ips"], mtu(node, "eth1")) == ("ok", [node_ip], 1402)
    nothing_left(node)


def test_a_stop_in_an_apply_while_network_manager_hangs(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """It takes longer than the stop timeout, which is extended; the next start finds what was left and is good (R8).

    After READY: before it, and in a reload, the start timeout was extended a moment ago.
    """
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    second = lab.lan("second", dhcp=Dhcp(router=False, ipv6=Ipv6.NONE))
    limit = {"/etc/systemd/system/nodenetd.service.d/90-lab.conf": "[Service]\nTimeoutStopSec=2\n"}
    node = stopping_node(product_node, "# later\n", lan, second, **limit, **{SETTINGS: "apply_timeout = 60\n"})
    node.boot()
    before = settle(node)["node_ips"]
    node.write(PATH, SECOND_LINK)
    node.run("busctl call org.nodenet1 /org/nodenet1 org.nodenet1.Manager RunStage s nmstate")
    node.wait_until("test -e /run/lab-stopped", timeout=30)
    node.run("systemctl stop nodenetd", timeout=60)
    assert node.run("systemctl show -p Result --value nodenetd").stdout.strip() == "success"
    (cause,) = causes(node)  # systemd ends the child of libnmstate too: which of both ends first is open
    assert LEFT in cause
    node.run(GO_ON)
    node.run("systemctl start nodenetd", timeout=60)
    document = settle(node)
    assert (document["health"], document["node_ips"], mtu(node, "eth1")) == ("ok", before, 1402)
    nothing_left(node)
