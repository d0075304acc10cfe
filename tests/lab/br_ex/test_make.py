"""br-ex on real nodes: made, kept, adopted, taken away; and what happens when something dies meanwhile.

In every boot: address, MAC, default route, name servers and DHCP identity are after what they were before, a second run
writes nothing, and each failure has one cause line.
"""

from __future__ import annotations

import contextlib
import time
from ipaddress import IPv4Address
from typing import Any

import pytest

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, LabError, Lan, Node, eventually
from pinger import Pinger
from story import causes, checkpoints, disk_times, nothing_left, settle, stage, story

SETTINGS = "/etc/nodenet/nodenet.toml.d/10-lab.toml"
BRIDGED = 'network_type = "OVNKubernetes"\n[bridge]\ndatapath = "netdev"\n'
PLAIN = f'{BRIDGED}[stages]\nconfigure-ovs = "skip"\n'
KEYFILES = "/etc/NetworkManager/system-connections"
PLUGIN = "ovs-vswitchd.service"
BOTH = 'families = ["ipv4", "ipv6"]\n'
DHCP_ONLY = Dhcp(ipv6=Ipv6.NONE)
STATIC = """[connection]
id=uplink
uuid=6f1c1f0e-6a7b-4b4e-9d36-27a38ac0f0aa
type=ethernet
interface-name=eth0
[ethernet]
mtu=1450
[ipv4]
method=manual
address1=10.88.0.50/24
address2=10.88.0.77/24
gateway=10.88.0.1
dns=10.88.0.1;
dns-search=lab.test;
dns-options=timeout:2;
route1=192.0.2.0/24,10.88.0.1,200
route2=0.0.0.0/0,10.88.0.1
route2_options=table=100
routing-rule1=priority 100 from 10.88.0.77/32 table 100
[ipv6]
method=disabled
"""


def identity(node: Node, link: str) -> dict[str, Any]:
    """Return all that must stay as it is when *link* comes to carry the addresses."""
    shown = node.json(["ip", "-j", "address", "show", "dev", link])[0]
    routes = node.json("ip -j -4 route show table all") + node.json("ip -j -6 route show table all")
    defaults = {
        (route.get("table", "main"), route.get("gateway"))
        for route in routes
        if route["dst"] == "default" and route.get("dev") == link
    }
    options = node.run(f"nmcli -g DHCP4.OPTION device show {link}", check=False).stdout.replace("|", "\n")
    return {
        "addresses": [info["local"] for info in shown["addr_info"] if info["scope"] == "global"],
        "mac": shown["address"],
        "mtu": shown["mtu"],
        "defaults": defaults,
        "rules": node.json("ip -j rule"),
        "resolv.conf": node.run("cat /etc/resolv.conf").stdout,
        "client-id": [line.strip() for line in options.splitlines() if "client_identifier" in line],
    }


def bridged(node: Node, **more: str) -> dict[str, Any]:
    """Let the daemon make the bridge on a node that runs; return the status."""
    for path, text in {SETTINGS: BRIDGED, **more}.items():
        node.write(path, text)
    node.run("systemctl reload nodenetd", timeout=120)
    return settle(node)


def audits(node: Node) -> int:
    """Return how often NetworkManager was asked to change something."""
    return sum("audit: op=" in str(line["MESSAGE"]) for line in node.journal("NetworkManager"))


def writes_nothing(node: Node) -> None:
    """Assert that a restart and a reload leave disk and NetworkManager alone."""
    before = disk_times(node), audits(node)
    node.run("systemctl restart nodenetd; systemctl reload nodenetd", timeout=120)
    settle(node)
    assert (disk_times(node), audits(node)) == before


def intact(node: Node, before: dict[str, Any]) -> None:
    """Assert that br-ex carries what the uplink did, and that nothing is left over."""
    # What a lease brings is told a moment after the address is there.
    with contextlib.suppress(LabError):
        eventually(lambda: identity(node, "br-ex") == before, "what the uplink had", timeout=30, pause=0.3)
    assert identity(node, "br-ex") == before
    assert node.addresses("eth0") == []
    assert node.run("test -e /run/nodeip-configuration/br-ex-up").returncode == 0
    nothing_left(node)


@pytest.fixture
def dhcp_node(product_node: NodeFactory, lan: Lan) -> Node:
    """A node on the plain uplink, up, with a lease."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: PLAIN}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    return node


def leased(node: Node) -> bool:
    """Tell whether br-ex has its address by DHCP, and nothing that was carried."""
    infos = node.json("ip -j -4 address show dev br-ex")[0]["addr_info"]
    return [info.get("dynamic", False) for info in infos] == [True]


def test_over_a_link_with_dhcp(dhcp_node: Node, lan: Lan) -> None:
    """Made by a reload, without losing the address; the profile is pure DHCP at the end; a reboot keeps all."""
    node = dhcp_node
    before = identity(node, "eth0")
    with Pinger(lan, before["addresses"][0]) as pinger:
        pinger.wait_for_reply()
        document = bridged(node)
    assert (document["health"], document["bridge"], document["uplink"], document["link"]) == (
        *("ok", "br-ex"),
        *("eth0", "br-ex"),
    )
    intact(node, before)
    eventually(lambda: leased(node), "a lease of its own for br-ex", timeout=30, pause=0.3)
    assert len(node.json("ip -j -4 route show default")) == 1
    writes_nothing(node)
    node.reboot()
    assert settle(node)["health"] == "ok"
    intact(node, before)
    assert node.record("kubelet").addresses
    assert audits(node) == 0
    assert causes(node) == []


def test_in_the_first_boot(product_node: NodeFactory, lan: Lan) -> None:
    """Kubelet starts on br-ex already, and the journal tells the story."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: BRIDGED}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex")
    seen = node.record("kubelet")
    assert [link["addr_info"][0]["local"] for link in seen.addresses if link["ifname"] == "br-ex"] == [
        document["node_ips"][0]
    ]
    assert "br-ex" in seen.ovs
    assert any("br-ex over eth0" in str(line["MESSAGE"]) for line in story(node))


def test_over_a_static_link_with_all_that_it_has(product_node: NodeFactory, lan: Lan) -> None:
    """Two addresses in order, routes in another table, a rule, name servers with options, the MTU."""
    files = {SETTINGS: PLAIN, f"{KEYFILES}/uplink.nmconnection": STATIC}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.path(f"{KEYFILES}/uplink.nmconnection").chmod(0o600)
    node.boot()
    settle(node)
    before = identity(node, "eth0")
    assert before["addresses"] == ["10.88.0.50", "10.88.0.77"]
    with Pinger(lan, "10.88.0.50") as pinger:
        pinger.wait_for_reply()
        assert bridged(node)["health"] == "ok"
    intact(node, before)
    assert node.json("ip -j route show 192.0.2.0/24")[0]["metric"] == 200
    writes_nothing(node)
    node.reboot()
    settle(node)
    intact(node, before)


def test_over_a_dual_stack_link(product_node: NodeFactory, lan: Lan) -> None:
    """The autoconfigured address stays the same although link and profile are others.

    Both families are asked for: with `auto` a loaded machine may take longer than the time that a router has to answer.
    """
    node = product_node(files={SETTINGS: BOTH + PLAIN}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    before = identity(node, "eth0")
    assert len(before["addresses"]) == 2
    with Pinger(lan, before["addresses"][0]) as pinger:
        pinger.wait_for_reply()
        assert bridged(node, **{SETTINGS: BOTH + BRIDGED})["health"] == "ok"
    after = identity(node, "br-ex")
    assert set(after["addresses"]) == set(before["addresses"])
    assert after["mac"] == before["mac"]
    node.reboot()
    assert settle(node)["health"] == "ok"
    assert set(node.addresses("br-ex") + node.addresses("br-ex", "inet6")) == set(before["addresses"])


def test_a_dhcp_server_that_is_silent(dhcp_node: Node, lan: Lan) -> None:
    """The valid lease is carried: the node stays in reach, kubelet starts; finished when the server answers."""
    node = dhcp_node
    before = identity(node, "eth0")
    lan.stop_dhcp()
    with Pinger(lan, before["addresses"][0]) as pinger:
        pinger.wait_for_reply()
        document = bridged(node)
    assert document["health"] == "ok"
    assert "DHCP" in stage(document, "configure-ovs")["detail"]
    assert pinger.outage < 60
    assert node.addresses("br-ex") == before["addresses"]
    assert "nameserver 10.88.0.1" in node.run("cat /etc/resolv.conf").stdout
    lan.start_dhcp(DHCP_ONLY)
    # NetworkManager asks again by itself, at growing intervals.
    eventually(lambda: leased(node), "a lease of its own for br-ex", timeout=120, pause=0.5)
    assert identity(node, "br-ex")["client-id"] == before["client-id"]
    nothing_left(node)


def test_a_dhcp_server_that_gives_another_lease(dhcp_node: Node, lan: Lan) -> None:
    """The node keeps its address for as long as its lease lasts, and says what the server wants: degraded."""
    node = dhcp_node
    before = identity(node, "eth0")
    lan.forget_leases()
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, addresses={node.mac(): IPv4Address("10.88.0.222")}))
    node.write(SETTINGS, BRIDGED)
    node.run("systemctl reload nodenetd", timeout=120, check=False)  # 2: a problem that the node had not before
    document = settle(node)
    eventually(lambda: settle(node)["health"] == "degraded", "the other lease to be told", timeout=30, pause=0.3)
    assert document["node_ips"] == before["addresses"]
    assert before["addresses"][0] in node.addresses("br-ex")
    (cause,) = causes(node)
    assert "10.88.0.222" in cause
    nothing_left(node)


def test_without_open_vswitch_nothing_is_touched(dhcp_node: Node, lan: Lan) -> None:
    """ovs-vswitchd is dead: waited for, then degraded; it comes back: healed, without a reload."""
    node = dhcp_node
    before = identity(node, "eth0")
    node.run("systemctl stop ovs-vswitchd")
    node.write(SETTINGS, BRIDGED)
    node.run("systemctl restart --no-block nodenetd")
    node.wait_until("nodenetctl status | grep -q 'ovs-vswitchd has not carried out'", timeout=30)
    with Pinger(lan, before["addresses"][0]) as pinger:
        pinger.wait_for_reply()
        time.sleep(5)
    assert pinger.outage < 5
    assert node.addresses("eth0") == before["addresses"]
    node.run("systemctl start ovs-vswitchd")
    node.wait_until('nodenetctl status --json | grep -q \'"bridge": "br-ex"\'', timeout=30)
    assert settle(node)["health"] == "ok"
    intact(node, before)


@pytest.mark.parametrize("pause", [0.0, 0.15, 0.4, 0.8, 1.2])
def test_ovs_vswitchd_is_killed_in_the_middle(dhcp_node: Node, lan: Lan, pause: float) -> None:
    """The node is in reach again within the checkpoint's time-out, and heals when ovs-vswitchd is back."""
    node = dhcp_node
    before = identity(node, "eth0")
    node.write(SETTINGS, BRIDGED)
    with Pinger(lan, before["addresses"][0]) as pinger:
        pinger.wait_for_reply()
        node.run("systemctl restart --no-block nodenetd")
        touched(node)
        time.sleep(pause)
        node.run("systemctl kill --signal=KILL ovs-vswitchd; systemctl stop ovs-vswitchd", check=False)
        time.sleep(3)
        node.run("systemctl start ovs-vswitchd")
        node.wait_until('nodenetctl status --json | grep -q \'"bridge": "br-ex"\'', timeout=120)
    assert pinger.outage < 70
    assert settle(node)["health"] == "ok"
    intact(node, before)


def touched(node: Node) -> None:
    """Wait until the making of br-ex has begun."""
    change = "/var/lib/nodenet/change.json"
    eventually(lambda: node.path(change).exists(), "the change that makes br-ex", timeout=30, pause=0.01)


@pytest.mark.parametrize("pause", [0.0, 0.15, 0.4, 0.8, 1.4])
def test_a_power_cut_in_the_middle(dhcp_node: Node, pause: float) -> None:
    """The next boot has the address again, and br-ex."""
    node = dhcp_node
    before = identity(node, "eth0")
    node.write(SETTINGS, BRIDGED)
    node.run("systemctl restart --no-block nodenetd")
    touched(node)
    time.sleep(pause)
    node.power_cut()
    node.boot()
    document = settle(node, timeout=120)
    assert (document["health"], document["bridge"]) == ("ok", "br-ex")
    intact(node, before)
    profiles = node.run("nmcli -t -f NAME connection").stdout.split()
    assert sorted(name for name in profiles if "br-ex" in name) == ["br-ex-br", "br-ex-if", "br-ex-port"]


def test_nodenetd_is_killed_in_the_middle(dhcp_node: Node) -> None:
    """The next process rolls back the checkpoint of the open change, and makes br-ex again (R2)."""
    node = dhcp_node
    before = identity(node, "eth0")
    node.write(SETTINGS, BRIDGED)
    node.run("systemctl restart --no-block nodenetd")
    touched(node)
    eventually(lambda: "Checkpoint/" in checkpoints(node), "the checkpoint", timeout=30, pause=0.01)
    node.run("systemctl kill --signal=KILL nodenetd")
    node.wait_until('nodenetctl status --json | grep -q \'"bridge": "br-ex"\'', timeout=120)
    assert settle(node)["health"] == "ok"
    intact(node, before)
