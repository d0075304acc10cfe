"""The node's name: taken early, made to last, kept when somebody renames the host, and explained."""

from __future__ import annotations

import json

import pytest

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan
from nodenet.core.messages import Message
from story import causes, settle, stage, status, story


def test_a_host_that_is_renamed_keeps_its_node_name(product_node: NodeFactory) -> None:
    """One line and the stage's detail tell of it; a reload takes the new name; explain shows every source."""
    node = product_node(flavour=Flavour.OPENSHIFT)
    node.boot()
    assert stage(settle(node), "hostname")["detail"] == "This node is worker-0"
    node.run("hostnamectl set-hostname Worker-9.example.com")
    node.wait_until("nodenetctl status --json | grep -q 'stays worker-0, though'", timeout=20)
    assert status(node)["hostname"] == "worker-0"
    assert sum(entry.get("MESSAGE_ID") == Message.HOSTNAME_CHANGED.value for entry in story(node)) == 1
    explained = json.loads(node.run("nodenetctl explain hostname --json").stdout)
    assert explained["hostname"] == "worker-9.example.com"
    assert {"static", "transient", "reverse-dns", "command-line"} <= {each["source"] for each in explained["sources"]}
    node.run(["nodenetctl", "reload", "--wait"], timeout=90)
    assert status(node)["hostname"] == "worker-9.example.com"
    assert causes(node) == []


def test_a_name_that_comes_late_is_taken_by_signal_and_survives_the_loss_of_its_source(
    product_node: NodeFactory,
) -> None:
    """A transient name, as DHCP or reverse DNS gives it, becomes static; taking it away again changes nothing."""
    node = product_node(hostname=None, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q 'a valid host name'", timeout=60)
    node.run("hostnamectl hostname --transient worker-7")
    node.wait_until('nodenetctl status --json | grep -q \'"hostname": "worker-7"\'', timeout=20)
    assert node.run("cat /etc/hostname").stdout.strip() == "worker-7"
    node.run("hostnamectl hostname --transient ''")
    node.wait_until("test $(cat /proc/sys/kernel/hostname) = worker-7", timeout=20)


def test_kubelet_waits_for_a_valid_name_also_where_no_node_file_needs_one(product_node: NodeFactory) -> None:
    """It would register as localhost.localdomain; the other stages are over meanwhile, and the wait is shown (R32)."""
    node = product_node(hostname=None, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("test -e /run/nodeip-configuration/primary-ip", timeout=60)
    wait = "hostname: a valid host name: 'localhost.localdomain' is not one"
    node.wait_until(f'systemctl show -P StatusText nodenetd | grep -q "{wait}"', timeout=30)
    document = status(node)
    assert (document["health"], document["ready"], document["stage"]) == ("waiting", False, "hostname")
    assert stage(document, "nodeip")["status"] == "done"
    assert not node.started("kubelet")
    node.run("hostnamectl hostname worker-7")
    document = settle(node)
    assert (document["health"], document["hostname"]) == ("ok", "worker-7")
    assert node.record("kubelet").environment["KUBELET_NODE_IP"] == document["node_ips"][0]


@pytest.mark.parametrize("own", [None, "worker-0"])
def test_a_full_name_by_dhcpv6(product_node: NodeFactory, lan: Lan, own: str | None) -> None:
    """A node without a name takes the FQDN of its lease (RFC 4704) and keeps it; one with a name only heard it."""
    node = product_node(hostname=own, flavour=Flavour.OPENSHIFT)
    known = f"--dhcp-host={node.mac()},[fd88::123],node-six"
    lan.start_dhcp(Dhcp(ipv6=Ipv6.DHCP, domain="lab.test", extra=("--dhcp-fqdn", known)))
    node.boot()
    name = own or "node-six.lab.test"
    node.wait_until(f'nodenetctl status --json | grep -q \'"hostname": "{name}"\'', timeout=30)
    settle(node)
    node.wait_until("ip -6 address show dev eth0 scope global | grep -q fd88::123")
    explained = json.loads(node.run("nodenetctl explain hostname --json").stdout)
    (heard,) = (each for each in explained["sources"] if each["source"] == "dhcpv6-fqdn")
    assert (heard["where"], heard["name"]) == ("Wired connection 1: DHCP6 fqdn_fqdn", "node-six.lab.test")
    assert (heard["verdict"], "static" in heard["because"]) == ("usable", True)
    assert (explained["hostname"], node.run("cat /etc/hostname").stdout.strip()) == (name, name)
    assert causes(node) == []
