"""A node file gives the uplink its address, and configure-ovs moves that to br-ex: is the file still in force?"""

from __future__ import annotations

import pytest

from br_ex.test_make import BRIDGED, SETTINGS, audits, identity, writes_nothing
from factories import NodeFactory
from harness import Flavour, Lan
from story import CLUSTER, STATIC, causes, node_file, settle, stage, status

PORTS = "ovs-vsctl list-ports br-ex"


@pytest.mark.usefixtures("lan")
def test_the_file_stays_in_force(product_node: NodeFactory) -> None:
    """A reload and a reboot find it applied and touch nothing; without the record, the marker tells of it."""
    node = product_node(files={SETTINGS: BRIDGED, node_file("cluster.yml"): CLUSTER}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", "br-ex")
    before = identity(node, "br-ex")
    writes_nothing(node)
    node.reboot()
    document = settle(node)
    assert (document["health"], stage(document, "nmstate")["status"]) == ("ok", "skipped")
    assert identity(node, "br-ex") == before
    assert audits(node) == 0
    assert causes(node) == []
    node.run("systemctl stop nodenetd; rm -r /var/lib/nodenet; systemctl start nodenetd", timeout=90)
    assert settle(node)["health"] == "ok"
    assert audits(node) == 0


def test_a_changed_file_is_refused_with_the_way_out(product_node: NodeFactory, lan: Lan) -> None:
    """What it asks of the uplink cannot be told from what br-ex has: taken away, applied, made again."""
    files = {SETTINGS: BRIDGED, node_file("cluster.yml"): CLUSTER}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    before = identity(node, "br-ex")
    assert node.run("nodenetctl diff").stdout == (
        "cluster.yml changes nothing on this node.\n"
        "Note: eth0 is below a bridge that has its IP configuration, which is not compared.\n"
    )
    node.write("/root/new.yml", CLUSTER.replace("1401", "1402"))
    tried = node.run("nodenetctl try /root/new.yml", check=False)
    assert (tried.returncode, identity(node, "br-ex")) == (65, before), tried.stderr
    assert "new.yml changes eth0, which is below br-ex. Run `nodenetctl bridge remove` first" in tried.stderr
    node.write(node_file("cluster.yml"), CLUSTER.replace("1401", "1402"))
    refused = node.run("systemctl reload nodenetd; nodenetctl status --json", check=False, timeout=90)
    assert "nodenetctl bridge remove" in refused.stdout
    node.run("nodenetctl bridge remove && systemctl reload nodenetd && nodenetctl bridge make", timeout=120)
    assert settle(node)["health"] == "ok"
    assert identity(node, "br-ex")["mtu"] == 1402
    lan.run("ping", "-c1", "-W5", node.addresses("br-ex")[0])


@pytest.mark.usefixtures("lan")
def test_network_manager_is_started_again_during_a_trial(product_node: NodeFactory) -> None:
    """The profiles come back; the node's own file is compared below br-ex, and not applied over its port."""
    node = product_node(files={SETTINGS: BRIDGED, node_file("cluster.yml"): CLUSTER}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    before = identity(node, "br-ex")
    node.write("/root/beside.yml", "interfaces:\n- name: br7\n  type: linux-bridge\n  state: up\n")
    node.run("setsid nodenetctl try /root/beside.yml --for 300 >/tmp/try.out 2>&1 &")
    node.wait_until('nodenetctl status --json | grep -q \'"state": "holding"\'', timeout=30)
    node.run("systemctl restart NetworkManager")
    node.wait_until('nodenetctl status --json | grep -q \'"state": "rolled-back"\'', timeout=60)
    node.wait_until("nodenetctl status --json | grep -q '\"stage\": null'", timeout=60)
    document = settle(node)
    assert (document["health"], document["problems"], stage(document, "nmstate")["status"]) == ("ok", [], "skipped")
    assert identity(node, "br-ex") == before
    assert node.run("ip link show br7", check=False).returncode != 0


def test_a_cable_that_is_out_takes_no_file_into_force_again(product_node: NodeFactory, lan: Lan) -> None:
    """Without a carrier NetworkManager attaches no NIC; the file was applied to it then, and failed its verification.

    In a running node a port without a carrier stays in br-ex, also while NetworkManager and nodenetd are started again.
    """
    lan.stop_dhcp()
    files = {SETTINGS: BRIDGED, node_file("worker-0.yml"): STATIC}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert (settle(node)["health"], "eth0" in node.run(PORTS).stdout) == ("ok", True)
    before = audits(node)
    node.set_carrier("eth0", up=False)
    node.run("sleep 7; systemctl restart nodenetd", timeout=60)
    settle(node)
    assert ("eth0" in node.run(PORTS).stdout, audits(node)) == (True, before)
    node.off()
    node.boot()
    node.set_carrier("eth0", up=False)
    node.wait_until("nodenetctl status --json | grep -q 'eth0 has no carrier'", timeout=60)
    assert stage(status(node), "nmstate")["status"] == "skipped"
    node.set_carrier("eth0", up=True)
    document = settle(node, timeout=120)
    assert (document["health"], document["link"], document["problems"]) == ("ok", "br-ex", [])
    assert causes(node) == []
