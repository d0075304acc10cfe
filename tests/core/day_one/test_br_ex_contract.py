"""What br-ex needs: bridge, one link below it, internal interface, MAC address, metric."""

from __future__ import annotations

from pathlib import Path

import pytest

from core.day_one.trees import block
from nodenet.core.day_one.links import broken

SEED = (Path(__file__).parents[3] / "fixtures/day_one/seed/br-ex/master-0.yml").read_text()


def rules(text: str) -> list[str]:
    return [each.rule.word for each in broken("a.yml", block(text))]


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ("type: ovs-bridge", "type: linux-bridge", "br-ex-bridge"),
        ("    - name: enp2s0\n", "", "br-ex-port"),
        ("    - name: enp2s0\n", "    - name: enp2s0\n    - name: enp3s0\n", "br-ex-port"),
        ("    - name: br-ex\n", "", "br-ex-interface"),
        ("  copy-mac-from: enp2s0\n", "", "br-ex-mac"),
        ("copy-mac-from: enp2s0", "copy-mac-from: enp3s0", "br-ex-mac"),
        ("    enabled: true\n", "    enabled: true\n    dhcp: true\n", "br-ex-metric"),
        ("    enabled: false\n", "    enabled: true\n    dhcp: true\n", "br-ex-uplink-address"),
    ],
)
def test_each_part_that_is_missing_is_named(old: str, new: str, rule: str) -> None:
    assert rules(SEED.replace(old, new, 1)) == [rule]


def test_a_mac_address_of_its_own_is_enough() -> None:
    assert rules(SEED.replace("copy-mac-from: enp2s0", "mac-address: 52:54:00:00:00:01")) == []


def test_a_route_that_is_not_learned_needs_no_metric() -> None:
    off = "    enabled: true\n    dhcp: true\n    auto-routes: false\n"
    assert rules(SEED.replace("    enabled: true\n", off, 1)) == []


SLB = (Path(__file__).parents[3] / "fixtures/field_documents/slb-bond-below-br-ex.yml").read_text()


def test_a_patch_port_to_a_bridge_without_a_link_is_no_uplink() -> None:
    bond = SLB[SLB.index("    - name: bond-phy") : SLB.index("- name: br-ex-to-br-phy\n  type")]
    assert rules(SLB.replace(bond, "")) == ["br-ex-port"]


def test_a_leg_of_the_bond_behind_the_patch_port_has_no_address_of_its_own() -> None:
    leg = "- name: enp2s0\n  type: ethernet\n  state: up\n  ipv4:\n    enabled: true\n    dhcp: true\n"
    assert rules(SLB + leg) == ["br-ex-uplink-address"]
