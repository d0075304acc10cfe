"""Which links does a node file configure?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.node_file.links import Links, links_of
from nodenet.core.node_file.values import interfaces
from nodenet.core.node_file.yaml_text import Block, load

NIC = "- {name: eth0, type: ethernet, ipv4: {enabled: true, dhcp: %s}}\n"
BOND = "- {name: bond0, type: bond, link-aggregation: {mode: active-backup, port: [eth0, eth1]}}\n"
VLAN = "- {name: bond0.7, type: vlan, vlan: {base-iface: bond0, id: 7}, ipv4: {enabled: true, dhcp: true}}\n"
BRIDGE = "- {name: br-ex, type: ovs-bridge, bridge: {port: [{name: eth0}, {name: br-ex}]}}\n"
OVS_BOND = "- {name: br-ex, type: ovs-bridge, bridge: {port: [{name: b, link-aggregation: {port: [{name: eth1}]}}]}}\n"


def names(*found: str) -> frozenset[str]:
    return frozenset(found)


@pytest.mark.parametrize(
    ("text", "links"),
    [
        (NIC % "false", Links(names("eth0"))),
        (NIC % "true", Links(names("eth0"), leased=names("eth0"))),
        (NIC % "Yes", Links(names("eth0"), leased=names("eth0"))),
        ("- {name: eth0, mtu: 9000}\n", Links(names("eth0"))),
        (BOND, Links(names("eth0", "eth1"), names("bond0"))),
        (BOND + VLAN, Links(names("eth0", "eth1"), names("bond0", "bond0.7"), names("bond0.7"))),
        (VLAN, Links(names("bond0"), names("bond0.7"), names("bond0.7"))),
        (BRIDGE, Links(names("eth0"), names("br-ex"))),
        (OVS_BOND, Links(names("b", "eth1"), names("br-ex"))),
    ],
)
def test_links_that_exist_that_are_made_and_that_get_a_lease(text: str, links: Links) -> None:
    """A port or a base that the file does not make must exist."""
    document = load("cluster.yml", f"interfaces:\n{text}")
    assert isinstance(document, Block)
    found = links_of(item for _, item in interfaces(document))
    assert replace(found, awaited=frozenset(), bases=frozenset()) == links


@pytest.mark.parametrize(
    ("text", "awaited"),
    [
        (NIC % "false", names("eth0")),
        (BOND + VLAN, names("eth0", "eth1")),
        (OVS_BOND, names("eth1")),
        ("- {name: eth1, type: ethernet, state: down}\n", names()),
        (BOND + "- {name: eth1, state: ignore}\n", names("eth0")),
        ("- {name: bond0, type: bond, state: ignore, link-aggregation: {port: [eth0]}}\n", names()),
        ("- {name: lan, type: ethernet, identifier: mac-address, mac-address: 52:54:00:00:00:01}\n", names()),
        ("- {name: eth0, profile-name: lan, identifier: name}\n", names("eth0")),
        ("- {name: lan, identifier: mac-address}\n" + VLAN.replace("bond0", "lan"), names()),
        ("- {name: v0, type: veth, veth: {peer: v1}}\n- {name: v1, type: ethernet}\n", names()),
    ],
)
def test_the_kernel_must_have_links_by_the_very_name_of_the_file(text: str, awaited: frozenset[str]) -> None:
    """Not those that a MAC address identifies, that the file ignores, or that libnmstate makes."""
    document = load("cluster.yml", f"interfaces:\n{text}")
    assert isinstance(document, Block)
    assert links_of(item for _, item in interfaces(document)).awaited == awaited


@pytest.mark.parametrize(
    ("text", "bases"),
    [
        (VLAN, names("bond0")),
        (BOND + VLAN, names()),
        (NIC % "false", names()),
        (VLAN.replace("type: vlan", "type: vlan, state: down"), names()),
        ("- {name: lan, identifier: mac-address}\n" + VLAN.replace("bond0", "lan"), names()),
    ],
)
def test_what_carries_a_vlan_and_is_not_made_must_be_there(text: str, bases: frozenset[str]) -> None:
    document = load("cluster.yml", f"interfaces:\n{text}")
    assert isinstance(document, Block)
    assert links_of(item for _, item in interfaces(document)).bases == bases


@pytest.mark.parametrize(
    ("text", "profiles", "by_key"),
    [
        (NIC % "true", names(), False),
        ("- {name: eth0, identifier: name}\n", names(), False),
        ("- {name: eth0, profile-name: lan}\n", names("lan"), False),
        ("- {name: uplink, identifier: mac-address, mac-address: 52:54:00:00:00:01}\n", names("uplink"), True),
        ("- {name: p, identifier: pci-address, pci-address: '0000:00:1f.6'}\n", names("p"), True),
        ("- {name: uplink, identifier: mac-address, profile-name: lan}\n", names("lan", "uplink"), True),
    ],
)
def test_names_of_profiles_that_are_not_made_of_that_of_the_link(
    text: str, profiles: frozenset[str], *, by_key: bool
) -> None:
    """The profile of a NIC that the file identifies by its MAC address has the name that the file gives it."""
    document = load("cluster.yml", f"interfaces:\n{text}")
    assert isinstance(document, Block)
    found = links_of(item for _, item in interfaces(document))
    assert (found.profiles, found.by_key) == (profiles, by_key)


def test_mac_addresses_that_identify_a_nic() -> None:
    """Not one that the file gives a NIC."""
    keyed = "- {name: a, identifier: mac-address, mac-address: 52-54-00-00-00-0A}\n"
    document = load("cluster.yml", f"interfaces:\n{keyed}- {{name: eth1, mac-address: 02:00:00:00:00:01}}\n")
    assert isinstance(document, Block)
    assert links_of(item for _, item in interfaces(document)).macs == {"a": "52:54:00:00:00:0a"}
