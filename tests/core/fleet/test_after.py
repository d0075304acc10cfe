"""The network of a host after a node file, from its snapshot."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network

import pytest

from nodenet.core.fleet.after import After, after
from nodenet.core.fleet.what_if import shown_addresses, shown_routes
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.node_file.yaml_text import Block, load

MAC = "52:54:00:00:00:01"
LEASE = Address(ip_address("192.0.2.5"), 24, "eth0", valid_lifetime=3600)
ROUTE = Route(ip_network("0.0.0.0/0"), (NextHop("eth0", ip_address("192.0.2.1")),), 100, protocol="dhcp")
HOST = Snapshot(
    (
        *(Link(1, "lo", loopback=True), Link(2, "eth0", ("enp1s0",), mac=MAC, mtu=1500)),
        *(Link(3, "eth1", mac="52:54:00:00:00:02", mtu=1500), Link(4, "br-old", kind="bridge", mtu=1500)),
    ),
    (LEASE, Address(ip_address("198.51.100.5"), 24, "eth1"), Address(ip_address("203.0.113.5"), 24, "br-old")),
    (ROUTE,),
)


def applied(text: str) -> After:
    document = load("file", text)
    assert isinstance(document, Block)
    return after(HOST, document)


def shown(text: str) -> list[str]:
    found = applied(text).snapshot
    return [*shown_addresses(found), *shown_routes(found)]


OTHERS = ["br-old 203.0.113.5/24", "eth1 198.51.100.5/24"]
WAY = "IPv4 via 192.0.2.1 on eth0"


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("interfaces: [{name: eth0, type: ethernet, mtu: 1400}]", [OTHERS[0], "eth0 192.0.2.5/24", OTHERS[1], WAY]),
        (
            "interfaces: [{name: eth0, ipv4: {enabled: true, dhcp: true}}]",
            [OTHERS[0], "eth0 192.0.2.5/24", OTHERS[1], WAY],
        ),
        (
            "interfaces: [{name: eth0, ipv4: {enabled: true, dhcp: true, auto-gateway: false}}]",
            [OTHERS[0], "eth0 192.0.2.5/24", OTHERS[1]],
        ),
        (
            "interfaces: [{name: eth0, ipv4: {enabled: true, dhcp: false, address: [NINE]}}]",
            [OTHERS[0], "eth0 192.0.2.9/24", OTHERS[1]],
        ),
        ("interfaces: [{name: eth0, ipv4: {enabled: false}}]", OTHERS),
        ("interfaces: [{name: eth0, state: absent}]", OTHERS),
        ("interfaces: [{name: br-old, state: absent}]", ["eth0 192.0.2.5/24", OTHERS[1], WAY]),
        ("interfaces: [{name: eth1, state: ignore}]", [OTHERS[0], "eth0 192.0.2.5/24", OTHERS[1], WAY]),
        (
            "interfaces: [{name: br-new, type: linux-bridge, bridge: {port: [{name: eth1}]}, ipv4: {address: [NINE]}}]",
            ["br-new 192.0.2.9/24", OTHERS[0], "eth0 192.0.2.5/24", WAY],
        ),
        (
            "routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 198.51.100.1, next-hop-interface: eth1}]}",
            [OTHERS[0], "eth0 192.0.2.5/24", OTHERS[1], WAY, "IPv4 via 198.51.100.1 on eth1"],
        ),
    ],
)
def test_the_network_is_as_the_file_asks(file: str, expected: list[str]) -> None:
    assert shown(file.replace("NINE", "{ip: 192.0.2.9, prefix-length: 24}")) == expected


def test_a_link_is_found_by_mac_and_by_another_name() -> None:
    by_mac = f"interfaces: [{{name: uplink, identifier: mac-address, mac-address: '{MAC.upper()}', mtu: 1400}}]"
    for file in (by_mac, "interfaces: [{name: enp1s0, mtu: 1400}]"):
        assert {link.name: link.mtu for link in applied(file).snapshot.links}["eth0"] == 1400


def test_a_new_vlan_has_mac_and_mtu_of_its_base() -> None:
    file = "interfaces: [{name: eth0.5, type: vlan, state: up, vlan: {base-iface: eth0, id: 5}}]"
    made = applied(file).snapshot.links[-1]
    assert (made.name, made.kind, made.mac, made.mtu, made.index) == ("eth0.5", "vlan", MAC, 1500, 5)


def test_what_the_snapshot_cannot_say_is_named() -> None:
    found = applied("interfaces: [{name: eth1, ipv4: {enabled: true, dhcp: true}}]")
    assert found.unknown == ("eth1 asks for an IPv4 address, and has no lease yet",)
    words = "routes: {config: [{destination: 10.0.0.0/8, next-hop-address: 192.0.2.7, next-hop-interface: eth0}]}"
    assert applied(words).routes == ("10.0.0.0/8 via 192.0.2.7 on eth0",)


def test_a_port_of_another_bridge_cannot_have_an_address() -> None:
    """A file without the bridge leaves the link its port; a file with the bridge may remove the port."""
    file = "interfaces: [{name: eth1, ipv4: {enabled: true, address: [{ip: 192.0.2.9, prefix-length: 24}]}}"
    document = load("file", f"{file}]")
    without = load("file", f"{file}, {{name: br-old, type: linux-bridge, bridge: {{port: [{{name: eth0}}]}}}}]")
    freed = load("file", file.replace("name: eth1,", "name: eth1, controller: '',") + "]")
    assert isinstance(document, Block)
    assert isinstance(without, Block)
    assert isinstance(freed, Block)
    host = replace(
        HOST, links=tuple(replace(each, master="br-old") if each.name == "eth1" else each for each in HOST.links)
    )
    assert after(host, document).refused == ("eth1 is a port of br-old and cannot have an IPv4 address",)
    assert after(host, without).refused == after(host, freed).refused == ()


def test_default_routes_of_both_families_are_shown() -> None:
    other = Route(ip_network("::/0"), (NextHop("eth0", ip_address("fe80::1")),), 100, protocol="ra")
    assert list(shown_routes(Snapshot(routes=(other, ROUTE)))) == [WAY, "IPv6 via fe80::1 on eth0"]
