"""Which static addresses a node file gives."""

from __future__ import annotations

from ipaddress import ip_address

import pytest

from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import read

V4, V6 = ip_address("192.0.2.5"), ip_address("2001:db8::5")
LINK = """interfaces:
- name: eth0
  type: ethernet
  ipv4: {enabled: %s, address: [{ip: 192.0.2.5, prefix-length: 24}]}
  ipv6: {enabled: true, address: [{ip: "2001:db8::5", prefix-length: 64}]}
"""


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (LINK % "true", (("eth0", V4), ("eth0", V6))),
        (LINK % "false", (("eth0", V6),)),
        (LINK.replace("  type", "  state: absent\n  type") % "true", ()),
        ("interfaces:\n- {name: eth0, ipv4: {enabled: true, dhcp: true}}\n", ()),
    ],
)
def test_the_addresses_of_enabled_families(text: str, found: tuple[tuple[str, object], ...]) -> None:
    assert parse(read("worker-0.yml", text.encode())).addresses == found
