"""What is asked around an apply."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_network

from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, AddressFlag, Link, NextHop, Route, Snapshot
from nodenet.core.probes.questions import (
    Answer,
    Kind,
    Look,
    Question,
    Scope,
    controls,
    has_restarted,
    is_undecided,
    known,
    look_at,
    new_addresses,
    questions,
)
from nodenet.core.settings.model import ProbeTarget

GATEWAY, OTHER, OWN = ip_address("192.0.2.1"), ip_address("192.0.2.9"), ip_address("192.0.2.5")
DEFAULT = Route(ip_network("0.0.0.0/0"), (NextHop("eth0", GATEWAY),), metric=100)
SNAPSHOT = Snapshot((Link(2, "eth0"),), (Address(OWN, 24, "eth0"),), (DEFAULT,))
TARGET = ProbeTarget(ip_address("198.51.100.1"), 6443)


def test_gateways_servers_and_targets_are_asked() -> None:
    found = questions(SNAPSHOT, (OTHER,), Scope((TARGET,)))
    assert found == (
        Question(Kind.GATEWAY, "192.0.2.1", "eth0", GATEWAY),
        Question(Kind.DNS, "192.0.2.9", address=OTHER),
        Question(Kind.TARGET, "tcp://198.51.100.1:6443", target=TARGET),
    )


def test_the_tables_of_the_settings_have_gateways_too() -> None:
    """An uplink in a VRF; a table that is not named has none."""
    vrf = replace(SNAPSHOT, routes=(replace(DEFAULT, table="100"),))
    assert questions(vrf, (), Scope()) == ()
    assert [each.name for each in questions(vrf, (), Scope(tables=("100",)))] == ["192.0.2.1"]
    assert look_at(vrf, {}, Scope()).defaults == frozenset()
    assert look_at(vrf, {}, Scope(tables=("main", "100"))).defaults == {Family.IPV4}
    assert not look_at(replace(SNAPSHOT, routes=(replace(DEFAULT, kind="blackhole"),)), {}, Scope()).defaults


def test_the_kernel_knows_carriers_and_ipv6_duplicates() -> None:
    """Of links of the file, the carrier of those that are up; what pods do on their links speaks against no file."""
    duplicate = Address(ip_address("2001:db8::5"), 64, "eth1", flags=frozenset({AddressFlag.DAD_FAILED}))
    links = (Link(2, "eth0"), Link(3, "eth1", carrier=False), Link(4, "eth2", up=False), Link(5, "eth3"))
    of_pod = replace(duplicate, address=ip_address("2001:db8::6"), link="eth3")
    found = known(Snapshot(links, (*SNAPSHOT.addresses, duplicate, of_pod)), {"eth0", "eth1", "eth2"})
    assert {(each.kind, each.name): answer for each, answer in found.items()} == {
        (Kind.CARRIER, "eth0"): Answer.YES,
        (Kind.CARRIER, "eth1"): Answer.NO,
        (Kind.UNIQUE, "2001:db8::5"): Answer.NO,
    }


def test_an_address_that_others_cannot_reach_is_none() -> None:
    """One of the link alone, and one that another host has."""
    local = Address(ip_address("fe80::5"), 64, "eth0")
    taken = Address(ip_address("2001:db8::5"), 64, "eth0", flags=frozenset({AddressFlag.DAD_FAILED}))
    snapshot = replace(SNAPSHOT, addresses=(*SNAPSHOT.addresses, local, taken))
    assert look_at(snapshot, {}, Scope()).addressed == {("eth0", Family.IPV4)}
    fine = replace(taken, flags=frozenset())
    assert ("eth0", Family.IPV6) in look_at(replace(snapshot, addresses=(fine,)), {}, Scope()).addressed


def test_the_kernel_is_given_the_time_to_look_for_another_host() -> None:
    """An optimistic address is in use at once, and one that failed is decided."""
    wanted = (("eth0", ip_address("2001:db8::5")),)
    flags = (
        frozenset({AddressFlag.TENTATIVE}),
        frozenset({AddressFlag.TENTATIVE, AddressFlag.OPTIMISTIC}),
        frozenset({AddressFlag.TENTATIVE, AddressFlag.DAD_FAILED}),
        frozenset[AddressFlag](),
    )
    found = [Address(wanted[0][1], 64, "eth0", flags=each) for each in flags]
    assert [is_undecided(Snapshot(addresses=(each,)), wanted) for each in found] == [True, False, False, False]
    assert not is_undecided(Snapshot(addresses=(found[0],)), ())


def test_a_carrier_that_came_back_is_seen() -> None:
    """Of a link that was there before; a VLAN or bond that the file makes has its first carrier."""
    before = Snapshot((Link(2, "eth0", carrier_changes=2), Link(3, "eth1", carrier_changes=2)))
    after = Snapshot((Link(2, "eth0", carrier_changes=4), *before.links[1:], Link(4, "bond0", carrier_changes=1)))
    assert has_restarted(before, after, {"eth0", "bond0"})
    assert not has_restarted(before, after, {"eth1", "bond0"})
    assert not has_restarted(before, before, {"eth0"})


def test_a_port_of_a_bridge_forwards_when_its_spanning_tree_has_learned() -> None:
    """NetworkManager switches the protocol on by default; the carrier of the port does not change."""
    nic, port = Link(2, "eth0"), Link(2, "eth0", master="br0")
    bridge, vrf = Link(3, "br0", kind="bridge"), Link(3, "br0", kind="vrf")
    assert has_restarted(Snapshot((nic,)), Snapshot((port, bridge)), {"eth0", "br0"})
    assert has_restarted(Snapshot((nic, bridge)), Snapshot((port, bridge)), {"br0"})
    assert not has_restarted(Snapshot((port, bridge)), Snapshot((port, bridge)), {"br0"})
    assert not has_restarted(Snapshot((nic,)), Snapshot((port, vrf)), {"br0"})
    assert not has_restarted(Snapshot((nic,)), Snapshot((port, bridge)), {"eth1"}), "another file's bridge"


def test_new_addresses_are_asked_for_where_that_is_possible() -> None:
    """Not those of this node, not on a link that is missing, without carrier or a port; IPv6 has its own check."""
    links = (Link(2, "eth0"), Link(3, "eth1", carrier=False), Link(4, "eth2", master="bond0"))
    snapshot = replace(SNAPSHOT, links=links)
    names = ("eth0", "eth1", "eth2", "eth0.7")
    wanted = [*((name, OTHER) for name in names), ("eth0", OWN), ("eth0", ip_address("2001:db8::5"))]
    assert list(new_addresses(snapshot, wanted)) == [Question(Kind.UNIQUE, "192.0.2.9", "eth0", OTHER)]


def test_addresses_beside_a_new_one_show_a_router_that_answers_for_all() -> None:
    asked = controls(Question(Kind.UNIQUE, "192.0.2.9", "eth0", OTHER))
    assert [(each.name, each.link) for each in asked] == [("192.0.2.12", "eth0"), ("192.0.2.3", "eth0")]


def test_a_gateway_that_answers_is_known() -> None:
    server, gateway = Question(Kind.DNS, "192.0.2.9"), Question(Kind.GATEWAY, "192.0.2.1", "eth0")
    assert Look({server: Answer.YES, gateway: Answer.NO}).gateway is None
    assert Look({server: Answer.YES, gateway: Answer.YES}).gateway is gateway


def test_packets_as_large_as_the_mtu_are_asked_of_gateways_that_a_socket_can_name() -> None:
    found = [each for each in questions(SNAPSHOT, (), Scope(), large=True) if each.kind is Kind.LARGE]
    gateways = [each for each in questions(SNAPSHOT, (), Scope()) if each.kind is Kind.GATEWAY]
    assert [each.name for each in found] == [each.name for each in gateways if not each.name.startswith("fe80")]
    assert found
    assert not [each for each in questions(SNAPSHOT, (), Scope()) if each.kind is Kind.LARGE]
