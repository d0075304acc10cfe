"""A node file for a network without DHCP: is it applied before NetworkManager gives the DHCP server up?"""

from __future__ import annotations

import time

from br_ex.test_make import BRIDGED, KEYFILES, SETTINGS
from br_ex.test_make import STATIC as UPLINK
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lan, Node
from story import STATIC, causes, node_file, nothing_left, settle, stage


def given_up(node: Node) -> list[str]:
    """Return what NetworkManager logged of activations that ended without an address."""
    messages = [str(line["MESSAGE"]) for line in node.journal("NetworkManager")]
    return [message for message in messages if "ip-config -> failed" in message]


def is_starting(node: Node) -> bool:
    """Return whether NetworkManager's first activations are not over."""
    name = "org.freedesktop.NetworkManager"
    return node.run(f"busctl get-property {name} /{name.replace('.', '/')} {name} Startup").stdout == "b true\n"


def test_a_static_file_on_a_network_without_dhcp(product_node: NodeFactory, lan: Lan) -> None:
    """The profile that NetworkManager makes by itself is replaced while it still asks for a lease."""
    lan.stop_dhcp()
    node = product_node(files={node_file("cluster.yml"): STATIC})
    node.boot()
    document = settle(node, timeout=200)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert given_up(node) == []
    lan.run("ping", "-c1", "-W5", "10.88.0.50")
    assert causes(node) == []
    nothing_left(node)


def test_another_link_may_wait_for_a_lease(product_node: NodeFactory, lan: Lan) -> None:
    """The node is ready while NetworkManager still asks for a lease on eth1; the next boot finds the file in force."""
    lan.stop_dhcp()
    node = product_node(nics=[lan, lan], files={node_file("cluster.yml"): STATIC})
    node.boot()
    document = settle(node, timeout=200)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert is_starting(node)
    node.reboot()
    document = settle(node, timeout=200)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert stage(document, "nmstate")["status"] == "skipped"
    assert is_starting(node)
    assert causes(node) == []
    nothing_left(node)


BESIDE = """- name: eth1
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: true
"""
"""libnmstate's profile asks for a lease without end."""


def test_a_lease_that_the_file_asks_for_beside_the_node_ip_may_never_come(product_node: NodeFactory, lan: Lan) -> None:
    """NetworkManager's start never ends then. The file is in force, and the node is ready without that lease."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    text = STATIC.replace("interfaces:\n", f"interfaces:\n{BESIDE}")
    node = product_node(nics=[lan, lan], files={node_file("cluster.yml"): text})
    node.boot()
    document = settle(node, timeout=200)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    lan.stop_dhcp()
    node.reboot()
    document = settle(node, timeout=60)
    assert (document["health"], document["node_ips"]) == ("ok", ["10.88.0.50"])
    assert stage(document, "nmstate")["status"] == "skipped"
    assert is_starting(node)
    assert causes(node) == []


ENDLESS = """[connection]
id=storage
type=ethernet
interface-name=eth1
[ipv4]
method=auto
dhcp-timeout=2147483647
[ipv6]
method=disabled
"""


def test_a_bridge_with_the_node_ip_is_kept_while_another_link_waits_for_a_lease(
    product_node: NodeFactory, lan: Lan
) -> None:
    """NetworkManager never ends its start: br-ex of the boot before needs no apply, and kubelet does not wait."""
    lan.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    node = product_node(nics=[lan, lan], files={SETTINGS: BRIDGED}, flavour=Flavour.OPENSHIFT)
    node.write(f"{KEYFILES}/uplink.nmconnection", UPLINK, 0o600)
    node.write(f"{KEYFILES}/storage.nmconnection", ENDLESS, 0o600)
    node.boot()
    document = settle(node)
    assert (document["health"], document["bridge"]) == ("ok", "br-ex")
    lan.stop_dhcp()
    node.reboot()
    document = settle(node, timeout=100)
    assert is_starting(node)
    assert (document["health"], document["bridge"], document["link"]) == ("ok", "br-ex", "br-ex")
    assert stage(document, "configure-ovs")["waited"] < 30
    assert causes(node) == []


def test_a_wrong_name_is_named_at_once_with_the_links_that_there_are(product_node: NodeFactory, lan: Lan) -> None:
    """On a LAN without DHCP NetworkManager's start lasts for three minutes, and the name was not said for so long."""
    lan.stop_dhcp()
    node = product_node(nics=[lan, lan], files={node_file("cluster.yml"): STATIC.replace("eth0", "ens3")})
    node.boot()
    began = time.monotonic()
    there = (
        f"this host has eth0 ({node.mac('eth0')}, 10 Gbit/s, carrier), eth1 ({node.mac('eth1')}, 10 Gbit/s, carrier)"
    )
    said = f"the link ens3 of cluster.yml, which udev may still bring; {there}"
    node.wait_until(f"nodenetctl status --json | grep -qF '{said}'", timeout=20)
    assert time.monotonic() - began < 10
    assert is_starting(node)
