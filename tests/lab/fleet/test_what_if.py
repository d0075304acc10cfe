"""What `nodenetctl what-if` predicts of a booted node, compared with what its apply does.

In each run a few files; with NODENET_RECORD_APPLIES=DIR all of them, for the error rate in docs/fleet.md.
"""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from error_rate import Record, differences
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan, Node, applies
from story import node_file, settle

OWN = node_file("worker-0.yml")
QUICK = {"/etc/nodenet/nodenet.toml.d/20-lab.toml": "probe_timeout = 2\n"}
FIRST = {
    "lease": "- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: true}}",
    "lease-mtu": "- {name: eth0, type: ethernet, state: up, mtu: 1400, ipv4: {enabled: true, dhcp: true}}",
    "static": "- {name: eth0, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: "
    "[{ip: 10.88.0.50, prefix-length: 24}]}}",
    "static-two": "- {name: eth0, type: ethernet, state: up, mtu: 1450, ipv4: {enabled: true, dhcp: false, address: "
    "[{ip: 10.88.0.51, prefix-length: 24}, {ip: 10.88.0.52, prefix-length: 24}]}}",
    "static-without-6": "- {name: eth0, type: ethernet, state: up, ipv6: {enabled: false}, ipv4: {enabled: true, "
    "dhcp: false, address: [{ip: 10.88.0.53, prefix-length: 24}]}}",
    "by-mac": "- {name: uplink, type: ethernet, state: up, identifier: mac-address, mac-address: 'MAC', "
    "ipv4: {enabled: true, dhcp: true}}",
}
SECOND = {
    "alone": "",
    "bridge": "- {name: br-test, type: linux-bridge, state: up, ipv4: {enabled: true, dhcp: false, address: "
    "[{ip: 10.20.0.5, prefix-length: 24}]}, bridge: {port: []}}",
    "bridge-over-eth1": "- {name: br-one, type: linux-bridge, state: up, ipv4: {enabled: true, dhcp: false, address: "
    "[{ip: 10.21.0.5, prefix-length: 24}]}, bridge: {port: [{name: eth1}]}}",
    "dummy": "- {name: dummy1, type: dummy, state: up, mtu: 1300, ipv4: {enabled: true, dhcp: false, address: "
    "[{ip: 10.22.0.5, prefix-length: 32}]}}",
    "eth1-static": "- {name: eth1, type: ethernet, state: up, mtu: 1480, ipv4: {enabled: true, dhcp: false, address: "
    "[{ip: 10.23.0.5, prefix-length: 24}]}, ipv6: {enabled: false}}",
    "eth1-off": "- {name: eth1, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: false}}",
    "eth1-absent": "- {name: eth1, type: ethernet, state: absent}",
    "bridge-absent": "- {name: br-test, type: linux-bridge, state: absent}",
    "gone-link": "- {name: eth9, type: ethernet, state: up}",
    "wrong-key": "- {name: eth1, type: ethernet, state: up, mtuu: 1400}",
    "eth1-6": "- {name: eth1, type: ethernet, state: up, ipv4: {enabled: false}, ipv6: {enabled: true, dhcp: false, "
    "autoconf: false, address: [{ip: 'fd99::5', prefix-length: 64}]}}",
}
ROUTES = """routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: eth0}
"""
SOME = (
    ("static", "bridge"),
    ("lease-mtu", "eth1-static"),
    ("lease", "gone-link"),
    ("static-two", "bridge-absent"),
)


def text(first: str, second: str, mac: str) -> str:
    """Return a node file; a static address has a default route."""
    links = "\n".join(filter(None, (FIRST[first].replace("MAC", mac), SECOND[second])))
    return f"interfaces:\n{links}\n{ROUTES if first.startswith('static') else ''}"


@pytest.fixture
def node(lab: Lab, lan: Lan, product_node: NodeFactory) -> Node:
    other = lab.lan("other")
    for each in (lan, other):
        each.start_dhcp(Dhcp(ipv6=Ipv6.NONE))
    made = product_node(nics=[lan, other], files={OWN: text("lease", "alone", ""), **QUICK}, flavour=Flavour.OPENSHIFT)
    made.boot()
    assert settle(made)["health"] == "ok"
    return made


def test_the_prediction_is_what_the_apply_does(node: Node, tmp_path: Path) -> None:
    """Each file is applied after the one before: what a file does not name stays."""
    every = bool(applies.FOLDER)
    keep = Path(applies.FOLDER) if every else tmp_path
    wrong: dict[str, list[str]] = {}
    for number, (first, second) in enumerate(product(FIRST, SECOND) if every else SOME):
        node.write(OWN, text(first, second, node.mac()))
        name = f"reload-{number:02}-{first}-{second}"
        with applies.keep(node, keep, name):
            node.run("nodenetctl reload --wait", check=False, timeout=90)
            settle(node, timeout=90)
            node.wait_until("! nmcli -g STATE device | grep -q '^connecting'", timeout=60)
        found = differences(Record.read(keep / f"{name}.json"))
        if found:
            wrong[f"{first}-{second}"] = found
    if not every:
        assert wrong == {}
