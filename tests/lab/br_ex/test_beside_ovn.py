"""A node on which OVN runs: whatever nodenetd does, everything of OVN is there afterwards, and no pod notices.

OVN's programs, NetworkManager and Open vSwitch are the real ones; a script does what ovnkube-node does (`ovn.py`).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import ovn
from br_ex.test_make import BOTH, BRIDGED, DHCP_ONLY, KEYFILES, SETTINGS, STATIC, audits
from br_ex.test_more import BRIDGED4
from br_ex.test_node_file import AS_DOCUMENTED, FILES
from factories import NodeFactory
from harness import Flavour, LabError, Lan, Node, eventually
from pinger import Pinger
from story import NODE_FILES, causes, lease_confirmed, nothing_left, settle

OK = """nodenetctl status --json | grep -q '"health": "ok"'"""
FILE = f"{NODE_FILES}/worker-0.yml"
NODE_FILE = ("file", "extra")
EXTRA = "allow-extra-patch-ports: true"
SEEN = """ip -4 -o address show dev br-ex | sed 's/^[0-9]*: //; s/valid_lft.*//'
ip -6 -o address show dev br-ex scope global | sed 's/^[0-9]*: //; s/valid_lft.*//'
ip -4 route show table all dev br-ex
ip -6 route show table all dev br-ex | grep -v -e fe80 -e ff00 | sed 's/expires [0-9]*sec//' || true
ip rule
ip neigh show dev br-ex nud permanent
ovs-vsctl list-ports br-ex
ovs-vsctl list-ports br-int
ovs-vsctl --columns=external_ids list open .
ovs-vsctl get interface eth0 ofport
"""
"""What OVN has put there, and the node's own addresses and routes beside that."""


RUNNING = """ovs-vsctl --columns=external_ids list bridge br-ex
ovs-ofctl --no-stats dump-flows br-ex cookie=0xdeff105/-1
systemctl show --property=NRestarts --property=MainPID --property=ActiveState ovnkube ovn-controller
"""
"""OVN's ids of br-ex and its flows there, which live as long as this br-ex; its processes."""


def seen(node: Node, what: str = SEEN) -> list[str]:
    """Return all that is on br-ex: what OVN put there, and the node's own; less while br-ex is away."""
    return sorted(line.strip() for line in node.run(what, check=False).stdout.splitlines())


def same_again(node: Node, before: list[str], what: str = SEEN, *, timeout: float = 30) -> None:
    """Wait until all is there that was before, and nothing else."""
    with contextlib.suppress(LabError):
        eventually(lambda: seen(node, what) == before, "the network from before", timeout=timeout, pause=0.5)
    now = seen(node, what)
    assert ([line for line in before if line not in now], [line for line in now if line not in before]) == ([], [])
    assert node.run(f"grep -l -e 169.254 -e 172.30 -e fd69 -e 10.128 {KEYFILES}/*", check=False).stdout == ""


def keyfiles(node: Node) -> str:
    """Return what the profiles on the disk say, but for when they were used."""
    return node.run(f"sha256sum {KEYFILES}/*").stdout


@contextmanager
def nothing_happens(node: Node, *, seconds: float = 30.0) -> Iterator[None]:
    """Assert that the block leaves OVN's things, the profiles and NetworkManager alone, and takes few *seconds*."""
    before = seen(node, SEEN + RUNNING), keyfiles(node), audits(node)
    began = time.monotonic()
    with ovn.pod_reaches_gateway(node):
        yield
        document = settle(node)
        took = time.monotonic() - began
    assert (seen(node, SEEN + RUNNING), keyfiles(node), audits(node)) == before
    assert document["health"] == "ok", document["problems"]
    assert took < seconds
    nothing_left(node)


Booted = Callable[[str], Node]


@pytest.fixture
def booted(product_node: NodeFactory, product: Path, lan: Lan) -> Booted:
    """Boots a node with a br-ex that a node file or nodenetd has made, and starts OVN on it."""

    def make(kind: str) -> Node:
        files: dict[str, Any] = FILES if kind in NODE_FILE else {SETTINGS: BRIDGED4}
        if kind == "extra":
            files = files | {FILE: AS_DOCUMENTED.replace("  bridge:\n", f"  bridge:\n    {EXTRA}\n")}
        elif kind == "dual":
            files = {SETTINGS: BOTH + BRIDGED}
        elif kind == "dhcp":
            lan.start_dhcp(DHCP_ONLY)
        if kind in (*NODE_FILE, "static"):
            lan.stop_dhcp()
        node = product_node(files=files | ovn.FILES, flavour=Flavour.OPENSHIFT, layers=[product, ovn.layer()])
        ovn.install(node)
        if kind in NODE_FILE:
            node.enable("card.service")
        if kind == "static":
            node.write(f"{KEYFILES}/uplink.nmconnection", STATIC, 0o600)
        node.boot()
        document = settle(node, timeout=120)
        assert (document["health"], document["link"]) == ("ok", "br-ex"), document["problems"]
        lease_confirmed(node)
        ovn.start(node)
        return node

    return make


@pytest.mark.parametrize("kind", ["file", "extra", "dhcp", "static", "dual"])
def test_a_reload_a_restart_and_a_kill_change_nothing(booted: Booted, lan: Lan, kind: str) -> None:
    """Nothing is applied again, no profile is written, and the node stays ok."""
    node = booted(kind)
    address = node.addresses("br-ex")[0].split("/")[0]
    with Pinger(lan, address) as pinger:
        pinger.wait_for_reply()
        with nothing_happens(node):
            node.run("nodenetctl reload --wait", timeout=60)
        with nothing_happens(node):
            node.run("systemctl restart nodenetd", timeout=60)
        with nothing_happens(node, seconds=60):
            node.run("systemctl kill -s KILL nodenetd; sleep 6", timeout=60)
    assert pinger.outage < 1.0  # a busy machine with the datapath in userspace is silent for some tenths by itself
    assert causes(node) == []


def test_an_edit_leaves_what_is_of_ovn(booted: Booted) -> None:
    """The file gives br-ex another address; OVN's things are put back, and get into no profile."""
    node = booted("file")
    before = seen(node)
    address = '    - ip: "10.88.0.110"\n      prefix-length: 24\n'
    more = '    - ip: "10.88.0.111"\n      prefix-length: 24\n'
    assert AS_DOCUMENTED.count(address) == 1
    node.write(FILE, AS_DOCUMENTED.replace(address, address + more))
    node.run("nodenetctl reload --wait", timeout=60)
    document = settle(node)
    assert document["health"] == "ok", document["problems"]
    added = [line for line in seen(node) if line not in before]
    assert [line for line in before if line not in seen(node)] == []
    assert all("10.88.0.111" in line for line in added)
    assert added
    page = node.run(["nodenetctl", "report", "--html", "-"], timeout=60).stdout
    assert page.count("patch port to br-int</text>") == page.count("patch port to br-ex</text>") == 1
    assert node.run(f"grep -l -e 169.254 -e 172.30 -e fd69 -e 10.128 {KEYFILES}/*", check=False).stdout == ""
    node.write(FILE, AS_DOCUMENTED)
    node.run("nodenetctl reload --wait", timeout=60)
    assert seen(node) == before
    with nothing_happens(node):
        node.run("systemctl restart nodenetd", timeout=60)
    assert causes(node) == []


def test_a_file_that_is_rolled_back_and_a_trial_leave_what_is_of_ovn(booted: Booted) -> None:
    """A gateway that does not answer; and a trial that ends by its time.

    NetworkManager's rollback makes the bridge again. ovnkube is stopped, so it puts nothing back itself.
    """
    node = booted("file")
    ovn.stop(node)
    before = seen(node)
    node.write(FILE, AS_DOCUMENTED.replace("next-hop-address: 10.88.0.1\n", "next-hop-address: 10.88.0.99\n"))
    assert node.run("nodenetctl reload --wait", timeout=120, check=False).returncode != 0
    same_again(node, before)
    node.write(FILE, AS_DOCUMENTED)
    node.run("nodenetctl reload --wait", timeout=120)
    settle(node)
    before = seen(node)
    node.write("/root/tried.yml", AS_DOCUMENTED.replace("prefix-length: 24", "prefix-length: 25"))
    node.run("nodenetctl try --for 5s /root/tried.yml", timeout=120, check=False)
    node.wait_until(OK, timeout=60)
    same_again(node, before)
    nothing_left(node)
    ovn.start(node)


@pytest.mark.parametrize("kind", ["file", "static"])
def test_what_stood_only_in_the_kernel_is_there_after_a_restart_of_network_manager(booted: Booted, kind: str) -> None:
    """NetworkManager deletes br-ex and makes it again, and ovnkube is stopped; ovn-controller makes its ports again.

    Over DHCP alone the lease may come late: OVN's router has the MAC of br-ex, and without the flows of ovnkube the
    bridge sends it the server's answers.
    """
    node = booted(kind)
    ovn.stop(node)
    before = seen(node), keyfiles(node)
    time.sleep(20)  # nodenetd has looked at it with a beat of its watchdog
    node.run("systemctl restart NetworkManager", timeout=60)
    same_again(node, before[0], timeout=90)
    node.wait_until(OK, timeout=60)
    assert keyfiles(node) == before[1]
    ovn.start(node)
    with nothing_happens(node):
        node.run("nodenetctl reload --wait", timeout=60)
    nothing_left(node)


SET_DOWN = """import pathlib, subprocess, time
def of(what): return (pathlib.Path("/sys/class/net/br-ex") / what).read_text().strip()
before, until = of("ifindex"), time.monotonic() + 30
subprocess.run(["systemctl", "restart", "--no-block", "NetworkManager"], check=True)
while time.monotonic() < until:
    try:
        made_again = of("ifindex") != before and int(of("flags"), 16) & 1
    except OSError:
        continue
    if made_again:
        time.sleep(0.01)
        break
subprocess.run(["ip", "link", "set", "br-ex", "down"], check=True)
"""
"""Lets NetworkManager make br-ex again, and sets it down just behind that, as Open vSwitch does on a busy machine."""


def test_network_manager_does_not_wait_for_ever_for_br_ex(booted: Booted) -> None:
    """It sets br-ex up once; what sets it down behind that kept the node without its address until the next boot."""
    node = booted("file")
    ovn.stop(node)
    before = seen(node)
    time.sleep(20)  # nodenetd has looked at it with a beat of its watchdog
    node.write("/root/down.py", SET_DOWN)
    node.run("python3 /root/down.py", timeout=60)
    same_again(node, before, timeout=90)
    node.wait_until(OK, timeout=60)
    node.run("ip link set br-ex down", timeout=60)  # an administrator's, who finds it so
    time.sleep(20)
    assert node.run("cat /sys/class/net/br-ex/operstate").stdout.strip() == "down"


OFPORT = "ovs-vsctl get interface eth0 ofport"


@pytest.mark.parametrize("kind", ["file", "static"])
def test_the_uplink_keeps_its_port_number(booted: Booted, kind: str) -> None:
    """Over restarts of NetworkManager, activations, a reboot and a power cut; OVN-Kubernetes exits when it changes."""
    node = booted(kind)
    before, number = seen(node), node.run(OFPORT).stdout
    time.sleep(20)  # nodenetd has looked at it with a beat of its watchdog
    assert number.strip().isdigit()
    for _ in range(3):
        node.run("systemctl restart NetworkManager; sleep 4", timeout=60)
        node.wait_until("ip -4 -o address show dev br-ex | grep -q 10.88", timeout=60)
        assert node.run(OFPORT).stdout == number
    ovn.start(node)
    same_again(node, before, timeout=60)
    node.run("nmcli connection up eth0 || nmcli device reapply eth0 || true; sleep 3", timeout=60)
    assert node.run(OFPORT).stdout == number
    settle(node)
    if kind == "static":
        node.run("nodenetctl bridge remove", timeout=120)
        node.run("nodenetctl bridge make", timeout=120)
        assert node.run(OFPORT).stdout == number
    node.reboot()
    settle(node, timeout=120)
    assert node.run(OFPORT).stdout == number


def test_what_is_on_br_ex_comes_back_with_it(booted: Booted) -> None:
    """`bridge remove` takes br-ex away on purpose; `bridge make` works with OVN's bridges there, and brings it back."""
    node = booted("static")
    ovn.stop(node)
    before = seen(node)
    node.run("nodenetctl bridge remove", timeout=120)
    node.run("nodenetctl bridge make", timeout=120)
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex"), document["problems"]
    same_again(node, before)
    ovn.start(node)
    assert seen(node) == before
    with nothing_happens(node):
        node.run("systemctl restart nodenetd", timeout=60)
    assert causes(node) == []
