"""Another NIC below br-ex by an edit of the node file, beside OVN: address, port number and what is of OVN stay.

Both NICs are on one LAN, as the ports of two switches are. ovnkube ends once, since it asks for the port by the name
that it knows; the port number is the same, so its flows and those of ovn-controller carry traffic all the time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

import ovn
from br_ex.test_beside_ovn import FILE, OK, SEEN, seen
from br_ex.test_make import KEYFILES
from br_ex.test_node_file import ADDRESS, AS_DOCUMENTED, FILES, MAC
from factories import NodeFactory
from harness import Flavour, Lan, Node
from harness.node import Nic
from pinger import Pinger
from story import causes, lease_confirmed, nothing_left, settle

NUMBERED = SEEN.replace("ovs-vsctl get interface eth0 ofport", "").replace(
    "ovs-vsctl list-ports br-ex\n", "ovs-vsctl list-ports br-ex | grep -v eth\nip link show br-ex | grep ether\n"
)
PINNED = AS_DOCUMENTED.replace("  copy-mac-from: eth0\n", "").replace(
    "type: ovs-interface\n", f"type: ovs-interface\n  mac-address: {MAC}\n"
)
"""With the MAC that the bridge keeps over another NIC; OVN's router has it."""
SILENT = 0.6
"""Seconds. It is 0.1 to 0.2; a ping on a busy machine is silent for some tenths by itself. Without the hand-over of the
port number it is more than 2 s, and 1.1 s without announcements of br-ex."""
LOSING = """table netdev lose {
chain first {
type filter hook ingress device "PORT" priority 0
ether type arp quota until 50 bytes drop
}
}
"""
"""Of one packet, in the LAN: as if Open vSwitch loses it while it gives the port another number."""


def over(link: str) -> str:
    """Return the node file with br-ex over *link*."""
    return PINNED.replace("name: eth0", f"name: {link}")


def uplink(node: Node) -> str:
    """Return the NIC that is a port of br-ex, with its port number."""
    (link,) = [name for name in node.run("ovs-vsctl list-ports br-ex").stdout.split() if name.startswith("eth")]
    return f"{link} {node.run(f'ovs-vsctl get interface {link} ofport').stdout.strip()}"


def lose_the_first(lan: Lan, nic: Nic) -> None:
    """Have the LAN lose the first ARP packet that comes from *nic* from now on."""
    lan.run("nft", "flush ruleset\n" + LOSING.replace("PORT", nic.port))


@pytest.fixture
def node(product_node: NodeFactory, product: Path, lan: Lan) -> Node:
    """A node with two NICs and OVN on the br-ex of its node file."""
    lan.stop_dhcp()
    files = FILES | ovn.FILES | {FILE: over("eth0")}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT, layers=[product, ovn.layer()], nics=[lan, lan])
    ovn.install(node)
    node.enable("card.service")
    node.boot()
    assert settle(node, timeout=120)["health"] == "ok"
    lease_confirmed(node)
    ovn.start(node)
    return node


def test_another_nic_takes_over(node: Node, lan: Lan) -> None:
    """There and back, and in a trial that ends by its time; `diff` says what would happen."""
    before, was = seen(node, NUMBERED), uplink(node)
    for link, nic in (("eth1", node.nics[1]), ("eth0", node.nics[0])):
        node.write(FILE, over(link))
        said = node.run("nodenetctl diff", check=False).stdout
        assert "Attention: br-ex, the bridge of the node IP, is changed." in said
        assert f"-> br-ex, {link}" in said
        with Pinger(lan, ADDRESS) as pinger:
            pinger.wait_for_reply()
            lose_the_first(lan, nic)
            node.run("nodenetctl reload --wait", timeout=120)
        assert settle(node)["health"] == "ok"
        assert uplink(node) == was.replace("eth0", link)
        assert pinger.outage <= SILENT
        ovn.start(node)
        assert seen(node, NUMBERED) == before
        assert node.run(f"grep -l -e 169.254 -e 172.30 -e 10.128 {KEYFILES}/*", check=False).stdout == ""
    node.write("/root/tried.yml", over("eth1"))
    with Pinger(lan, ADDRESS) as pinger:
        pinger.wait_for_reply()
        node.run("nodenetctl try --for 5s /root/tried.yml", timeout=120, check=False)
        node.wait_until(OK, timeout=60)
    assert pinger.outage <= SILENT
    assert uplink(node) == was
    ovn.start(node)
    assert seen(node, NUMBERED) == before
    node.run("nmcli connection up eth1 || true; systemctl restart NetworkManager; sleep 4", timeout=60)
    assert uplink(node) == was
    nothing_left(node)
    assert causes(node) == []


def test_a_nic_without_a_carrier_is_refused_before_anything_is_touched(node: Node, lan: Lan) -> None:
    """With the carrier the same file is applied."""
    was = uplink(node)
    node.set_carrier("eth1", up=False)
    node.write(FILE, over("eth1"))
    with Pinger(lan, ADDRESS) as pinger:
        pinger.wait_for_reply()
        refused = node.run("nodenetctl reload --wait", timeout=120, check=False)
        document = settle(node)
        pinger.wait_for_reply()
    assert refused.returncode != 0
    assert pinger.outage <= SILENT
    assert document["health"] == "degraded"
    assert "eth1, which is to be below br-ex, has no carrier" in str(document["problems"])
    assert uplink(node) == was
    node.set_carrier("eth1", up=True)
    node.run("nodenetctl reload --wait", timeout=120)
    assert settle(node)["health"] == "ok"
    assert uplink(node) == was.replace("eth0", "eth1")
    nothing_left(node)


def test_a_kill_ends_on_one_of_the_two_paths(node: Node, lan: Lan) -> None:
    """With the port number; at several moments of the change, from its record to its end.

    The restart of nodenetd is no order: a file that is not in force then is applied with the next one.
    """
    was, paths = uplink(node), set()
    for number, seconds in enumerate((0.3, 0.8, 1.3, 1.8, 2.3, 3.0)):
        wanted = "eth1" if uplink(node).startswith("eth0") else "eth0"
        node.write(FILE, over(wanted) + f"# edit {number}\n")
        node.run(f"nodenetctl reload; sleep {seconds}; systemctl kill -s KILL nodenetd", timeout=60)
        node.wait_until("test ! -e /var/lib/nodenet/change.json && systemctl is-active nodenetd", timeout=90)
        settle(node, timeout=90)
        assert uplink(node).split()[1] == was.split()[1]
        paths.add(uplink(node))
        with Pinger(lan, ADDRESS) as pinger:
            pinger.wait_for_reply()
        node.run("nodenetctl reload --wait", timeout=120)
        assert uplink(node) == was.replace("eth0", wanted)
    assert paths
    nothing_left(node)
