"""The node IP of the next boot on real nodes: DHCP servers and carriers that are late, and a node file that fails."""

from __future__ import annotations

import time

import pytest

from chain import DROP_IN, NETDEV
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan, Node
from story import STATIC, causes, node_file, nothing_left, settle, status, story

SETTINGS = "/etc/nodenet/nodenet.toml"
ONLY4 = Dhcp(ipv6=Ipv6.NONE)
LATE_SECONDS = 20
"""Longer than any pause of a selection has ever been, and shorter than NetworkManager's patience with DHCP."""


def two_ways_out(product_node: NodeFactory, lab: Lab, lan: Lan, **files: str) -> Node:
    """Return a node with two NICs, each on a LAN with a DHCP server and a gateway of its own."""
    lan.start_dhcp(ONLY4)
    other = lab.lan("other", dhcp=ONLY4)
    return product_node(nics=[lan, other], flavour=Flavour.OPENSHIFT, files=files)


def waits_for(node: Node, words: str, seconds: float) -> None:
    """See that kubelet does not start for *seconds*, and that the status says why."""
    node.wait_until("test -e /run/nodenet/state.json", timeout=30)
    node.wait_until(f"nodenetctl status | grep -q '{words}'", timeout=30)
    time.sleep(seconds)
    shown = node.run("nodenetctl status", check=False).stdout
    assert words in shown
    assert not node.started("kubelet")
    assert status(node)["health"] == "waiting"


def test_the_first_boot_chooses_the_first_nic_though_its_dhcp_server_is_late(
    product_node: NodeFactory, lab: Lab, lan: Lan
) -> None:
    """Else it would have lost for ever: NetworkManager says that it is not settled yet."""
    node = two_ways_out(product_node, lab, lan)
    lan.stop_dhcp()
    node.boot()
    waits_for(node, "eth0 may still get a better address", LATE_SECONDS - 5)
    lan.start_dhcp(ONLY4)
    document = settle(node, timeout=90)
    assert (document["health"], document["link"]) == ("ok", "eth0")
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == node.addresses("eth0")[0]


@pytest.mark.parametrize("late", ["dhcp", "carrier"])
def test_the_node_ip_of_the_next_boot_is_that_of_the_last(
    product_node: NodeFactory, lab: Lab, lan: Lan, late: str
) -> None:
    """Another NIC has its address at once, and nothing of it is published; the boot after is as the first one."""
    node = two_ways_out(product_node, lab, lan)
    node.boot()
    document = settle(node)
    (node_ip,) = document["node_ips"]
    assert document["link"] == "eth0"
    node.off()
    if late == "dhcp":
        lan.stop_dhcp()
    node.boot()
    if late == "carrier":
        node.set_carrier("eth0", up=False)
    waits_for(node, f"{node_ip}, the last node IP, to be back", LATE_SECONDS)
    assert node.addresses("eth1")
    if late == "dhcp":
        lan.start_dhcp(ONLY4)
    else:
        node.set_carrier("eth0", up=True)
    for boot in (2, 3):
        document = settle(node, timeout=90)
        assert (document["health"], document["link"], document["node_ips"]) == ("ok", "eth0", [node_ip]), boot
        assert node.record("kubelet").environment["KUBELET_NODE_IP"] == node_ip
        nothing_left(node)
        if boot == 2:
            node.reboot()


def test_br_ex_stays_where_it_is_while_dhcp_is_late(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """It was torn off its uplink and made over the other NIC, for the node IP had moved there."""
    files = {SETTINGS: 'network_type = "OVNKubernetes"\n', DROP_IN: NETDEV}
    node = two_ways_out(product_node, lab, lan, **files)
    node.boot()
    document = settle(node, timeout=120)
    (node_ip,) = document["node_ips"]
    assert (document["bridge"], document["uplink"]) == ("br-ex", "eth0")
    node.off()
    lan.stop_dhcp()
    node.boot()
    waits_for(node, f"{node_ip}, the last node IP, to be back", LATE_SECONDS)
    lan.start_dhcp(ONLY4)
    document = settle(node, timeout=120)
    assert (document["health"], document["uplink"], document["node_ips"]) == ("ok", "eth0", [node_ip])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == node_ip


def test_a_vip_does_not_shorten_the_wait(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """A control-plane node would have become a remote worker, and its next boot would not have waited at all."""
    settings = 'platform = "baremetal"\napi_vips = ["10.88.0.5"]\n[stages]\nresolv-prepender = "skip"\n'
    node = two_ways_out(product_node, lab, lan, **{SETTINGS: settings})
    node.boot()
    (node_ip,) = settle(node)["node_ips"]
    node.off()
    lan.stop_dhcp()
    node.boot()
    waits_for(node, f"{node_ip}, the last node IP, to be back", 65)
    lan.start_dhcp(ONLY4)
    document = settle(node, timeout=120)
    assert document["node_ips"] == [node_ip]
    assert node.run("test -e /run/nodeip-configuration/remote-worker", check=False).returncode == 1


def test_the_setting_ends_the_wait(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """The node is degraded and says why; the boot after has learnt nothing of it."""
    node = two_ways_out(product_node, lab, lan, **{SETTINGS: "node_ip_wait = 10\n"})
    node.boot()
    (node_ip,) = settle(node)["node_ips"]
    node.off()
    lan.stop_dhcp()
    node.boot()
    document = settle(node, timeout=90)
    assert (document["health"], document["link"]) == ("degraded", "eth1")
    assert f"{node_ip}, the last node IP, did not come back" in document["last_error"]["cause"]
    lan.start_dhcp(ONLY4)
    node.reboot()
    document = settle(node, timeout=90)
    assert (document["health"], document["link"], document["node_ips"]) == ("ok", "eth0", [node_ip])


def test_a_typo_in_the_first_file_holds_kubelet_beside_dhcp(product_node: NodeFactory, lan: Lan) -> None:
    """The LAN has DHCP, and the file is static: kubelet does not start with the lease. The edit is taken by itself."""
    lan.start_dhcp(ONLY4)
    path = node_file("worker-0.yml")
    files = {path: STATIC.replace("prefix-length", "prefix-lenght"), DROP_IN: '[stages]\nconfigure-ovs = "skip"\n'}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    waits_for(node, "kubelet does not start with 10.88.0.", 5)
    shown = node.run("nodenetctl status", check=False).stdout
    assert "prefix-lenght" in shown or "prefix-length" in shown
    assert "to do" in shown
    (cause,) = causes(node)
    assert "worker-0.yml" in cause
    assert any("kubelet does not start with 10.88.0." in str(entry["MESSAGE"]) for entry in story(node))
    node.write(path, STATIC)
    document = settle(node, timeout=60)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == "10.88.0.50"
    node.write(path, STATIC.replace("prefix-length", "prefix-lenght"))
    node.reboot()  # a node that has its address starts kubelet with it
    document = settle(node, timeout=60)
    assert (document["health"], document["ready"], document["node_ips"]) == ("degraded", True, ["10.88.0.50"])


VIPS = 'platform = "baremetal"\napi_vips = ["10.88.0.5"]\n[stages]\nresolv-prepender = "skip"\n'


@pytest.mark.parametrize(("settings", "ipv6"), [("", Ipv6.SLAAC), ("", Ipv6.DHCP), (VIPS, Ipv6.DHCP)])
def test_a_router_that_appears_gives_kubelet_no_second_family(
    product_node: NodeFactory, lan: Lan, settings: str, ipv6: Ipv6
) -> None:
    """In a later boot, or beside VIPs in the first one; what a reselection takes is shown with its router."""
    lan.start_dhcp(ONLY4 if not settings else Dhcp(ipv6=ipv6))
    node = product_node(flavour=Flavour.OPENSHIFT, files={SETTINGS: settings})
    node.boot()
    (node_ip,) = settle(node)["node_ips"]
    node.off()
    lan.stop_dhcp()
    lan.start_dhcp(Dhcp(ipv4=False, ipv6=ipv6))
    node.boot()
    node.wait_until("ip -6 address show dev eth0 scope global -tentative | grep -q fd88", timeout=60)
    assert not node.started("kubelet")
    lan.start_dhcp(Dhcp(ipv6=ipv6))
    document = settle(node, timeout=90)
    assert (document["health"], document["node_ips"]) == ("ok", [node_ip])
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == node_ip
    assert "unwanted-family" in node.run("nodenetctl explain node-ip").stdout
    if not settings:
        node.run("nodenetctl reselect")
        shown = node.run("nodenetctl status").stdout
        assert "router fe80::" in shown or "router advertisement of fe80::" in shown
        assert "no file, hint or VIP names IPv6" in shown
