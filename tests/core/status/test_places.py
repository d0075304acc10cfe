"""Each node IP with its own link and source."""

from __future__ import annotations

from ipaddress import ip_address, ip_network

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.stages import new_boot
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.select import Selection, select
from nodenet.core.status.document import BootStatus, document
from nodenet.core.status.events import places


def shown(selection: Selection) -> str:
    return places(document(BootStatus(new_boot({}, degrade=True), Facts(selection=selection))))


def dual(link6: str, named: frozenset[Family] = frozenset(Family), gateway6: str | None = None) -> Selection:
    """Return a selection of a static IPv4 address on eth0 and an advertised IPv6 address on *link6*."""
    links = (Link(2, "eth0"), Link(3, "eth1"))
    addresses = (
        Address(ip_address("192.0.2.5"), 24, "eth0"),
        Address(ip_address("2001:db8::5"), 64, link6, valid_lifetime=3600),
    )
    hop6 = NextHop(link6, ip_address(gateway6) if gateway6 else None)
    routes = (
        Route(ip_network("0.0.0.0/0"), (NextHop("eth0"),), 100),
        Route(ip_network("::/0"), (hop6,), 100, protocol="ra"),
    )
    return select(Snapshot(links, addresses, routes), Policy(named=named))


def test_node_ips_of_one_link_name_it_once() -> None:
    assert shown(dual("eth0")) == "192.0.2.5 (static), 2001:db8::5 (router advertisement) on eth0"


def test_the_router_that_gave_a_family_which_nothing_names_is_named() -> None:
    """Any host of a LAN can announce itself as a router."""
    given = "2001:db8::5 (router advertisement of fe80::bad"
    assert given + "; no file, hint or VIP names IPv6)" in shown(dual("eth0", frozenset(), "fe80::bad"))
    assert given + ")" in shown(dual("eth0", gateway6="fe80::bad"))


def test_a_node_ip_of_another_link_is_not_said_to_be_on_the_first_one() -> None:
    assert shown(dual("eth1")) == "192.0.2.5 (static) on eth0, 2001:db8::5 (router advertisement) on eth1"


def test_what_moves_to_a_bridge_is_on_the_bridge() -> None:
    """The other one stays where it is."""
    moved = dual("eth1").moved({"eth0": "br-ex"})
    assert (moved.link, shown(moved)) == (
        "br-ex",
        "192.0.2.5 (static) on br-ex, 2001:db8::5 (router advertisement) on eth1",
    )


def test_what_an_earlier_daemon_published_is_on_its_link() -> None:
    """Without a source; a document of an earlier version has no places at all."""
    kept = Selection((ip_address("192.0.2.5"), ip_address("2001:db8::5")), "eth0")
    assert shown(kept) == "192.0.2.5 on eth0, 2001:db8::5"
    assert places({"node_ips": ["192.0.2.5"], "link": "eth0"}) == "192.0.2.5 on eth0"
    assert places({"node_ips": [], "link": None}) == ""
