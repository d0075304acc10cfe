"""A node file with other names for its links."""

from __future__ import annotations

import pytest

from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import read
from nodenet.core.node_file.links import is_so_named, lines_of_entries, with_names
from nodenet.core.node_file.yaml_text import Block, load

WHOLE = """# eth0 is the NIC in slot 3
interfaces:
- name: eth0
  type: ethernet
  description: eth0
- {name: "eth1", type: ethernet, ethtool: {}}
- name: bond0
  type: bond
  link-aggregation: {mode: active-backup, port: [eth0, 'eth1'], options: {primary: eth0}}
- name: eth0.5
  type: vlan
  vlan: {base-iface: &base eth0, id: 5}
- name: sriov:eth0:1
  type: ethernet
- name: br0
  type: ovs-bridge
  bridge:
    port:
    - name: eth1
dns-resolver:
  config:
    server: [fe80::1%eth0, 192.0.2.1]
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: eth0}
  - {destination: 192.0.2.0/24, next-hop-interface: *base}
route-rules:
  config:
  - {iif: eth1}
"""
SWAPPED = """# eth0 is the NIC in slot 3
interfaces:
- name: "eth1"
  type: ethernet
  description: eth0
- {name: "eth0", type: ethernet, ethtool: {}}
- name: bond0
  type: bond
  link-aggregation: {mode: active-backup, port: ["eth1", 'eth0'], options: {primary: "eth1"}}
- name: eth0.5
  type: vlan
  vlan: {base-iface: &base "eth1", id: 5}
- name: sriov:eth1:1
  type: ethernet
- name: br0
  type: ovs-bridge
  bridge:
    port:
    - name: "eth0"
dns-resolver:
  config:
    server: [fe80::1%eth1, 192.0.2.1]
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: "eth1"}
  - {destination: 192.0.2.0/24, next-hop-interface: *base}
route-rules:
  config:
  - {iif: "eth0"}
"""
SWAP = {"eth0": "eth1", "eth1": "eth0"}


def tree(text: str) -> Block:
    """Return the tree of *text*."""
    found = load("w.yml", text)
    assert isinstance(found, Block)
    return found


def test_each_place_that_names_a_link_gets_the_new_name_and_nothing_else_changes() -> None:
    assert with_names(WHOLE, tree(WHOLE), SWAP) == SWAPPED
    assert is_so_named(tree(WHOLE), tree(SWAPPED), SWAP)
    assert not is_so_named(tree(WHOLE), tree(WHOLE), {"eth0": "enp1", "eth1": "eth0"})


def test_a_file_in_json_is_followed() -> None:
    text = '{"interfaces": [{"name": "eth0", "type": "ethernet"}]}'
    assert with_names(text, tree(text), {"eth0": "e!x"}) == text.replace("eth0", "e!x")


@pytest.mark.parametrize("written", ['"eth\\x30"', "|-\n    eth0", '"eth\\\n    0"'], ids=["escape", "block", "folded"])
def test_a_name_that_is_written_in_another_way_is_not_followed(written: str) -> None:
    text = f"interfaces:\n- type: ethernet\n  name: {written}\n"
    document = parse(read("w.yml", text.encode())).document
    assert document is not None
    assert with_names(text, document, {"eth0": "enp1"}) is None


def test_the_lines_of_the_names_are_known() -> None:
    assert lines_of_entries(tree(WHOLE))["eth1"] == 6
