"""br-ex where it cannot be made: links that do not fit, and an Open vSwitch that does not work."""

from __future__ import annotations

import pytest

from br_ex.test_make import DHCP_ONLY, SETTINGS, audits, identity, intact
from br_ex.test_more import BRIDGED4, DEFAULT, PLAIN4, profiles, reload
from factories import NodeFactory
from harness import Flavour, Lab, Lan, Node
from pinger import Pinger
from story import causes, network, nothing_left, settle, stage, status, story

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


def test_kubelet_starts_without_an_open_vswitch_that_never_runs(product_node: NodeFactory, lan: Lan) -> None:
    """On the plain link, after the bounded wait. Once it runs, br-ex comes by itself."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: BRIDGED4}, flavour=Flavour.OPENSHIFT)
    mask = node.path("/etc/systemd/system/ovsdb-server.service")
    mask.symlink_to("/dev/null")
    node.boot()
    document = settle(node, timeout=100)
    assert (document["health"], document["ready"], document["link"]) == ("degraded", True, "eth0")
    assert "Open vSwitch" in document["last_error"]["cause"]
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]
    assert len(causes(node)) == 1
    assert network(node)["keyfiles"] == ""
    before = identity(node, "eth0")
    mask.unlink()
    node.run("systemctl daemon-reload; systemctl start ovsdb-server ovs-vswitchd", timeout=60)
    node.wait_until('nodenetctl status --json | grep -q \'"bridge": "br-ex"\'', timeout=60)
    assert (settle(node)["health"], identity(node, "br-ex")["addresses"]) == ("ok", before["addresses"])
    assert node.record("kubelet").starts == 1
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


APPCTL = "ovs-appctl -t /run/openvswitch/ovsdb-server.$(cat /run/openvswitch/ovsdb-server.pid).ctl ovsdb-server/{}"
ON_A_SMALL_DISK = """set -e
systemctl stop openvswitch-switch ovsdb-server.socket ovsdb-server
cp -a /var/lib/openvswitch /root/kept
mount -t tmpfs -o size=1m tmpfs /var/lib/openvswitch
cp -a /root/kept/. /var/lib/openvswitch
systemctl start ovsdb-server.socket openvswitch-switch
"""
FILLED = """dd if=/dev/zero bs=4096 count=1000 of=/var/lib/openvswitch/filler
for each in $(seq 100); do ovs-vsctl --no-wait set Open_vSwitch . external-ids:lab=$each || exit 0; done
exit 1
"""
"""The file's last page has room for some changes yet."""
TAKES_NO_CHANGES = {
    # what is done before, what makes it refuse, what ends that, how it is told
    "disk-full": (ON_A_SMALL_DISK, FILLED, "rm /var/lib/openvswitch/filler", "No space left on device"),
    "backup-server": (
        "true",
        APPCTL.format("set-active-ovsdb-server tcp:127.0.0.1:9")
        + " && "
        + APPCTL.format("connect-active-ovsdb-server"),
        APPCTL.format("disconnect-active-ovsdb-server"),
        "database is read-only",
    ),
}


@pytest.mark.parametrize("fault", TAKES_NO_CHANGES)
def test_a_database_that_takes_no_changes(product_node: NodeFactory, lan: Lan, fault: str) -> None:
    """Waited for by its cause, nothing is touched; it takes changes again: br-ex is made, without a reload."""
    first, broken, mended, words = TAKES_NO_CHANGES[fault]
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: PLAIN4}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    node.run(first)
    node.run(broken)
    before, kept, untouched = identity(node, "eth0"), profiles(node), audits(node)
    node.write(SETTINGS, BRIDGED4)
    with Pinger(lan, before["addresses"][0]) as pinger:
        pinger.wait_for_reply()
        node.run("systemctl restart --no-block nodenetd")
        node.wait_until(f"nodenetctl status | grep -q '{words}'", timeout=30)
        assert stage(status(node), "configure-ovs")["status"] == "waiting"
        assert (identity(node, "eth0"), profiles(node), audits(node)) == (before, kept, untouched)
    assert pinger.outage < 5
    node.run(mended)
    node.wait_until('nodenetctl status --json | grep -q \'"bridge": "br-ex"\'', timeout=30)
    assert settle(node)["health"] == "ok"
    intact(node, before)
    assert causes(node) == []


EMPTY = "Open vSwitch's database is empty: it was not set up yet"
READ_ONLY = "/etc/systemd/system/ovsdb-server.service.d/10-lab.conf"


def test_a_database_whose_file_system_is_read_only(product_node: NodeFactory, lan: Lan) -> None:
    """Neither ovsdb-server nor ovs-vswitchd ever starts: no job of systemd's hides it, READY comes after a minute."""
    lan.start_dhcp(DHCP_ONLY)
    files = {SETTINGS: BRIDGED4, READ_ONLY: "[Service]\nReadOnlyPaths=/var/lib/openvswitch\n"}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("nodenetctl status | grep -q 'database is not there yet'", timeout=40)
    assert not node.started("kubelet")
    document = settle(node, timeout=120)
    assert (document["health"], document["ready"], document["link"]) == ("degraded", True, "eth0")
    # Debian has network.target, and so kubelet, wait for ovs-vswitchd too: five minutes, again and again.
    node.wait_until("systemctl is-active --quiet nodenet-ready", timeout=10)
    (cause,) = causes(node)
    assert "Open vSwitch's database is not there yet" in cause
    assert "ovsdb-server" in document["last_error"]["remedy"]
    before = identity(node, "eth0")
    node.path(READ_ONLY).unlink()
    node.run(
        "systemctl daemon-reload; systemctl reset-failed; systemctl restart ovsdb-server.socket openvswitch-switch"
    )
    node.wait_until('nodenetctl status --json | grep -q \'"bridge": "br-ex"\'', timeout=30)
    assert settle(node)["health"] == "ok"
    intact(node, before)
    assert causes(node) in ([cause], [cause, EMPTY])  # it is set up a moment after it has come
    assert node.record("kubelet").addresses
    node.reboot()
    assert settle(node)["link"] == "br-ex"
    errors = [line["MESSAGE"] for line in story(node, boot=-1) if int(line["PRIORITY"]) <= 3]
    assert errors in ([cause], [cause, EMPTY])
