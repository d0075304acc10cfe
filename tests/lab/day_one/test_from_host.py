"""`from-host` on hosts of many kinds: its file, on a node with nothing else, gives the same network and no difference.

Bond, VLAN on a bond and VRF need a kernel of their own: tests/vm/day_one.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from day_one.artefacts import keyfiles
from day_one.same_network import becomes, steady, wiped
from day_one.test_keyfiles import BRIDGE, DOCUMENT
from factories import NodeFactory
from harness import Dhcp, Flavour, Ipv6, Lab, Lan, Node
from story import NODE_FILES, causes, settle, stage

NETDEV = 'network_type = "OVNKubernetes"\n[bridge]\ndatapath = "netdev"\n'
SETTINGS = "/etc/nodenet/nodenet.toml.d/10-lab.toml"
STATIC = DOCUMENT[: DOCUMENT.index("  - destination: 203.0.113.0/24")]
POLICY_ROUTING = DOCUMENT
IPV6_ONLY = """\
interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4:
    enabled: false
  ipv6:
    enabled: true
    dhcp: true
    autoconf: true
"""
TWO_NICS = """\
interfaces:
- name: eth0
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: true
  ipv6:
    enabled: false
- name: eth1
  type: ethernet
  state: up
  ipv4:
    enabled: true
    dhcp: false
    address:
    - ip: 10.88.1.50
      prefix-length: 24
  ipv6:
    enabled: false
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of host: what makes its network, and how many cards it has."""

    document: str = ""
    """Empty: NetworkManager makes its own profile."""
    nics: int = 1
    br_ex: bool = False
    advertised: bool = False
    """Whether it takes an address from router advertisements."""
    ipv4: bool = True
    """Whether the LAN has DHCPv4."""


KINDS = {
    "dhcp": Kind(advertised=True),
    "static": Kind(STATIC),
    "two-nics": Kind(TWO_NICS, nics=2),
    "ipv6-only": Kind(IPV6_ONLY, advertised=True, ipv4=False),
    "existing-br-ex": Kind(br_ex=True, advertised=True),
    "linux-bridge": Kind(BRIDGE),
    "policy-routing": Kind(POLICY_ROUTING),
}


def made_here(node: Node) -> str:
    """Return the node file that from-host makes on *node*; nothing that it cannot express is reported."""
    done = node.run(["nodenetctl", "day-one", "from-host"])
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("name", KINDS)
def test_its_file_gives_the_same_network(
    name: str, product_node: NodeFactory, lan: Lan, lab: Lab, tmp_path: Path
) -> None:
    kind = KINDS[name]
    lan.start_dhcp(Dhcp(ipv4=kind.ipv4, ipv6=Ipv6.SLAAC))
    lans = [lan, *([lab.lan("second")] if kind.nics > 1 else [])]
    settings = {SETTINGS: NETDEV} if kind.br_ex else {}
    node = product_node(nics=lans, files=settings, flavour=Flavour.OPENSHIFT)
    if kind.document:
        for path, text in keyfiles(kind.document, tmp_path).items():
            node.write(path, text, 0o600)
    node.boot()
    document = settle(node, timeout=120)
    assert document["health"] == "ok"
    if kind.advertised:
        link = "br-ex" if kind.br_ex else "eth0"
        node.wait_until(f"ip -6 address show dev {link} scope global -tentative | grep inet6")
    before = steady(node)
    text = made_here(node)
    wiped(node)
    node.write(f"{NODE_FILES}/worker-0.yml", text)
    node.boot()
    document = settle(node, timeout=120)
    assert (document["health"], stage(document, "nmstate")["status"]) == ("ok", "done"), document
    assert causes(node) == []
    becomes(node, before)
    again = YAML(typ="safe", pure=True).load(made_here(node))
    assert again == YAML(typ="safe", pure=True).load(text)
