"""Another program changes the network of the node file: nodenetd says so within a minute, and leaves it as it is."""

from __future__ import annotations

import pytest

from br_ex.test_make import BRIDGED, SETTINGS, audits
from factories import NO_BRIDGE, NodeFactory
from harness import Flavour, Lan, Node
from nodenet.core.messages import Message
from story import STATIC, node_file, settle, status, story

SECONDS = 65
FILE = STATIC + "dns-resolver:\n  config:\n    server: [10.88.0.1]\n"


def notes(node: Node) -> str:
    return "\n".join(each for each in status(node)["notes"] if "the network is not as" in each)


def said(node: Node, command: str, words: str) -> None:
    """Wait until the status says *words* after *command*, and nothing before."""
    assert notes(node) == ""
    node.run(command)
    node.wait_until(f"nodenetctl status | grep 'the network is not as worker-0.yml asks' | grep -q '{words}'", timeout=SECONDS)


def over(node: Node, command: str) -> None:
    """Wait until *command* has brought the network of the file back."""
    node.run(command, timeout=60)
    settle(node)
    node.wait_until("! nodenetctl status | grep -q 'the network is not as'", timeout=SECONDS)


@pytest.mark.parametrize("link", ["eth0", "br-ex"])
def test_what_is_changed_by_hand_is_said(product_node: NodeFactory, lan: Lan, link: str) -> None:
    """MTU, route, address and DNS; also where configure-ovs has moved the address to br-ex."""
    lan.run("ip", "address", "show")
    settings = NO_BRIDGE if link == "eth0" else {SETTINGS: BRIDGED}
    node = product_node(files={node_file("worker-0.yml"): FILE, **settings}, flavour=Flavour.OPENSHIFT)
    node.boot()
    assert settle(node)["health"] == "ok"
    before = audits(node)
