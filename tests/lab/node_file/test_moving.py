"""The static address of a node moves from one NIC to another."""

from __future__ import annotations

import pytest

from factories import NodeFactory
from harness import Flavour, Lan, Node
from story import STATIC, causes, node_file, nothing_left, settle

OWN = node_file("worker-0.yml")
IDLE = """- name: {link}
  type: ethernet
  state: {state}
  ipv4: {{enabled: false}}
  ipv6: {{enabled: false}}
"""


def on(link: str, *, other: str, state: str = "up", gateway: str = "10.88.0.1") -> str:
    """Return the static file with the address on *link*."""
    text = STATIC.replace("eth0", link).replace("next-hop-address: 10.88.0.1", f"next-hop-address: {gateway}")
    return text.replace("dns-resolver:", f"{IDLE.format(link=other, state=state)}dns-resolver:")


def stands(node: Node, link: str) -> None:
    """Assert that address, default route and name server are there, by *link*."""
    node.wait_until(f"ip -4 -br address show {link} | grep -q 10.88.0.50/24", timeout=15)
    assert f"default via 10.88.0.1 dev {link} " in node.run("ip route").stdout
    assert "nameserver 10.88.0.1\n" in node.run("cat /etc/resolv.conf").stdout


@pytest.mark.parametrize("state", ["up", "down"])
def test_a_static_address_moves_by_reload_and_back(product_node: NodeFactory, lan: Lan, state: str) -> None:
    """`diff` says that it moves. A move that fails its probes is undone, with the name servers of the old profile."""
    node = product_node(files={OWN: on("eth0", other="eth1")}, flavour=Flavour.OPENSHIFT, nics=[lan, lan])
    node.boot()
    assert settle(node)["health"] == "ok"
    stands(node, "eth0")
    profile = node.run("nmcli -t -f ipv4.dns,ipv4.method connection show 'Wired connection 1'").stdout
    node.write(OWN, on("eth1", other="eth0", state=state, gateway="10.88.0.99"))
    assert node.run("nodenetctl reload --wait", check=False, timeout=120).returncode != 0
    assert "the gateway 10.88.0.99 does not answer" in causes(node)[0]
    stands(node, "eth0")
    assert node.run("nmcli -t -f ipv4.dns,ipv4.method connection show 'Wired connection 1'").stdout == profile
    node.write(OWN, on("eth1", other="eth0", state=state))
    said = node.run("nodenetctl diff; nodenetctl status", check=False).stdout
    assert "the node IP 10.88.0.50 moves from eth0 to eth1" in said, said
    node.run("nodenetctl reload --wait", timeout=120)
    stands(node, "eth1")
    node.write(OWN, on("eth0", other="eth1"))
    node.run("nodenetctl reload --wait", timeout=120)
    stands(node, "eth0")
    nothing_left(node)


def test_a_static_address_moves_in_a_boot_and_back(product_node: NodeFactory, lan: Lan) -> None:
    node = product_node(files={OWN: on("eth0", other="eth1")}, flavour=Flavour.OPENSHIFT, nics=[lan, lan])
    node.boot()
    settle(node)
    for link, other in (("eth1", "eth0"), ("eth0", "eth1")):
        node.write(OWN, on(link, other=other))
        node.power_cut()
        node.boot()
        document = settle(node)
        assert (document["health"], document["link"]) == ("ok", link), causes(node)
        stands(node, link)
    nothing_left(node)
