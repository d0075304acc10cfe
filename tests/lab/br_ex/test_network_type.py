"""br-ex is made only where the settings name the network plugin that needs it."""

from __future__ import annotations

from br_ex.test_make import SETTINGS
from factories import NodeFactory
from harness import Flavour
from story import causes, settle, stage


def test_without_a_network_type_the_uplink_stays_as_it_is(product_node: NodeFactory) -> None:
    """Open vSwitch runs, and belongs to another plugin: the node is ok and says why there is no br-ex (R67)."""
    node = product_node(files={SETTINGS: '[bridge]\ndatapath = "netdev"\n'}, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert (document["health"], document["bridge"], document["link"]) == ("ok", None, "eth0")
    skipped = stage(document, "configure-ovs")
    assert skipped["status"] == "skipped"
    assert skipped["detail"] == 'network_type is not set: br-ex is made where it is "OVNKubernetes"'
    assert "br-ex" not in node.run("ovs-vsctl list-br").stdout
    assert causes(node) == []
