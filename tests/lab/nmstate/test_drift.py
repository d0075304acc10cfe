"""Another program changes the network of the node file: nodenetd says so within a minute and leaves it as it is."""

from __future__ import annotations

import time

import pytest

from br_ex.test_make import BRIDGED, SETTINGS, audits
from factories import NO_BRIDGE, NodeFactory
from harness import Flavour, Lab, Lan, Node
from nodenet.core.messages import Message
from story import STATIC, mtu, node_file, settle, status, story

SECONDS = 65
ROUTE = "  - {destination: 198.51.100.0/24, next-hop-address: 10.88.0.1, next-hop-interface: eth0}\n"
FILE = STATIC.replace("  state: up\n", "  state: up\n  mtu: 1450\n") + ROUTE
MORE_LINKS = """- name: br-test
  type: linux-bridge
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.99.0.1, prefix-length: 24}]}
  ipv6: {enabled: true, dhcp: false, autoconf: false, address: [{ip: "2001:db8:99::1", prefix-length: 64}]}
  bridge: {options: {stp: {enabled: false}}, port: [{name: eth1}]}
- {name: br-other, type: linux-bridge, state: up, bridge: {port: []}}
"""


def notes(node: Node) -> str:
    return "\n".join(each for each in status(node)["notes"] if "The network is not as" in each)


def said(node: Node, command: str, words: str) -> None:
    """Wait until the status says *words* after *command*, and nothing before."""
    assert notes(node) == ""
    node.run(command)
    shown = "nodenetctl status | grep 'The network is not as worker-0.yml asks any more'"
    node.wait_until(f"{shown} | grep -q '{words}'", timeout=SECONDS)


def over(node: Node, command: str) -> None:
    """Wait until *command* has brought the network of the file back."""
    node.run(command, timeout=60)
    settle(node)
    node.wait_until("! nodenetctl status | grep -q 'The network is not as'", timeout=SECONDS)


@pytest.mark.parametrize("link", ["eth0", "br-ex"])
def test_what_is_changed_by_hand_is_said(product_node: NodeFactory, lan: Lan, link: str) -> None:
    """MTU, a route, DNS and the node IP; also where the address is on br-ex. Nothing is applied."""
    lan.stop_dhcp()
    files = {node_file("worker-0.yml"): FILE, **(NO_BRIDGE if link == "eth0" else {SETTINGS: BRIDGED})}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT)
    node.boot()
    document = settle(node)
    assert (document["health"], document["link"]) == ("ok", link)
    time.sleep(SECONDS / 2)
    assert notes(node) == "", "what nodenetd has made itself is as the file asks"
    before = audits(node)
    words = ["eth0 mtu is 1400, not 1450", "DNS servers 10.88.0.9, not 10.88.0.1"]
    change = "ip link set eth0 mtu 1400; sed -i s/10.88.0.1/10.88.0.9/ /etc/resolv.conf"
    back = "ip link set eth0 mtu 1450; sed -i s/10.88.0.9/10.88.0.1/ /etc/resolv.conf"
    if link == "eth0":
        words.append("198.51.100.0/24 via 10.88.0.1")
        change += "; ip route replace 198.51.100.0/24 via 10.88.0.9"
        back += "; ip route replace 198.51.100.0/24 via 10.88.0.1 proto static"
    said(node, change, words[0])
    assert all(each in notes(node) for each in words), notes(node)
    assert (audits(node), status(node)["health"]) == (before, "ok")
    if link == "br-ex":
        over(node, back)
    else:
        node.run("ip address add 10.88.0.51/24 dev eth0; ip address del 10.88.0.50/24 dev eth0")
        node.wait_until("nodenetctl status | grep 'The network is not as' | grep -q ipv4.address", timeout=SECONDS)
        over(node, f"{back}; nodenetctl reload --wait")
    lines = [each for each in story(node) if each.get("MESSAGE_ID") == Message.NETWORK_CHANGED.value]
    assert len(lines) == (2 if link == "eth0" else 1)


WHOLE = FILE.replace("dns-resolver:\n", MORE_LINKS + "dns-resolver:\n").replace(
    "      prefix-length: 24\n", '      prefix-length: 24\n    - ip: "10.88.0.61"\n      prefix-length: 24\n'
)
BY_HAND = {
    "ip link set eth0 mtu 1400": "eth0 mtu is 1400, not 1450",
    "ip address del 10.88.0.61/24 dev eth0": "eth0 ipv4.address is 10.88.0.50/24, not",
    "ip route replace 198.51.100.0/24 via 10.88.0.9": "198.51.100.0/24 via 10.88.0.1 on eth0",
    "sed -i s/10.88.0.1/10.88.0.9/ /etc/resolv.conf": "DNS servers 10.88.0.9, not 10.88.0.1",
    "ip link set br-other down": "br-other is set down",
    "nmcli connection modify br-test connection.autoconnect no": "the profile br-test has connection.autoconnect false",
    "nmcli connection modify br-test ipv4.dns-search example.net": "the profile br-test has ipv4.dns-search",
    "sysctl -w net.ipv6.conf.br-test.disable_ipv6=1": "br-test ipv6",
    "ip address add 203.0.113.7/24 dev br-other": "",
    "tc qdisc replace dev eth0 root pfifo": "",
}
"""Command → what is said; nothing of what another program adds."""


def test_many_changes_by_hand_are_each_said_and_stay_until_a_reload(
    product_node: NodeFactory, lab: Lab, lan: Lan
) -> None:
    """A restart of nodenetd undoes none of them and forgets none that the network shows."""
    lan.stop_dhcp()
    files = {node_file("worker-0.yml"): WHOLE, **NO_BRIDGE}
    node = product_node(files=files, flavour=Flavour.OPENSHIFT, nics=[lan, lab.lan("lan1")])
    node.boot()
    document = settle(node)
    assert document["health"] == "ok"
    node.record("kubelet")
    node.wait_until("nodenetctl verify", timeout=SECONDS)
    assert node.run("nodenetctl verify").stdout == ""
    for command in BY_HAND:
        node.run(command)
    before = audits(node)
    node.wait_until("test $(nodenetctl verify | wc -l) -ge 8", timeout=SECONDS)
    said = node.run("nodenetctl verify", check=False)
    assert said.returncode == 1
    assert [words for words in BY_HAND.values() if words not in said.stdout] == [], said.stdout
    assert "203.0.113.7" not in said.stdout
    assert (status(node)["health"], audits(node)) == ("ok", before)
    node.run("systemctl restart nodenetd", timeout=60)
    settle(node)
    node.wait_until("nodenetctl verify | grep -q 'eth0 mtu is 1400'", timeout=SECONDS)
    assert (audits(node), mtu(node), node.record("kubelet").starts) == (before, 1400, 1)
    node.write("/etc/nodenet/nodenet.toml.d/20-lab.toml", "changes_degrade = true\n")
    node.run("nodenetctl reload --wait", timeout=90)
    settle(node)
    assert mtu(node) == 1450
    node.run("ip link set eth0 mtu 1400")
    node.wait_until("nodenetctl status | grep -q ^degraded", timeout=SECONDS)
    (cause,) = (each["cause"] for each in status(node)["problems"])
    assert "eth0 mtu is 1400, not 1450" in cause
