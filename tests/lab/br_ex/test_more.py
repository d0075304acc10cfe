"""br-ex beside other things: a second bridge, the old script's, what is left of one; and the way back."""

from __future__ import annotations

import re
from typing import Any

import pytest

from br_ex.test_make import (
    BRIDGED,
    DHCP_ONLY,
    KEYFILES,
    PLAIN,
    SETTINGS,
    audits,
    bridged,
    identity,
    touched,
    writes_nothing,
)
from factories import NodeFactory
from harness import Flavour, Lab, Lan, Node
from pinger import Pinger
from story import causes, nothing_left, settle, stage, status, story

DEFAULT = "/etc/ovnk/default_bridge"
EXTRA = "/etc/ovnk/extra_bridge"
ONE_FAMILY = 'families = ["ipv4"]\n'
"""Nobody waits for an IPv6 router then."""
BRIDGED4 = ONE_FAMILY + BRIDGED
PLAIN4 = ONE_FAMILY + PLAIN


def reload(node: Node) -> dict[str, Any]:
    """Have the daemon read everything again; return the status."""
    node.run("systemctl reload nodenetd", timeout=120, check=False)
    return settle(node)


def gone(node: Node, bridge: str = "br-ex") -> None:
    """Assert that nobody on the node knows *bridge* any more."""
    for command in ("nmcli connection", "ovs-vsctl show", "ip link"):
        said = node.run(command).stdout
        assert re.search(rf"\b({bridge}|phys0)\b", said) is None, said


@pytest.fixture
def two_lans(product_node: NodeFactory, lab: Lab, lan: Lan) -> NodeFactory:
    """Defines nodes with eth0 on the one LAN and eth1 on another, DHCPv4 on both."""
    other = lab.lan("lan1")
    for each in (lan, other):
        each.start_dhcp(DHCP_ONLY)

    def make(**files: str) -> Node:
        node = product_node(files={SETTINGS: BRIDGED4} | files, flavour=Flavour.OPENSHIFT, nics=[lan, other])
        node.boot()
        return node

    return make


def test_a_second_bridge(two_lans: NodeFactory, lan: Lan) -> None:
    """br-ex1 comes with its file, in the first boot, and goes with it; br-ex goes where its file says."""
    node = two_lans(**{EXTRA: "eth1\n"})
    document = settle(node)
    assert (document["health"], document["bridge"], document["uplink"]) == ("ok", "br-ex", "eth0")
    first, second = node.addresses("br-ex"), node.addresses("br-ex1")
    metrics = {route["dev"]: route["metric"] for route in node.json("ip -j -4 route show default")}
    assert metrics == {"br-ex": 48, "br-ex1": 49}
    assert "br-ex1 over eth1" in stage(document, "configure-ovs")["detail"]
    writes_nothing(node)
    node.path(EXTRA).unlink()
    with Pinger(lan, first[0]) as pinger:
        pinger.wait_for_reply()
        document = reload(node)
    assert (document["health"], node.addresses("br-ex")) == ("ok", first)
    assert pinger.outage < 5
    assert node.addresses("eth1") == second
    gone(node, "br-ex1")
    writes_nothing(node)
    node.write(DEFAULT, "eth1\n")
    document = reload(node)
    assert (document["health"], document["uplink"], document["node_ips"]) == ("ok", "eth1", first)
    assert (node.addresses("br-ex"), node.addresses("eth0")) == (second, first)
    assert causes(node) == []
    nothing_left(node)


SCRIPT = """
set -e
mac=$(cat /sys/class/net/eth0/address)
add() { nmcli connection add save no autoconnect no "$@"; }
add type ovs-bridge conn.interface br-ex con-name br-ex 802-3-ethernet.mtu 1500 ovs-bridge.datapath-type netdev
add type ovs-port conn.interface eth0 master br-ex con-name ovs-port-phys0
add type ovs-port conn.interface br-ex master br-ex con-name ovs-port-br-ex
add type 802-3-ethernet conn.interface eth0 master ovs-port-phys0 con-name ovs-if-phys0 802-3-ethernet.mtu 1500 \
  connection.autoconnect-priority 100 connection.autoconnect-slaves 1 802-3-ethernet.cloned-mac-address $mac
add type ovs-interface slave-type ovs-port conn.interface br-ex master ovs-port-br-ex con-name ovs-if-br-ex \
  802-3-ethernet.mtu 1500 802-3-ethernet.cloned-mac-address $mac ipv4.route-metric 48 ipv6.route-metric 48 \
  ipv4.method auto ipv6.method auto
for each in ovs-if-phys0 ovs-if-br-ex; do nmcli --wait 30 connection up $each; done
for each in ovs-if-phys0 ovs-if-br-ex; do nmcli connection modify --temporary $each connection.autoconnect yes; done
"""
"""What the shell script that made br-ex before does, with its names; it keeps its profiles in memory."""
OFPORT = "ofport-request=1"
CONTENT = "nmcli -t -f NAME,UUID,TIMESTAMP connection; cat /run/NetworkManager/system-connections/*; ovs-vsctl show"

BRIDGE_ROW = (
    """ovsdb-client transact '["Open_vSwitch",{"op":"select","table":"Bridge","""
    """"where":[["name","==","br-ex"]],"columns":["external_ids","_version"]}]'"""
)
"""Its version changes with every write, also of the same value."""


def test_the_old_script_s_bridge(product_node: NodeFactory, lan: Lan) -> None:
    """Adopted without a packet lost; taken away when asked; after a reboot what is left of it becomes our own."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: PLAIN4}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    plain, before = profiles(node), identity(node, "eth0")
    node.run(SCRIPT, timeout=90)
    node.wait_until("ip -4 -o address show dev br-ex | grep -q 10.88")
    assert identity(node, "br-ex") == before
    found = audits(node), node.run(CONTENT).stdout
    with Pinger(lan, before["addresses"][0]) as pinger:
        pinger.wait_for_reply()
        document = bridged(node, **{SETTINGS: BRIDGED4})
    # The uplink keeps its port number: asked for once, and nothing else is changed.
    untouched = audits(node), node.run(CONTENT).stdout
    assert (untouched[0], sorted(untouched[1].splitlines())) == (found[0] + 1, sorted([*found[1].splitlines(), OFPORT]))
    assert (document["health"], document["uplink"], document["link"]) == ("ok", "eth0", "br-ex")
    assert pinger.outage < 5
    assert "made by the script configure-ovs.sh" in node.run("nodenetctl explain br-ex").stdout
    assert node.json("cat /var/lib/nodenet/bridge.json")["adopted"] is True
    marked = node.run(BRIDGE_ROW).stdout
    assert '["nodenet-adopted","eth0"]' in marked
    writes_nothing(node)
    assert (audits(node), node.run(CONTENT).stdout) == untouched
    assert node.run(BRIDGE_ROW).stdout == marked
    assert identity(node, "br-ex") == before
    removed(node, before, plain)
    node.run(SCRIPT, timeout=90)
    node.wait_until("ip -4 -o address show dev br-ex | grep -q 10.88")
    node.reboot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex")
    assert identity(node, "br-ex") == before
    assert "br-ex-if" in profiles(node)
    assert causes(node) == []
    nothing_left(node)


def profiles(node: Node) -> str:
    """Return names, UUIDs and devices of NetworkManager's profiles."""
    return node.run("nmcli -t -f NAME,UUID,DEVICE connection | grep -v ^lo: | sort").stdout


def removed(node: Node, before: dict[str, Any], plain: str) -> None:
    """Take br-ex away, and assert that nothing is left of it, and that the node is what it was."""
    said = node.run("nodenetctl bridge remove", timeout=120).stdout
    assert "skipped: br-ex removed as requested" in said
    document = status(node)
    assert (document["health"], document["bridge"], document["link"]) == ("ok", None, "eth0")
    assert document["node_ips"] == before["addresses"]
    assert identity(node, "eth0") == before
    assert profiles(node) == plain
    assert node.run("test -e /run/nodeip-configuration/br-ex-up", check=False).returncode == 1
    gone(node)
    nothing_left(node)


def test_removal_where_dhcp_is_not_configured_at_all(product_node: NodeFactory, lan: Lan) -> None:
    """NetworkManager's own "Wired connection 1": br-ex goes and comes as asked, and stays away where that is set."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: PLAIN4}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    plain, before = profiles(node), identity(node, "eth0")
    assert bridged(node, **{SETTINGS: BRIDGED4})["bridge"] == "br-ex"
    with Pinger(lan, before["addresses"][0]) as pinger:
        pinger.wait_for_reply()
        removed(node, before, plain)
    assert pinger.outage < 20
    assert "Ignoring" not in node.run("journalctl -b -u nodenetd").stdout  # libnmstate, of its own documents
    assert "no br-ex" in node.run("nodenetctl bridge remove", timeout=120).stdout
    assert reload(node)["bridge"] is None
    assert "done: br-ex over eth0" in node.run("nodenetctl bridge make", timeout=120).stdout
    assert identity(node, "br-ex") == before
    removed(node, before, plain)
    node.reboot()
    assert settle(node)["bridge"] == "br-ex"
    assert identity(node, "br-ex") == before
    removed(node, before, plain)
    node.write(SETTINGS, PLAIN4)
    node.reboot()
    assert settle(node)["bridge"] is None
    assert identity(node, "eth0") == before
    gone(node)
    nothing_left(node)


COMMENTED = """# uplink of rack 7
[connection]
id=uplink
uuid=6f1c1f0e-6a7b-4b4e-9d36-27a38ac0f0aa
type=ethernet
interface-name=eth0

[ipv4]
# by the network team; ask before you change it
method=manual
address1=10.88.0.50/24
gateway=10.88.0.1
dns=10.88.0.1;
route1=192.0.2.0/24,10.88.0.1,200

[ipv6]
method=disabled
"""


def test_removal_gives_a_keyfile_back_to_the_byte(product_node: NodeFactory) -> None:
    """With its comments, from br-ex of the first boot; what was static is static again, also in the next boot."""
    path = f"{KEYFILES}/uplink.nmconnection"
    node = product_node(files={SETTINGS: PLAIN4, path: COMMENTED}, flavour=Flavour.OPENSHIFT)
    node.path(path).chmod(0o600)
    node.boot()
    settle(node)
    plain, before = profiles(node), identity(node, "eth0")
    assert bridged(node, **{SETTINGS: BRIDGED4})["bridge"] == "br-ex"
    node.reboot()
    assert settle(node)["link"] == "br-ex"
    removed(node, before, plain)
    assert node.path(path).read_text() == COMMENTED
    assert node.json("ip -j route show 192.0.2.0/24")[0]["metric"] == 200
    node.write(SETTINGS, PLAIN4)
    node.reboot()
    assert settle(node)["link"] == "eth0"
    assert (profiles(node), identity(node, "eth0")) == (plain, before)
    assert node.path(path).read_text() == COMMENTED
    gone(node)
    nothing_left(node)


STALE = "ovs-vsctl --no-wait -- add-port br-ex {0} -- set Interface {0} type=system -- set Port {0} {1}"


def test_what_a_power_cut_left_of_a_bridge(product_node: NodeFactory, lan: Lan) -> None:
    """Database without profiles, profiles without database, dead ports: named, and mended where they are ours."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: BRIDGED4}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    before = identity(node, "br-ex")
    node.run(STALE.format("dead0", "external_ids:NM.connection.uuid=6f1c1f0e-6a7b-4b4e-9d36-27a38ac0f0ab"))
    node.run(STALE.format("dead1", "external_ids:who=somebody"))
    told = node.run("nodenetctl explain br-ex").stdout
    assert "port dead0 of br-ex" in told
    assert "port dead1 of br-ex" in told
    node.run("systemctl restart nodenetd")
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex")
    ports = node.run("ovs-vsctl list-ports br-ex").stdout.split()
    assert "dead0" not in ports
    assert "dead1" in ports
    node.run("ovs-vsctl del-port dead1")
    mended(node, "the port dead0 of br-ex needs the link dead0")
    node.power_cut()
    for name in ("br-ex-br", "br-ex-if", "br-ex-port", "eth0-port"):
        node.path(f"{KEYFILES}/{name}.nmconnection").unlink()
    node.boot()
    document = settle(node)
    assert (document["health"], identity(node, "br-ex")) == ("ok", before)
    assert [line for line in story(node) if "a bridge whose profiles are gone" in str(line["MESSAGE"])]
    node.power_cut()
    node.path("/etc/openvswitch/conf.db").unlink()
    node.boot()
    document = settle(node)
    assert (document["health"], identity(node, "br-ex")) == ("ok", before)
    assert causes(node) == []
    nothing_left(node)


def test_a_power_cut_that_tore_the_keyfile_of_the_uplink(product_node: NodeFactory, lan: Lan) -> None:
    """While br-ex was made: the static address comes back all the same, and no DHCP server gives another (R26)."""
    lan.start_dhcp(DHCP_ONLY)
    path = f"{KEYFILES}/uplink.nmconnection"
    node = product_node(files={SETTINGS: PLAIN4, path: COMMENTED}, flavour=Flavour.OPENSHIFT)
    node.path(path).chmod(0o600)
    node.boot()
    settle(node)
    before = identity(node, "eth0")
    node.write(SETTINGS, BRIDGED4)
    node.run("systemctl restart --no-block nodenetd")
    touched(node)
    node.power_cut()
    for keyfile in node.path(KEYFILES).iterdir():
        keyfile.unlink()
    node.write(path, "")
    node.boot()
    document = settle(node, timeout=120)
    assert (document["health"], identity(node, "br-ex")) == ("ok", before)
    nothing_left(node)


def mended(node: Node, beginning: str) -> None:
    """Assert that one thing was mended in this boot, and that it was told."""
    (told,) = (str(line["MESSAGE"]) for line in story(node) if str(line["MESSAGE"]).startswith("Repaired: "))
    assert told.startswith(f"Repaired: {beginning}")


def test_a_bridge_of_somebody_else(product_node: NodeFactory, lan: Lan) -> None:
    """Named, left alone, and not made ours either; kubelet starts on the plain link."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: PLAIN4}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    node.run("ovs-vsctl add-br br-ex -- set bridge br-ex datapath_type=netdev external_ids:who=me")
    before = identity(node, "eth0"), profiles(node), node.run("ovs-vsctl show").stdout
    node.write(SETTINGS, BRIDGED4)
    node.reboot()
    document = settle(node)
    assert (document["health"], document["ready"], document["link"]) == ("degraded", True, "eth0")
    (cause,) = causes(node)
    assert "br-ex" in cause
    assert document["last_error"]["remedy"]
    assert node.record("kubelet").addresses
    assert (identity(node, "eth0"), profiles(node), node.run("ovs-vsctl show").stdout) == before
    assert node.run("nodenetctl bridge remove", check=False).returncode != 0
    assert (identity(node, "eth0"), profiles(node), node.run("ovs-vsctl show").stdout) == before
    node.run("ovs-vsctl del-br br-ex")
    assert "done" in node.run("nodenetctl bridge make", timeout=120).stdout
    assert status(node)["health"] == "ok"
    nothing_left(node)
