"""Two NICs exchange their names on a node with br-ex and a node file."""

from __future__ import annotations

from br_ex.test_make import SETTINGS, identity
from br_ex.test_renamed import ONE_FAMILY
from factories import NodeFactory
from harness import Flavour, Lab, Lan
from nmstate.test_renamed import FILE, SWAP, reboot_with
from story import STATIC, causes, nothing_left, settle


def test_br_ex_follows_its_uplink_where_two_nics_exchange_their_names(
    product_node: NodeFactory, lab: Lab, lan: Lan
) -> None:
    node = product_node(
        files={SETTINGS: ONE_FAMILY}, flavour=Flavour.OPENSHIFT, nics=[lan, lab.lan("lan1", serve=False)]
    )
    node.write(FILE, STATIC)
    node.boot()
    document = settle(node)
    assert (document["health"], document["bridge"], document["uplink"]) == ("ok", "br-ex", "eth0")
    before = identity(node, "br-ex")
    reboot_with(node, SWAP)
    document = settle(node, timeout=150)
    assert (document["bridge"], document["uplink"], document["node_ips"]) == ("br-ex", "eth1", ["10.88.0.50"])
    assert identity(node, "br-ex") == before
    assert node.run("ping -c 1 -W 2 10.88.0.1", check=False).returncode == 0
    renamed = f"eth0 is called eth1 now (same MAC {node.nics[0].mac})"
    assert causes(node) == [f"{renamed}; cluster.yml is used with the new name of each NIC"]
    nothing_left(node)
