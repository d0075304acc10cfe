"""Which MACs a node file names."""

from __future__ import annotations

from nodenet.core.node_file.find import named_macs

TEXT = """
interfaces:
- name: eth0  # mac-address: 52:54:00:00:00:01
  mac-address: 52:54:00:AA:00:02
- {name: eth1, identifier: mac-address, "mac-address": '52-54-00-aa-00-03'}
# mac-address: 52:54:00:00:00:04
- name: bond0
  copy-mac-from: eth0
"""


def test_macs_are_found_in_every_form_and_not_in_comments() -> None:
    assert named_macs(TEXT) == {"52:54:00:aa:00:02", "52:54:00:aa:00:03"}
    assert named_macs("interfaces: []") == frozenset()
