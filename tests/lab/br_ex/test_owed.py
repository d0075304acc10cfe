"""The power goes while a leased address is still static on br-ex: what does the next boot make of it? (R3)"""

from __future__ import annotations

import json

import pytest

from br_ex.test_make import BRIDGED, DHCP_ONLY, PLAIN, SETTINGS, bridged, leased
from factories import NodeFactory
from harness import Flavour, Lan, Node, eventually
from story import settle, stage, status, story

FOUR = 'families = ["ipv4"]\n'
RECORD = "/var/lib/nodenet/bridge.json"
WEEK = 7 * 86400


@pytest.fixture
def owing(product_node: NodeFactory, lan: Lan) -> Node:
    """A node whose DHCP server fell silent before br-ex was made, without power."""
    lan.start_dhcp(DHCP_ONLY)
    node = product_node(files={SETTINGS: FOUR + PLAIN}, flavour=Flavour.OPENSHIFT)
    node.boot()
    settle(node)
    lan.stop_dhcp()
    bridged(node, **{SETTINGS: FOUR + BRIDGED})
    assert json.loads(node.path(RECORD).read_text())["leases"]
    node.power_cut()
    return node


def static_addresses(node: Node) -> list[str]:
    """Return what br-ex's profile has as static addresses."""
    return node.run("nmcli -g ipv4.addresses connection show br-ex-if").stdout.split()


def test_a_lease_that_has_ended_meanwhile_is_not_published(owing: Node, lan: Lan) -> None:
    """A week later: kubelet is held until a server gives an address, and then starts with that one (R3)."""
    node = owing
    record = json.loads(node.path(RECORD).read_text())
    record["leases"]["br-ex"]["noted"]["unix"] -= WEEK
    old = record["leases"]["br-ex"]["address"]
    node.write(RECORD, json.dumps(record), 0o600)
    node.boot()
    node.wait_until("test -e /run/nodenet/state.json && nmcli -t general >/dev/null", timeout=30)
    eventually(lambda: static_addresses(node) == [], "the static address to go", timeout=60, pause=0.3)
    assert not status(node)["ready"]
    assert old not in status(node)["node_ips"]
    assert json.loads(node.path(RECORD).read_text())["leases"] == {}
    said = [str(line["MESSAGE"]) for line in story(node)]
    assert f"The lease of {old} has ended and no DHCP server renews it" in said
    lan.start_dhcp(DHCP_ONLY)
    document = settle(node, timeout=180)
    assert document["ready"]
    eventually(lambda: leased(node), "a lease of its own for br-ex", timeout=60, pause=0.3)
    assert node.record("kubelet").addresses


def test_a_lease_that_is_valid_is_used_and_given_back_later(owing: Node, lan: Lan) -> None:
    """The server is silent: the node starts with its lease, and says that nobody has confirmed it (R3)."""
    node = owing
    node.boot()
    document = settle(node, timeout=120)
    assert document["ready"]
    assert "static until the DHCP server confirms it" in stage(document, "configure-ovs")["detail"]
    (address,) = document["node_ips"]
    said = [str(line["MESSAGE"]) for line in story(node)]
    assert f"No DHCP server has confirmed {address} in this boot: used until the lease ends" in said
    lan.start_dhcp(DHCP_ONLY)
    eventually(lambda: leased(node), "a lease of its own for br-ex", timeout=120, pause=0.5)
    assert node.addresses("br-ex") == [address]
