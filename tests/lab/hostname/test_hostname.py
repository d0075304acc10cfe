"""The node's name: taken early, made to last, kept when somebody renames the host, and explained."""

from __future__ import annotations

import json

import pytest

from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan
from nodenet.core.messages import Message
from story import STATIC, causes, node_file, settle, stage, status, story, with_mtu


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
    renamed = node.run(["nodenetctl", "reload", "--wait"], timeout=90, check=False)
    assert renamed.returncode == 2
    assert "This node was worker-0 and is worker-9.example.com since the reload" in renamed.stderr + renamed.stdout
    assert status(node)["hostname"] == "worker-9.example.com"
    assert len(causes(node)) == 1, "kubelet still has the former name"


def test_a_name_that_comes_late_is_taken_by_signal_and_survives_the_loss_of_its_source(
    product_node: NodeFactory,
) -> None:
    """A transient name, as DHCP or reverse DNS gives it, is not made static; the host keeps it for this boot."""
    node = product_node(hostname=None, flavour=Flavour.OPENSHIFT)
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q 'a valid host name'", timeout=60)
    node.run("hostnamectl hostname --transient worker-7")
    node.wait_until('nodenetctl status --json | grep -q \'"hostname": "worker-7"\'', timeout=20)
    node.run("test ! -e /etc/hostname")
    assert status(node)["hostname_source"] == "not from /etc/hostname"
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


ALLOWED = {"/etc/nodenet/nodenet.toml.d/20-lab.toml": "dhcpv6_hostname = true\n"}


@pytest.mark.parametrize("own", [None, "worker-0"])
def test_a_full_name_by_dhcpv6(product_node: NodeFactory, lan: Lan, own: str | None) -> None:
    """A node without a name takes the FQDN of its lease (RFC 4704) where a setting allows it, for this boot alone."""
    node = product_node(hostname=own, files=ALLOWED, flavour=Flavour.OPENSHIFT)
    known = f"--dhcp-host={node.mac()},[fd88::123],node-six"
    lan.start_dhcp(Dhcp(ipv6=Ipv6.DHCP, domain="lab.test", extra=("--dhcp-fqdn", known)))
    node.boot()
    name = own or "node-six.lab.test"
    node.wait_until(f'nodenetctl status --json | grep -q \'"hostname": "{name}"\'', timeout=30)
    settle(node)
    node.wait_until("ip -6 address show dev eth0 scope global | grep -q fd88::123")
    explained = json.loads(node.run("nodenetctl explain hostname --json").stdout)
    (heard,) = (each for each in explained["sources"] if each["source"] == "dhcpv6-fqdn")
    assert (heard["where"], heard["name"]) == ("eth0: DHCP6 fqdn_fqdn", "node-six.lab.test")
    assert explained["hostname"] == name
    assert node.run("cat /etc/hostname", check=False).stdout.strip() == (own or "")
    assert node.run("hostname").stdout.strip() == name
    assert causes(node) == []


def test_a_name_by_dhcpv6_selects_no_node_file_without_the_setting(product_node: NodeFactory, lan: Lan) -> None:
    """One answer gave a new node another one's file, address and name, for good (rule 18); DHCPv4's name is taken."""
    files = {node_file("master-0.yml"): STATIC, node_file("worker-8.yml"): with_mtu(1408)}
    node = product_node(hostname=None, files=files, flavour=Flavour.OPENSHIFT)
    rogue = f"--dhcp-host={node.mac()},[fd88::123],master-0"
    lan.start_dhcp(Dhcp(ipv4=False, ipv6=Ipv6.DHCP, domain="lab.test", extra=("--dhcp-fqdn", rogue)))
    node.boot()
    node.wait_until("ip -6 address show dev eth0 scope global | grep -q fd88::123", timeout=60)
    node.wait_until("nodenetctl status --json | grep -q 'it came by DHCPv6'", timeout=60)
    assert (status(node)["hostname"], status(node)["node_file"], status(node)["ready"]) == (None, None, False)
    both = Dhcp(ipv6=Ipv6.DHCP, domain="lab.test", names={node.mac(): "worker-8"})
    lan.start_dhcp(both)
    node.run("nmcli device up eth0", timeout=60)
    node.wait_until('nodenetctl status --json | grep -q \'"hostname": "worker-8"\'', timeout=60)
    document = settle(node)
    assert (document["hostname"], document["node_file"]) == ("worker-8", "worker-8.yml")
    assert document["hostname_source"] == "by eth0: DHCP4 host_name"
    assert node.run("hostname").stdout.strip() == "worker-8"
    node.run("test ! -e /etc/hostname")


def test_a_name_by_dhcp_that_selects_a_file_of_other_macs_is_refused(product_node: NodeFactory, lan: Lan) -> None:
    """And so kubelet does not start under it (rule 18)."""
    text = STATIC.replace(
        "- name: eth0\n", "- name: eth0\n  identifier: mac-address\n  mac-address: 52:54:00:00:00:99\n", 1
    )
    node = product_node(hostname=None, files={node_file("worker-8.yml"): text}, flavour=Flavour.OPENSHIFT)
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, names={node.mac(): "worker-8"}))
    node.boot()
    node.wait_until("nodenetctl status --json | grep -q \"'worker-8' (by .*) is another host's\"", timeout=60)
    assert "52:54:00:00:00:99" in stage(status(node), "hostname")["detail"]
    assert not node.started("kubelet")


def test_localhost_in_the_file_is_no_name(product_node: NodeFactory, lan: Lan) -> None:
    """A golden image has it, and NetworkManager then sets no name: DHCP's is taken (A11)."""
    node = product_node(hostname=None, flavour=Flavour.OPENSHIFT)
    node.write("/etc/hostname", "localhost\n")
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE, names={node.mac(): "worker-7"}))
    node.boot()
    node.wait_until('nodenetctl status --json | grep -q \'"hostname": "worker-7"\'', timeout=60)
    assert settle(node)["health"] == "ok"
    assert node.run("hostname").stdout.strip() == "worker-7"
    node.reboot()
    assert (settle(node)["hostname"], node.run("hostname").stdout.strip()) == ("worker-7", "worker-7")


def test_an_underscore_is_no_host_name(product_node: NodeFactory) -> None:
    """Systemd itself makes worker1 of worker_1, and kubelet asks the host: the node says so."""
    node = product_node(hostname=None, flavour=Flavour.OPENSHIFT)
    node.write("/etc/hostname", "worker_1\n")
    node.boot()
    document = settle(node)
    name = node.run("hostname").stdout.strip()
    assert (document["health"], document["hostname"]) == ("degraded", name)
    assert document["last_error"]["cause"].startswith("/etc/hostname says 'worker_1': no host name has an underscore")
