"""A node on which OVN-Kubernetes runs: whatever nodenetd does, everything of OVN is there afterwards.

A script does what ovnkube-node does at its start; NetworkManager and Open vSwitch are the real ones.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from br_ex.test_make import DHCP_ONLY, KEYFILES, SETTINGS, STATIC, audits
from br_ex.test_more import BRIDGED4
from br_ex.test_node_file import AS_DOCUMENTED, FILES
from factories import NodeFactory
from harness import Flavour, Lan, Node
from pinger import Pinger
from story import NODE_FILES, causes, nothing_left, settle

FILE = f"{NODE_FILES}/worker-0.yml"
OVN = """set -e
address=$(ip -4 -o address show dev br-ex scope global | awk 'NR == 1 {sub("/.*", "", $4); print $4}')
ip address add 169.254.0.2/17 dev br-ex
ip -6 address add fd69::2/112 dev br-ex nodad || true
ip route add 169.254.0.1 dev br-ex src $address mtu 1400
ip route add 169.254.0.3 dev br-ex
ip route add 172.30.0.0/16 via 169.254.0.4 dev br-ex src 169.254.0.2 mtu 1400
ip route add 10.128.0.0/14 via 169.254.0.4 dev br-ex table 7
ip neigh replace 169.254.0.4 lladdr 0a:58:a9:fe:00:04 dev br-ex nud permanent
ip rule add priority 30 fwmark 0x1745ec to 172.30.0.0/16 lookup 7
ovs-vsctl --may-exist add-br br-int -- set bridge br-int datapath_type=netdev
here=patch-br-ex_worker-0.ocp.example.com-to-br-int there=patch-br-int-to-br-ex_worker-0.ocp.example.com
ovs-vsctl add-port br-ex $here -- set interface $here type=patch options:peer=$there
ovs-vsctl add-port br-int $there -- set interface $there type=patch options:peer=$here
ovs-vsctl set open . external-ids:ovn-bridge-mappings=physnet:br-ex -- set bridge br-ex external-ids:bridge-uplink=eth0
ovs-ofctl add-flow br-ex cookie=0xdeff105,priority=9,ip,nw_dst=169.254.0.99,actions=drop
"""
SEEN = """ip -4 -o address show dev br-ex | sed 's/^[0-9]*: //; s/valid_lft.*//'
ip -6 -o address show dev br-ex scope global | sed 's/^[0-9]*: //; s/valid_lft.*//'
ip -4 route show table all dev br-ex
ip -6 route show table all dev br-ex | grep -v -e fe80 -e ff00 || true
ip rule
ip neigh show dev br-ex nud permanent
ovs-vsctl list-ports br-ex
ovs-vsctl --columns=external_ids list open . | grep -o ovn-bridge-mappings=[^,}]*
ovs-vsctl get bridge br-ex external_ids:bridge-uplink
ovs-vsctl get interface eth0 ofport
ovs-ofctl --no-stats dump-flows br-ex cookie=0xdeff105/-1
"""
"""What OVN has put there, and the node's own addresses and routes beside that."""


def seen(node: Node) -> list[str]:
    """Return all that is on br-ex: what OVN put there, and the node's own."""
    return sorted(line.strip() for line in node.run(SEEN).stdout.splitlines())


def keyfiles(node: Node) -> str:
    """Return what the profiles on the disk say, but for when they were used."""
    return node.run(f"sha256sum {KEYFILES}/*").stdout


@contextmanager
def nothing_happens(node: Node, *, seconds: float = 10.0) -> Iterator[None]:
    """Assert that the block leaves OVN's things, the profiles and NetworkManager alone, and takes few *seconds*."""
    before = seen(node), keyfiles(node), audits(node)
    began = time.monotonic()
    yield
    document = settle(node)
    took = time.monotonic() - began
    assert (seen(node), keyfiles(node), audits(node)) == before
    assert document["health"] == "ok", document["problems"]
    assert took < seconds
    nothing_left(node)


def booted(kind: str, product_node: NodeFactory, lan: Lan) -> Node:
    """Return a node with a br-ex that a node file or nodenetd has made, and OVN on it."""
    files: dict[str, Any] = {SETTINGS: BRIDGED4}
    if kind == "file":
        files = FILES
        lan.stop_dhcp()
    elif kind == "static":
        lan.stop_dhcp()
    else:
        lan.start_dhcp(DHCP_ONLY)
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    if kind == "file":
        node.enable("card.service")
    if kind == "static":
        node.write(f"{KEYFILES}/uplink.nmconnection", STATIC, 0o600)
    node.boot()
    document = settle(node, timeout=120)
    assert (document["health"], document["link"]) == ("ok", "br-ex"), document["problems"]
    time.sleep(3)  # the lease of br-ex is settled
    node.run(OVN)
    return node


@pytest.mark.parametrize("kind", ["file", "dhcp", "static"])
def test_a_reload_a_restart_and_a_kill_change_nothing(product_node: NodeFactory, lan: Lan, kind: str) -> None:
    """Nothing is applied again, no profile is written, and the node stays ok."""
    node = booted(kind, product_node, lan)
    address = node.addresses("br-ex")[0].split("/")[0]
    with Pinger(lan, address) as pinger:
        pinger.wait_for_reply()
        with nothing_happens(node):
            node.run("nodenetctl reload --wait", timeout=60)
        with nothing_happens(node):
            node.run("systemctl restart nodenetd", timeout=60)
        with nothing_happens(node, seconds=20):
            node.run("systemctl kill -s KILL nodenetd; sleep 6", timeout=60)
    assert pinger.outage < 0.3
    assert causes(node) == []


def test_an_edit_leaves_what_is_of_ovn(product_node: NodeFactory, lan: Lan) -> None:
    """The file gives br-ex another address; OVN's things are put back, and get into no profile."""
    node = booted("file", product_node, lan)
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
    assert node.run(f"grep -l -e 169.254 -e 172.30 -e fd69 -e 10.128 {KEYFILES}/*", check=False).stdout == ""
    node.write(FILE, AS_DOCUMENTED)
    node.run("nodenetctl reload --wait", timeout=60)
    assert seen(node) == before
    with nothing_happens(node):
        node.run("systemctl restart nodenetd", timeout=60)
    assert causes(node) == []


def test_a_file_that_is_rolled_back_and_a_trial_leave_what_is_of_ovn(product_node: NodeFactory, lan: Lan) -> None:
    """A gateway that does not answer; and a trial that ends by its time.

    NetworkManager's rollback makes the bridge again, which has no flows then; OVN-Kubernetes sets its own again.
    """
    node = booted("file", product_node, lan)
    node.run("ovs-ofctl del-flows br-ex cookie=0xdeff105/-1")
    before = seen(node)
    node.write(FILE, AS_DOCUMENTED.replace("next-hop-address: 10.88.0.1\n", "next-hop-address: 10.88.0.99\n"))
    assert node.run("nodenetctl reload --wait", timeout=120, check=False).returncode != 0
    now = seen(node)
    assert ([line for line in before if line not in now], [line for line in now if line not in before]) == ([], [])
    node.write(FILE, AS_DOCUMENTED)
    node.run("nodenetctl reload --wait", timeout=120)
    settle(node)
    before = seen(node)
    node.write("/root/tried.yml", AS_DOCUMENTED.replace("prefix-length: 24", "prefix-length: 25"))
    node.run("nodenetctl try --for 5s /root/tried.yml", timeout=120, check=False)
    node.wait_until("""nodenetctl status --json | grep -q '"health": "ok"'""", timeout=60)
    now = seen(node)
    assert ([line for line in before if line not in now], [line for line in now if line not in before]) == ([], [])
    assert node.run(f"grep -l -e 169.254 -e 172.30 -e fd69 -e 10.128 {KEYFILES}/*", check=False).stdout == ""
    nothing_left(node)


OFPORT = "ovs-vsctl get interface eth0 ofport"


@pytest.mark.parametrize("kind", ["file", "static"])
def test_the_uplink_keeps_its_port_number(product_node: NodeFactory, lan: Lan, kind: str) -> None:
    """Over restarts of NetworkManager, activations, a reboot and a power cut; OVN-Kubernetes exits when it changes."""
    node = booted(kind, product_node, lan)
    number = node.run(OFPORT).stdout
    assert number.strip().isdigit()
    for _ in range(3):
        node.run("systemctl restart NetworkManager; sleep 4", timeout=60)
        node.wait_until("ip -4 -o address show dev br-ex | grep -q 10.88", timeout=60)
        assert node.run(OFPORT).stdout == number
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


def test_what_is_on_br_ex_comes_back_with_it(product_node: NodeFactory, lan: Lan) -> None:
    """`bridge remove` takes br-ex away on purpose; `bridge make` works with OVN's bridges there, and brings it back."""
    node = booted("static", product_node, lan)
    before = seen(node)
    node.run("nodenetctl bridge remove", timeout=120)
    node.run("nodenetctl bridge make", timeout=120)
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex"), document["problems"]
    of_ovn = ("cookie=", "patch-", "eth0", '"eth0"')  # of the row and its flows, which are gone with the bridge
    assert [line for line in before if line not in seen(node) and not line.startswith(of_ovn)] == []
    assert node.run(f"grep -l -e 169.254 -e 172.30 -e fd69 -e 10.128 {KEYFILES}/*", check=False).stdout == ""
    with nothing_happens(node):
        node.run("systemctl restart nodenetd", timeout=60)
    assert causes(node) == []
