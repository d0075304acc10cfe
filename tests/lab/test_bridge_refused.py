"""br-ex where it cannot be made: links that do not fit, and an Open vSwitch that does not work."""

from __future__ import annotations

from factories import NodeFactory
from harness import Flavour, Lab, Lan, Node
from story import causes, nothing_left, settle, status
from test_bridge import DHCP_ONLY, SETTINGS, audits, identity, intact
from test_bridge_more import BRIDGED4, DEFAULT, PLAIN4, profiles, reload

PLUGIN = "/usr/lib/x86_64-linux-gnu/NetworkManager/1.58.1/libnm-device-plugin-ovs.so"


def test_links_that_cannot_go_below_br_ex(product_node: NodeFactory, lab: Lab, lan: Lan) -> None:
    """One cause line each, with the file to change; the network is not touched, kubelet runs; and then it is made."""
    other = lab.lan("lan1")
    for each in (lan, other):
        each.start_dhcp(DHCP_ONLY)
    files = {SETTINGS: BRIDGED4, DEFAULT: "eth7\n"}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT, nics=[lan, other])
    node.boot()
    document = settle(node)
    assert (document["health"], document["ready"]) == ("degraded", True)
    assert node.record("kubelet").addresses
    before = identity(node, "eth0")
    untouched = node.run("ls -l --full-time /run/NetworkManager/system-connections/Wired*; ovs-vsctl show").stdout
    refused(node, 1, "eth7")
    node.write(DEFAULT, "")
    reload(node)
    refused(node, 2, "is empty")
    node.run("nmcli connection add type bridge ifname br0 con-name br0 ipv4.method disabled ipv6.method disabled")
    node.run("nmcli connection add type ethernet ifname eth1 con-name port controller br0 port-type bridge")
    node.run("nmcli --wait 20 connection up port")
    node.write(DEFAULT, "eth1\n")
    reload(node)
    refused(node, 3, "port of br0")
    node.run("nmcli connection delete port br0")
    node.write(DEFAULT, "lo\n")
    reload(node)
    refused(node, 4, "loopback")
    assert (
        node.run("ls -l --full-time /run/NetworkManager/system-connections/Wired*; ovs-vsctl show").stdout == untouched
    )
    assert identity(node, "eth0") == before
    node.run("nmcli connection modify 'Wired connection 1' 802-3-ethernet.mtu 70000")
    node.path(DEFAULT).unlink()
    reload(node)
    refused(node, 5, "MTU 70000")
    assert identity(node, "eth0") == before
    node.run("nmcli connection modify 'Wired connection 1' 802-3-ethernet.mtu 0")
    assert reload(node)["health"] == "ok"
    intact(node, before)


def refused(node: Node, times: int, word: str) -> None:
    """Assert that *word* is in the only new cause line, and that the remedy names what to change."""
    told = causes(node)
    assert len(told) == times, told
    assert word in told[-1]
    error = status(node)["last_error"]
    assert "default_bridge" in error["cause"] + error["remedy"] or "802-3-ethernet.mtu" in error["remedy"]
    assert status(node)["health"] == "degraded"


def test_open_vswitch_comes_late(product_node: NodeFactory, lan: Lan) -> None:
    """By 20 seconds: kubelet is held back, and starts on br-ex."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: BRIDGED4}, flavour=Flavour.OPENSHIFT)
    for unit in ("ovs-vswitchd.service", "ovsdb-server.service"):
        node.delay_unit(unit, 20)
    node.boot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex")
    assert "br-ex" in node.record("kubelet").ovs
    assert causes(node) == []
    nothing_left(node)


def test_network_manager_without_its_plugin(product_node: NodeFactory, lan: Lan) -> None:
    """NetworkManager's plugin is missing: told, nothing is touched, and br-ex is made as soon as it is there."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: PLAIN4}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    before = identity(node, "eth0"), profiles(node)
    node.run(f"mv {PLUGIN} /root/plugin.so; systemctl restart NetworkManager; nm-online -q")
    node.write(SETTINGS, BRIDGED4)
    untouched = audits(node)
    document = reload(node)
    assert (document["health"], document["ready"], document["link"]) == ("degraded", True, "eth0")
    (cause,) = causes(node)
    assert "plugin" in cause
    assert audits(node) == untouched
    assert (identity(node, "eth0"), profiles(node)) == before
    node.run(f"mv /root/plugin.so {PLUGIN}; systemctl restart NetworkManager")
    node.wait_until('nodenetctl status --json | grep -q \'"bridge": "br-ex"\'', timeout=60)
    intact(node, before[0])
