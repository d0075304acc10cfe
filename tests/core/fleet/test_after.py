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


PORTS = {"eth1": "br-old"}
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


def test_a_gateway_that_the_host_has_not_asked_yet_is_named() -> None:
    """One of the other family costs no way out, and the present one is known."""
    route = "routes: {{config: [{{destination: '{}', next-hop-address: '{}', next-hop-interface: eth0}}]}}"
    found = applied(route.format("0.0.0.0/0", "192.0.2.7"))
    assert found.unknown == ("the gateway 192.0.2.7 on eth0 is new: if it is silent, the file is undone",)
    assert applied(route.format("0.0.0.0/0", "192.0.2.1")).unknown == ()
    assert applied(route.format("::/0", "2001:db8::1")).unknown == ()


def test_what_a_lease_may_bring_or_take_along_is_named() -> None:
    """A gateway that its server may name, and the DNS servers of a lease that is lost."""
    leased = replace(LEASE, address=ip_address("198.51.100.9"), link="eth1")
    host = replace(HOST, addresses=(LEASE, leased))

    def unknown(file: str) -> tuple[str, ...]:
        document = load("file", file)
        assert isinstance(document, Block)
        return after(host, document).unknown

    asks = "interfaces: [{name: eth1, ipv4: {enabled: true, dhcp: true}}, {name: eth0, ipv4: {dhcp: true}}]"
    assert unknown(asks) == ("eth1 has an IPv4 lease, and whether it names a gateway is not known",)
    assert unknown(asks.replace("dhcp: true", "dhcp: true, auto-gateway: false")) == ()
    lost = ("eth1 loses its lease: if no DNS server is left, the file is undone",)
    for file in ("{name: eth1, state: absent}", "{name: eth1, ipv4: {enabled: false}}"):
        assert unknown(f"interfaces: [{file}]") == lost
    moves = "{name: br-new, type: linux-bridge, bridge: {port: [{name: eth1}]}, ipv4: {enabled: true, dhcp: true}}"
    assert unknown(f"interfaces: [{moves}]") == ("br-new asks for an IPv4 address, and has no lease yet",)
    over = replace(HOST, addresses=(LEASE, replace(leased, link="br-old")))
    over = replace(over, links=tuple(replace(each, master=PORTS.get(each.name)) for each in over.links))
    document = load("file", "interfaces: [{name: eth1, state: absent}]")
    assert isinstance(document, Block)
    assert after(over, document).unknown == (lost[0].replace("eth1 loses its lease", "br-old loses its last port"),)


def test_a_link_without_any_address_may_get_the_mtu_of_its_profile() -> None:
    """A link that a file has set down keeps its profile."""
    down = replace(HOST, addresses=(LEASE,))
    for file, expected in (("mtu: 1400", ()), ("", ("eth1 has no address, and the MTU of its profile is not known",))):
        document = load("file", f"interfaces: [{{name: eth1, state: up, {file}}}]")
        assert isinstance(document, Block)
        assert after(down, document).unknown == expected
    assert changed("interfaces: [{name: br-new, type: linux-bridge, state: up}]").unknown == ()


def test_a_routers_address_is_made_of_the_mac_address_if_the_file_asks_for_one() -> None:
    """NetworkManager's own profiles make another one."""
    router = Address(ip_address("2001:db8::53f:f44e:172b:ad9e"), 64, "eth1", valid_lifetime=3600)
    host = replace(HOST, addresses=(router,))
    own, made = str(router.address), "2001:db8::5054:ff:fe00:2"
    for ipv6, expected in (
        ("ipv6: {enabled: true, autoconf: true}", made),
        ("ipv6: {enabled: true, autoconf: true, addr-gen-mode: stable-privacy}", own),
        ("mtu: 1400", own),
    ):
        document = load("file", f"interfaces: [{{name: eth1, {ipv6}}}]")
        assert isinstance(document, Block)
        assert [str(one.address) for one in after(host, document).snapshot.addresses] == [expected]
        strange = replace(host, links=tuple(replace(each, mac="no MAC address") for each in HOST.links))
        assert after(strange, document).snapshot.addresses == (router,)


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


OVER = Link(5, "mv0", kind="macvlan", mtu=1500, base="eth1")
PORT = "interfaces: [{name: br-new, type: linux-bridge, bridge: {port: [{name: eth1}]}}]"


def changed(file: str, *more: Link) -> After:
    document = load("file", file)
    assert isinstance(document, Block)
    return after(replace(HOST, links=(*HOST.links, *more)), document)


@pytest.mark.parametrize(
    ("file", "refused"),
    [
        (PORT, "eth1 is the base of mv0 and cannot become a port of br-new"),
        (
            "interfaces: [{name: eth1, controller: br-old}]",
            "eth1 is the base of mv0 and cannot become a port of br-old",
        ),
        (
            "interfaces: [{name: mv1, type: mac-vlan, mac-vlan: {base-iface: eth2, mode: bridge}}]",
            "eth2 is a port of br-old and can have no macvlan mv1",
        ),
        (f"{PORT[:-1]}, {{name: mv0, type: mac-vlan, state: absent}}]", ""),
        ("interfaces: [{name: vrf0, type: vrf, vrf: {port: [eth1], route-table-id: 9}}]", ""),
    ],
)
def test_the_base_of_a_mac_vlan_is_no_port(file: str, refused: str) -> None:
    """The kernel gives all packets of a link to the one or the other."""
    port = Link(6, "eth2", mac="52:54:00:00:00:03", mtu=1500, master="br-old")
    assert changed(file, OVER, port).refused == ((refused,) if refused else ())


def test_the_mtu_of_a_base_is_the_largest_of_what_is_over_it() -> None:
    """A NIC without a profile gets the usual MTU, and what is over it is made again."""

    def mtus(file: str) -> list[int]:
        return [link.mtu for link in changed(file, OVER).snapshot.links if link.name in ("eth1", "mv0")]

    assert mtus("interfaces: [{name: eth1, mtu: 1400}]") == [1400, 1400]
    assert mtus("interfaces: [{name: eth1, mtu: 9000}]") == [9000, 1500]
    lower = replace(OVER, mtu=1400)
    found = changed("interfaces: [{name: eth1, state: absent}]", lower).snapshot.links
    assert [link.mtu for link in found if link.name in ("eth1", "mv0")] == [1500, 1500]


def test_a_vxlan_is_smaller_than_its_base_and_a_veth_has_two_ends() -> None:
    vxlan = "interfaces: [{name: vx0, type: vxlan, vxlan: {base-iface: eth1, id: 7, remote: 192.0.2.9}}]"
    assert applied(vxlan).snapshot.links[-1].mtu == 1450
    veth = changed("interfaces: [{name: ve0, type: veth, veth: {peer: ve1}}]").snapshot
    assert {link.name: link.base for link in veth.links if link.kind == "veth"} == {"ve0": "ve1", "ve1": "ve0"}
    document = load("file", "interfaces: [{name: ve1, type: veth, state: absent}]")
    assert isinstance(document, Block)
    assert after(veth, document).snapshot.links == HOST.links


@pytest.mark.parametrize(("above", "kept"), [("br-old", []), ("vrf0", ["198.51.100.5"])])
def test_a_link_that_gets_a_controller_loses_its_addresses_but_to_a_vrf(above: str, kept: list[str]) -> None:
    found = changed(f"interfaces: [{{name: eth1, controller: {above}}}]", Link(5, "vrf0", kind="vrf")).snapshot
    assert [str(each.address) for each in found.addresses if each.link == "eth1"] == kept


def test_default_routes_of_both_families_are_shown() -> None:
    other = Route(ip_network("::/0"), (NextHop("eth0", ip_address("fe80::1")),), 100, protocol="ra")
    assert list(shown_routes(Snapshot(routes=(other, ROUTE)))) == [WAY, "IPv6 via fe80::1 on eth0"]
