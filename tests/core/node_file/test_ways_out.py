"""Which families of addresses a node file leaves where."""

from __future__ import annotations

from textwrap import indent

import pytest

from nodenet.core.ip import Family
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.ways_out import WaysOut, ways_out
from nodenet.core.node_file.yaml_text import Block, load

V4, V6 = Family.IPV4, Family.IPV6
ETH0 = "- name: eth0\n  type: ethernet\n"
STATIC4 = "  ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.5, prefix-length: 24}]}\n"
DHCP4 = "  ipv4: {enabled: true, dhcp: true}\n"
NO4, NO6 = "  ipv4: {enabled: false}\n", "  ipv6: {enabled: false}\n"
AUTO6 = "  ipv6: {enabled: true, autoconf: true, dhcp: true}\n"
LOCAL6 = "  ipv6: {enabled: true, autoconf: false, dhcp: false}\n"
BOND = "- name: bond0\n  type: bond\n  link-aggregation: {mode: active-backup, port: [eth0, eth1]}\n"
VLAN = "- name: eth0.7\n  type: vlan\n  vlan: {base-iface: eth0, id: 7}\n"
VRF = "- name: blue\n  type: vrf\n  vrf: {port: [eth0], route-table-id: 100}\n"
STATIC6 = "  ipv6: {enabled: true, address: [{ip: 'fd00::5', prefix-length: 64}]}\n"
OVS = (
    "- name: br0\n  type: ovs-bridge\n  bridge: {port: [{name: eth0}, {name: ovs0}]}\n"
    "- name: ovs0\n  type: ovs-interface\n"
)


def ways(interfaces: str, more: str = "") -> WaysOut:
    return parse(NodeFile("worker-0.yml", f"interfaces:\n{indent(interfaces, '')}{more}", "d")).ways_out


@pytest.mark.parametrize(
    ("interfaces", "families"),
    [
        (ETH0, {V4, V6}),
        (ETH0 + STATIC4, {V4, V6}),
        (ETH0 + STATIC4 + NO6, {V4}),
        (ETH0 + NO4 + AUTO6, {V6}),
        (ETH0 + DHCP4 + LOCAL6, {V4}),
        (ETH0 + "  state: absent\n", set()),
        (ETH0 + "  state: down\n" + DHCP4, set()),
        (BOND + DHCP4, {V4}),
        (BOND, set()),
        (BOND + DHCP4 + ETH0, {V4}),
        (ETH0 + NO4 + NO6 + VLAN + DHCP4, {V4}),
        (ETH0 + NO4 + NO6 + VLAN, set()),
        (BOND + NO4 + NO6 + VLAN.replace("eth0", "bond0") + STATIC4, {V4}),
        (OVS + DHCP4 + AUTO6, {V4, V6}),
        (OVS + DHCP4 + NO6, {V4}),
        (VRF + ETH0, {V4, V6}),
        (VRF + ETH0 + STATIC4 + NO6, {V4}),
        (
            ETH0 + STATIC4 + NO6 + VLAN + "  ipv6: {enabled: true, address: [{ip: 'fd00::5', prefix-length: 64}]}\n",
            {V4},
        ),
        (ETH0 + STATIC4 + NO6 + VLAN + AUTO6, {V4, V6}),
        (ETH0 + NO4 + AUTO6 + VLAN + DHCP4, {V4, V6}),
        (VLAN + AUTO6, {V4, V6}),
        (ETH0 + DHCP4 + AUTO6.replace("dhcp", "auto-gateway: false, dhcp"), {V4}),
        (ETH0 + DHCP4 + AUTO6.replace("dhcp", "auto-routes: false, dhcp"), {V4}),
        (ETH0 + DHCP4.replace("dhcp", "auto-route-table-id: 100, dhcp") + AUTO6, {V6}),
        (ETH0 + STATIC4.replace("dhcp", "auto-gateway: false, dhcp") + NO6, {V4}),
        (ETH0 + "  ipv4: {enabled: true, dhcp: false, address: []}\n" + AUTO6, {V6}),
    ],
)
def test_what_a_link_has_afterwards_or_the_link_in_its_place(interfaces: str, families: set[Family]) -> None:
    """What the file does not say of a link stays, but for a new port; the ports of a VRF keep their addresses."""
    found = ways(interfaces)
    assert {family for family in Family if found.keeps("eth0", family)} == families


def test_a_link_that_is_ignored_is_not_named() -> None:
    found = ways(ETH0 + "  state: ignore\n" + NO4)
    assert not found.keeps("eth0", V4)
    assert ways(ETH0 + "  state: ignore\n" + ETH0.replace("eth0", "eth1") + DHCP4).keeps("eth0", V4)


def test_of_a_link_that_the_file_does_not_name_any_address_counts() -> None:
    """br-ex, whose uplink the file takes away."""
    assert ways(BOND + DHCP4).keeps("br-ex", V4)
    assert not ways(BOND + DHCP4).keeps("br-ex", V6)


@pytest.mark.parametrize(
    ("route", "family"),
    [
        ("{destination: '::/0', next-hop-address: '2001:db8::1', next-hop-interface: eth0}", V6),
        ("{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0, table-id: 254}", V4),
        ("{destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: eth0, table-id: 100}", None),
        ("{destination: 0.0.0.0/0, next-hop-interface: eth0, state: absent}", None),
        ("{destination: 198.51.100.0/24, next-hop-address: 192.0.2.1, next-hop-interface: eth0}", None),
        ("{destination: '::/0', route-type: blackhole}", None),
    ],
)
def test_a_default_route_keeps_its_family(route: str, family: Family | None) -> None:
    found = ways(ETH0 + NO4 + NO6, f"routes: {{config: [{route}]}}\n")
    assert {each for each in Family if found.keeps("eth0", each)} == ({family} if family else set())


@pytest.mark.parametrize(
    ("routes", "families"),
    [
        ("{state: absent, destination: '::/0', next-hop-interface: eth0}", {V4}),
        ("{state: absent, destination: '::/0'}", {V4}),
        ("{state: absent, next-hop-interface: eth0}", set()),
        ("{state: absent, next-hop-interface: eth1}", {V4, V6}),
        ("{state: absent, destination: '::/0', next-hop-interface: eth0, table-id: 100}", {V4, V6}),
        ("{state: absent, destination: '::/0', next-hop-interface: eth0, next-hop-address: 'fd00::1'}", {V4, V6}),
        ("{state: absent, destination: 198.51.100.0/24, next-hop-interface: eth0}", {V4, V6}),
        ("{state: absent, destination: 0.0.0.0/0, next-hop-interface: eth0, metric: 900}", {V4, V6}),
        (
            "{state: absent, next-hop-interface: eth0}, {destination: 0.0.0.0/0, next-hop-interface: eth0}",
            {V4},
        ),
    ],
)
@pytest.mark.parametrize("link", [ETH0, ETH0 + STATIC4 + STATIC6])
def test_a_file_that_removes_a_static_default_route_ends_it(link: str, routes: str, families: set[Family]) -> None:
    found = ways(link, f"routes: {{config: [{routes}]}}\n")
    assert {each for each in Family if found.keeps("eth0", each)} == families


@pytest.mark.parametrize(
    ("interfaces", "links"),
    [
        (ETH0 + STATIC4 + VLAN + DHCP4, ()),
        (VLAN + DHCP4, ()),
        (BOND + STATIC4 + VLAN.replace("eth0", "bond0") + DHCP4, ()),
        (ETH0 + DHCP4.replace("dhcp", "auto-gateway: false, dhcp"), ()),
        (ETH0 + DHCP4, ("eth0",)),
        (ETH0 + STATIC4, ()),
        (ETH0, ()),
        (BOND + DHCP4, ("bond0",)),
        (OVS + DHCP4, ("ovs0",)),
        (ETH0 + DHCP4 + VLAN + DHCP4, ("eth0",)),
        (ETH0 + NO4 + VLAN + DHCP4, ("eth0.7",)),
    ],
)
def test_where_the_address_of_a_lease_is_expected(interfaces: str, links: tuple[str, ...]) -> None:
    assert ways(interfaces).leased.get(("eth0", V4), ()) == links


def test_a_gateway_on_any_link_in_its_place_will_do() -> None:
    vlans = [VLAN.replace("eth0", "bond0").replace("7", number) for number in ("100", "200")]
    found = ways(BOND + NO4 + NO6 + vlans[0] + STATIC4 + vlans[1] + DHCP4)
    assert found.leased[("eth0", V4)] == ("bond0.200",)
    assert found.places[("eth0", V4)] == {"eth0", "bond0", "bond0.100", "bond0.200"}


def test_a_static_vlan_takes_no_place_of_a_link_that_keeps_its_addresses() -> None:
    """The way out of the link is ended, and the VLAN is one of a storage network."""
    removed = "routes: {config: [{state: absent, next-hop-interface: eth0}]}\n"
    assert not ways(ETH0 + STATIC4 + NO6 + VLAN + STATIC4, removed).keeps("eth0", V4)
    without = DHCP4.replace("dhcp", "auto-gateway: false, dhcp")
    assert not ways(ETH0 + without + NO6 + VLAN + STATIC4).keeps("eth0", V4)


@pytest.mark.parametrize(
    "route", ["{state: absent, next-hop-interface: eth0}", "{state: absent, destination: 0.0.0.0/0}"]
)
@pytest.mark.parametrize("interfaces", [ETH0 + DHCP4, BOND + DHCP4])
def test_a_default_route_that_comes_with_a_lease_is_not_removed(interfaces: str, route: str) -> None:
    """As where a node moves from a static address to DHCP: libnmstate removes static routes alone."""
    found = ways(interfaces, f"routes: {{config: [{route}]}}\n")
    assert found.keeps("eth0", V4)
    assert ("eth0", V4) in found.leased


def test_an_address_of_a_lease_whose_routes_are_in_another_table_is_expected() -> None:
    """The settings may list that table."""
    found = ways(ETH0 + DHCP4.replace("dhcp", "auto-route-table-id: 100, dhcp") + NO6)
    assert not found.keeps("eth0", V4)
    assert found.leased == {("eth0", V4): ("eth0",)}


def test_links_may_have_other_names() -> None:
    """The interface has the name of its profile, "uplink"; the VLAN has the kernel's name of the NIC as its base."""
    text = ETH0.replace("eth0", "uplink") + NO4 + NO6 + VLAN + DHCP4
    document = load("worker-0.yml", f"interfaces:\n{text}")
    assert isinstance(document, Block)
    found = ways_out(document, {"uplink": "eth0"})
    assert (found.keeps("eth0", V4), found.keeps("eth0", V6)) == (True, False)
    assert found.leased == {("eth0", V4): ("eth0.7",), ("eth0.7", V4): ("eth0.7",)}
    assert found.places[("eth0", V4)] == {"eth0", "eth0.7"}


def test_router_advertisements_lease_addresses_too() -> None:
    assert ways(ETH0 + AUTO6).leased == {("eth0", V6): ("eth0",)}
    assert ways(ETH0 + LOCAL6).leased == {}
