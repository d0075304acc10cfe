"""A br-ex that other hands are on too: ports that another program added."""

from __future__ import annotations

import pytest

from br_ex.test_make import DHCP_ONLY, SETTINGS, bridged, identity, writes_nothing
from br_ex.test_more import BRIDGED4, PLAIN4, SCRIPT
from factories import NodeFactory
from harness import Flavour, Lan, Node
from pinger import Pinger
from story import causes, nothing_left, settle, story

PORTS = """set -e
ip link add aaa0 type veth peer name aaa9
nmcli device set aaa0 managed no
nmcli device set aaa9 managed no
ip link set aaa0 up
ovs-vsctl add-port br-ex aaa0
ovs-vsctl add-port br-ex tenant0 tag=100 -- set Interface tenant0 type=internal
ovs-vsctl add-port br-ex tunnel0 -- set Interface tunnel0 type=vxlan options:remote_ip=10.88.0.1
"""
"""A link whose name comes before the uplink's, a port in a VLAN, a tunnel."""


def by_the_old_script(node: Node) -> None:
    """Make br-ex as the old script does."""
    node.run(SCRIPT, timeout=90)
    node.wait_until("ip -4 -o address show dev br-ex | grep -q 10.88")


@pytest.mark.parametrize("adopted", [False, True], ids=["ours", "adopted"])
def test_ports_of_others_are_left_alone(product_node: NodeFactory, lan: Lan, *, adopted: bool) -> None:
    """Each is named once a boot; the uplink stays the uplink; restart and reload write nothing, no packet is lost."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: PLAIN4 if adopted else BRIDGED4}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    if adopted:
        by_the_old_script(node)
    node.run(PORTS)
    before, database = identity(node, "br-ex"), node.run("ovs-vsctl show").stdout
    with Pinger(lan, before["addresses"][0]) as pinger:
        pinger.wait_for_reply()
        document = bridged(node, **{SETTINGS: BRIDGED4})
        writes_nothing(node)
    assert (document["health"], document["uplink"]) == ("ok", "eth0")
    assert node.json("cat /var/lib/nodenet/bridge.json")["adopted"] is adopted
    assert pinger.outage < 1
    assert (identity(node, "br-ex"), node.run("ovs-vsctl show").stdout) == (before, database)
    named = [str(line["MESSAGE"]) for line in story(node) if "another program added the port" in str(line["MESSAGE"])]
    assert sorted(line.split()[5] for line in named) == ["aaa0", "tenant0", "tunnel0"]
    assert "change nothing" in node.run("nodenetctl explain br-ex").stdout or adopted
    assert causes(node) == []
    nothing_left(node)
