"""The guard of port 53: its rules are nft's, and a link's name cannot write into them."""

from __future__ import annotations

import os
import shutil
import subprocess
from ipaddress import ip_address, ip_interface, ip_network

import pytest

from nodenet.core.hosted_services.dns import REMOVAL, open_questions, outside, rules
from nodenet.core.hosted_services.model import Here, Place
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.open_vswitch.bridges import OvsBridge, OvsInterface, OvsPort

V4 = Place(ip_address("192.0.2.10"), "br-ex", ip_network("192.0.2.0/24"))
V6 = Place(ip_address("2001:db8::10"), "br-ex", ip_network("2001:db8::/64"))
HERE = Here("n", {Family.IPV4: V4, Family.IPV6: V6})


def snapshot(*links: Link, **addresses: str) -> Snapshot:
    """Return links, and addresses by link; underscores in names are dashes."""
    found = [(link.replace("_", "-"), ip_interface(text)) for link, text in addresses.items()]
    return Snapshot(links, tuple(Address(one.ip, one.network.prefixlen, link) for link, one in found))


KINDS = {"card": "system", "pod": "", "internal": "internal", "tunnel": "geneve", "dpdk": "dpdk"}


def ports(**names: str) -> tuple[OvsPort, ...]:
    """Return the ports of a bridge: a name for each kind."""
    return tuple(OvsPort(name, (OvsInterface(name, KINDS[kind]),)) for kind, name in names.items())


def test_a_rule_for_each_family_and_the_loopback_addresses() -> None:
    made = rules(HERE, ("br-ex", "eth1"))
    assert 'iifname { "br-ex", "eth1" } ip daddr 192.0.2.10 meta l4proto { tcp, udp } th dport 53 reject\n' in made
    assert 'iifname { "br-ex", "eth1" } ip6 daddr 2001:db8::10 meta l4proto { tcp, udp } th dport 53 reject\n' in made
    assert 'iifname != "lo" ip daddr 127.0.0.1 meta l4proto { tcp, udp } th dport 53 drop\n' in made
    assert made.startswith(REMOVAL)


def test_a_link_s_name_cannot_write_into_the_rules() -> None:
    made = rules(HERE, ("eth0", 'a"; drop'))
    assert "; drop" not in made
    assert 'iifname != "lo" ip daddr 192.0.2.10' in made


def test_every_link_that_leads_to_other_hosts_is_outside() -> None:
    """A host behind a second card, a VLAN or a tunnel reached the node IP, and used its DNS."""
    found = snapshot(
        Link(1, "lo", loopback=True),
        Link(2, "eth0", master="ovs-system"),
        Link(3, "br-ex", kind="openvswitch"),
        Link(4, "eth1"),
        Link(5, "bond0.100", kind="vlan"),
        Link(6, "br1", kind="bridge"),
        Link(7, "eth2", master="br1"),
        Link(8, "wg0", kind="wireguard"),
        Link(9, "br-ex1", kind="openvswitch"),
        br_ex="192.0.2.10/24",
        eth1="198.51.100.1/24",
        br_ex1="203.0.113.1/24",
    )
    bridges = (OvsBridge("br-ex", ports=ports(card="eth0")), OvsBridge("br-ex1"))
    assert outside(HERE, found, bridges) == ("bond0.100", "br-ex", "br-ex1", "br1", "eth0", "eth1", "eth2", "wg0")


def test_links_of_pods_are_not() -> None:
    """OVN-Kubernetes, Flannel, Calico, Cilium, Antrea and the plugins bridge and ptp."""
    found = snapshot(
        Link(1, "br-ex", kind="openvswitch"),
        Link(2, "ovn-k8s-mp0", kind="openvswitch"),
        Link(3, "br-int", kind="openvswitch"),
        Link(4, "cni0", kind="bridge"),
        Link(5, "veth1", kind="veth", master="cni0"),
        Link(6, "cali1", kind="veth"),
        Link(7, "lxc1", kind="netkit"),
        Link(8, "cilium_host", kind="veth"),
        Link(9, "antrea-gw0", kind="openvswitch"),
        Link(10, "vethptp", kind="veth"),
        ovn_k8s_mp0="10.128.0.2/23",
        cni0="10.244.0.1/24",
        cali1="fe80::1/64",
        cilium_host="10.0.0.5/32",
        antrea_gw0="10.10.0.1/24",
        vethptp="10.1.0.1/32",
    )
    plugin = ports(internal="ovn-k8s-mp0", pod="veth1", tunnel="ovn-1")
    bridges = (OvsBridge("br-ex", ports=ports(card="eth0")), OvsBridge("br-int", ports=plugin))
    assert outside(HERE, found, bridges) == ("br-ex",)


def test_a_bridge_of_open_vswitch_is_outside_whatever_its_name_is() -> None:
    """Only names with ``br-`` were known: a host behind the bridge "storage" used the node's DNS."""
    found = snapshot(
        Link(1, "eth1", master="ovs-system"),
        Link(2, "storage", kind="openvswitch"),
        Link(3, "backup", kind="openvswitch"),
        Link(4, "ovs0", kind="openvswitch"),
        Link(5, "fast0", kind="openvswitch"),
        Link(6, "br-pods0", kind="openvswitch"),
        storage="198.51.100.1/24",
        backup="fe80::1/64",
        ovs0="203.0.113.1/24",
        fast0="203.0.113.129/25",
        br_pods0="10.10.0.1/24",
    )
    bridges = (
        OvsBridge("storage"),
        OvsBridge("backup"),
        OvsBridge("second", ports=ports(card="eth1", internal="ovs0")),
        OvsBridge("third", ports=ports(dpdk="port0", internal="fast0")),
        OvsBridge("pods", ports=ports(internal="br-pods0", pod="veth1")),
    )
    assert outside(HERE, found, bridges) == ("br-ex", "eth1", "fast0", "ovs0", "storage")
    assert open_questions(HERE, found) == {"br-pods0", "eth1", "fast0", "ovs0", "storage"}


def test_where_open_vswitch_has_the_node_ip_alone_its_database_is_not_asked() -> None:
    found = snapshot(Link(1, "eth0", master="ovs-system"), Link(2, "br-ex", kind="openvswitch"), br_ex="192.0.2.10/24")
    assert open_questions(HERE, found) == frozenset()


def test_the_card_of_a_node_that_is_a_container_is_outside() -> None:
    found = snapshot(
        Link(2, "eth0", kind="veth"), Link(3, "eth1", kind="veth"), eth0="192.0.2.10/24", eth1="198.51.100.1/24"
    )
    here = Here("n", {Family.IPV4: Place(V4.address, "eth0", V4.network)})
    assert outside(here, found) == ("eth0", "eth1")


@pytest.mark.skipif(os.geteuid() != 0 or shutil.which("nft") is None, reason="needs root and nft")
def test_nft_accepts_the_rules_twice_and_their_removal() -> None:
    made = (rules(HERE, ("br-ex", "eth1")) + rules(HERE, ("a b",))) * 2 + REMOVAL * 2
    done = subprocess.run(
        ["unshare", "--net", "nft", "-f", "-"], input=made, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
