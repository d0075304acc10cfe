"""Which links does a node file configure?"""

from __future__ import annotations

from dataclasses import replace

import pytest

from nodenet.core.ip import Family
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.links import Demands, Hop, Lease, Links, demands, links_of
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
        (BRIDGE, Links(names("eth0"), names("br-ex"), below={"br-ex": names("eth0", "br-ex")})),
        (OVS_BOND, Links(names("b", "eth1"), names("br-ex"), below={"br-ex": names("b", "eth1")})),
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


# Which leases and gateways a node file asks for.


V4, V6 = Family.IPV4, Family.IPV6
ETH0 = "- name: eth0\n  type: ethernet\n"
STATIC4 = "  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.5, prefix-length: 24}]}\n"
DHCP4 = "  ipv4: {enabled: true, dhcp: true}\n"
NO6 = "  ipv6: {enabled: false}\n"
AUTO6 = "  ipv6: {enabled: true, autoconf: true, dhcp: true}\n"
VRF = "- name: blue\n  type: vrf\n  vrf: {port: [eth0], route-table-id: 100}\n"


def asked(interfaces: str, *routes: str) -> Demands:
    more = f"routes: {{config: [{', '.join(routes)}]}}\n"
    return parse(NodeFile("worker-0.yml", f"interfaces:\n{interfaces}{more}", "d")).demands


@pytest.mark.parametrize(
    ("interfaces", "families"),
    [
        (ETH0, set()),
        (ETH0 + STATIC4, {V4}),
        (ETH0 + DHCP4 + AUTO6, {V4, V6}),
        (ETH0 + "  ipv6: {enabled: true}\n", set()),
        (ETH0 + "  ipv4: {enabled: false, address: [{ip: 192.0.2.5, prefix-length: 24}]}\n" + NO6, set()),
        (ETH0 + "  state: absent\n" + DHCP4, set()),
        (ETH0 + "  state: down\n" + DHCP4, set()),
        (ETH0 + "  state: ignore\n" + DHCP4, set()),
        (ETH0 + "  ipv4: {enabled: true, dhcp: false, address: []}\n", set()),
    ],
)
def test_families_that_any_link_gets_addresses_of(interfaces: str, families: set[Family]) -> None:
    """``ipv6: {enabled: true}`` alone is the address of the link."""
    assert asked(interfaces).addressed == families


@pytest.mark.parametrize(
    ("interfaces", "leases"),
    [
        (ETH0 + STATIC4, set()),
        (ETH0 + DHCP4 + NO6, {Lease("eth0", V4)}),
        (ETH0 + DHCP4 + AUTO6, {Lease("eth0", V4), Lease("eth0", V6)}),
        (ETH0 + DHCP4.replace("dhcp", "auto-gateway: false, dhcp"), {Lease("eth0", V4, "")}),
        (ETH0 + DHCP4.replace("dhcp", "auto-routes: false, dhcp"), {Lease("eth0", V4, "")}),
        (ETH0 + DHCP4.replace("dhcp", "auto-route-table-id: 100, dhcp"), {Lease("eth0", V4, "100")}),
        (VRF + ETH0 + DHCP4, {Lease("eth0", V4, "100")}),
    ],
)
def test_leases_and_where_their_default_route_goes(interfaces: str, leases: set[Lease]) -> None:
    found = asked(interfaces)
    assert found.leases == leases
    assert found.isolated is any(each.table != "main" for each in leases)


@pytest.mark.parametrize(
    ("route", "hops"),
    [
        (
            "{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0, table-id: 254}",
            {Hop("eth0", V4, "192.0.2.1")},
        ),
        ("{destination: '::/0', next-hop-address: 'fe80::1', next-hop-interface: eth0}", {Hop("eth0", V6, "fe80::1")}),
        ("{destination: 0.0.0.0/0, next-hop-interface: ppp0}", {Hop("ppp0", V4, "")}),
        ("{destination: 0.0.0.0/0, next-hop-address: 0.0.0.0, next-hop-interface: ppp0}", {Hop("ppp0", V4, "")}),
        ("{destination: 192.0.2.0/24, next-hop-interface: eth0}", set()),
        ("{destination: '::/0', route-type: blackhole}", set()),
        ("{destination: 0.0.0.0/0, next-hop-interface: eth0, state: ignore}", set()),
    ],
)
def test_static_default_routes(route: str, hops: set[Hop]) -> None:
    assert asked(ETH0 + STATIC4, route).hops == hops
    assert not asked(ETH0 + STATIC4, route).isolated


@pytest.mark.parametrize(
    ("route", "isolated"),
    [
        ("{destination: 0.0.0.0/0, next-hop-interface: eth0, state: absent}", True),
        ("{next-hop-interface: eth0, state: absent}", True),
        ("{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0, table-id: 100}", True),
        ("{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0, vrf-name: blue}", True),
        ("{destination: 128.0.0.0/1, next-hop-address: 192.0.2.1, next-hop-interface: eth0}", True),
        ("{destination: 10.0.0.0/8, next-hop-interface: eth0, state: absent}", False),
        ("{destination: 10.0.0.0/8, next-hop-address: 192.0.2.1, next-hop-interface: eth0, table-id: 100}", False),
    ],
)
def test_a_file_says_that_no_way_out_is_meant(route: str, *, isolated: bool) -> None:
    assert asked(ETH0 + STATIC4, route).isolated is isolated


def test_only_the_tables_in_use_lead_out() -> None:
    found = asked(
        ETH0 + DHCP4.replace("dhcp", "auto-route-table-id: 100, dhcp"),
        "{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0, table-id: 200}",
    )
    assert found.within({"main"}).leases == {Lease("eth0", V4, "")}
    assert found.within({"main"}).hops == frozenset()
    assert found.within({"main", "100", "200"}) == found


def test_links_may_have_other_names() -> None:
    text = ETH0.replace("eth0", "uplink") + DHCP4
    route = "{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: uplink}"
    document = load("worker-0.yml", f"interfaces:\n{text}routes: {{config: [{route}]}}\n")
    assert isinstance(document, Block)
    found = demands(document, {"uplink": "eth0"})
    assert found.leases == {Lease("eth0", V4)}
    assert found.hops == {Hop("eth0", V4, "192.0.2.1")}


def test_an_mtu_is_a_demand() -> None:
    assert asked(ETH0 + "  mtu: 9000\n").mtu
    assert not asked(ETH0 + STATIC4).mtu
