"""Which leases and gateways a node file asks for."""

from __future__ import annotations

import pytest

from nodenet.core.ip import Family
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.links import Demands, Hop, Lease, demands
from nodenet.core.node_file.yaml_text import Block, load

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
