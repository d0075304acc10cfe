"""Does `nodenetctl explain br-ex` on a real node say what would be done, and leave it alone?"""

from __future__ import annotations

import json

import pytest

from factories import NodeFactory
from harness import Flavour
from story import network

pytestmark = pytest.mark.lab


def test_a_live_node_and_its_saved_facts_give_one_plan(product_node: NodeFactory) -> None:
    """DHCP and router advertisements: the plan keeps both identities, and nothing of the node changes."""
    node = product_node(flavour=Flavour.PLAIN, enable=[])
    node.boot()
    node.wait_settled()
    node.wait_until("ip -6 address show dev eth0 scope global | grep -q dynamic")
    before = network(node)

    document = node.json(["nodenetctl", "explain", "br-ex", "--json", "--datapath", "netdev"])
    assert document["uplinks"] == [{"bridge": "br-ex", "link": "eth0", "rule": "node-ip"} | document["uplinks"][0]]
    interface = document["document"]["interfaces"][2]
    (address,) = node.addresses("eth0")
    (address6,) = node.addresses("eth0", "inet6")
    assert document["carried"]["interfaces"][2]["ipv4"]["address"][0]["ip"] == address
    assert address6.endswith(interface["ipv6"]["token"].removeprefix("::"))
    assert {item["copy-mac-from"] for item in document["document"]["interfaces"] if "copy-mac-from" in item} == {"eth0"}
    assert {item["name"] for item in document["difference"]["interfaces"]} == {"eth0", "br-ex"}

    facts = node.run(["nodenetctl", "explain", "br-ex", "--facts"]).stdout
    assert json.loads(facts)["state"]["interfaces"]
    again = node.run(
        ["nodenetctl", "explain", "br-ex", "--snapshot", "-", "--json", "--datapath", "netdev"], stdin=facts
    )
    assert json.loads(again.stdout)["document"] == document["document"]
    assert network(node) == before
