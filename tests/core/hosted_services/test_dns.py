"""Who may ask DNS of a node, which links forward, and what is said when nothing answers."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_interface, ip_network

import pytest

from nodenet.core.boot.outcome import Facts
from nodenet.core.hosted_services import dns
from nodenet.core.hosted_services.dns import SYSCTLS, forwarding_link, open_questions, outside, rules, to_set
from nodenet.core.hosted_services.model import ON_PREMISES, Here, Place
from nodenet.core.hosted_services.units import Running
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.node_ip.select import Selection
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort
from nodenet.core.settings.model import Settings


def test_each_has_a_cause_and_a_remedy() -> None:
    found = dns.missing("/usr/sbin/dnsmasq")
    assert found.cause == "dnsmasq of this node is not started: /usr/sbin/dnsmasq is not installed"
    assert found.remedy == 'Install dnsmasq, or set `enabled = "no"` in `[hosted]`'
    assert dns.taken("x has it").message is Message.NODE_DNS_FAILED
    assert dns.nameless().remedy == "See `journalctl -b -u dbus`"
    assert dns.of("cause", "").remedy == "See `systemctl status nodenet-dnsmasq.service`"


def test_a_unit_that_is_not_there_is_installed_and_one_that_fails_is_looked_at() -> None:
    assert dns.down(Running("not-found", "inactive")).remedy == "Install nodenet's units again"
    assert dns.down(Running("loaded", "failed")).remedy == "See `journalctl -u nodenet-dnsmasq.service`"


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


NODE_IP = ip_address("192.0.2.5")
SETTINGS = Settings(platform="baremetal", api_vips=(ip_address("192.0.2.2"),))
FACTS = Facts(selection=Selection((NODE_IP,), "eth0"))


@pytest.mark.parametrize("platform", sorted(ON_PREMISES))
def test_the_link_of_the_node_ip_forwards(platform: str) -> None:
    assert forwarding_link(replace(SETTINGS, platform=platform), FACTS) == "eth0"


def test_below_br_ex_it_is_the_bridge() -> None:
    assert forwarding_link(SETTINGS, replace(FACTS, bridge="br-ex", uplink="eth0")) == "br-ex"
    assert forwarding_link(SETTINGS, replace(FACTS, bridge="br-ex", uplink="eth1")) == "eth0"


@pytest.mark.parametrize(
    ("settings", "facts"),
    [
        (replace(SETTINGS, platform="aws"), FACTS),
        (replace(SETTINGS, api_vips=()), FACTS),
        (SETTINGS, Facts()),
    ],
)
def test_no_other_link_forwards(settings: Settings, facts: Facts) -> None:
    assert forwarding_link(settings, facts) is None


def test_only_what_differs_is_set() -> None:
    """A family that the kernel lacks has no setting."""
    assert to_set(dict.fromkeys(SYSCTLS, "1")) == {}
    assert to_set({SYSCTLS[0]: "0"}) == {SYSCTLS[0]: "1"}
