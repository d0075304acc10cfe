"""Who has put an address, a route, a neighbour or a port on a link: NetworkManager, the kernel, or another program?"""

from __future__ import annotations

import struct
from ipaddress import ip_address, ip_network

import pytest

from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.rtnetlink import AF_INET
from nodenet.core.kernel.snapshot import Address, AddressFlag, NextHop, Route
from nodenet.core.network_manager.profiles import MADE_BY_NM, Device, Profile
from nodenet.core.open_vswitch import OvsBridge, OvsInterface, OvsPort
from nodenet.core.ownership.rule import (
    configured_links,
    foreign_ports,
    is_of_another,
    order,
    patched,
    ports_of_bridges,
    refusal,
    things,
)
from nodenet.core.ownership.things import Kind, Thing

MASQUERADE = Address(ip_address("169.254.0.2"), 17, "br-ex")
SERVICE = Route(ip_network("172.30.0.0/16"), (NextHop("br-ex", ip_address("169.254.0.4")),), protocol="boot")
OVN = Neighbour(3, ip_address("169.254.0.4"), 0x80, bytes.fromhex("0a58a9fe0004"))


@pytest.mark.parametrize(
    "item",
    [MASQUERADE, Address(ip_address("fd69::2"), 112, "br-ex"), SERVICE, OVN],
    ids=["4", "6", "route", "neighbour"],
)
def test_what_ovn_kubernetes_puts_on_br_ex_is_of_another(item: Address | Route | Neighbour) -> None:
    assert is_of_another(item)


@pytest.mark.parametrize(
    "item",
    [
        Address(ip_address("192.0.2.5"), 24, "br-ex", flags=frozenset({AddressFlag.NO_PREFIX_ROUTE})),
        Address(ip_address("192.0.2.5"), 24, "br-ex", valid_lifetime=3600),
        Address(ip_address("fe80::5"), 64, "br-ex"),
        Route(ip_network("192.0.2.0/24"), (NextHop("br-ex"),), protocol="kernel"),
        Route(ip_network("0.0.0.0/0"), (NextHop("br-ex", ip_address("192.0.2.1")),), protocol="static"),
        Route(ip_network("0.0.0.0/0"), (NextHop("br-ex", ip_address("192.0.2.1")),), protocol="dhcp"),
        Route(ip_network("::/0"), (NextHop("br-ex", ip_address("fe80::1")),), protocol="ra"),
        Route(ip_network("169.254.0.2/32"), (NextHop("br-ex"),), protocol="boot", kind="local"),
        Neighbour(3, ip_address("192.0.2.1"), 0x02, bytes(6)),
        Neighbour(3, ip_address("224.0.0.1"), 0x40, bytes(6)),
    ],
    ids=["profile", "lease", "link-local", "prefix", "static", "dhcp", "ra", "local", "learnt", "multicast"],
)
def test_what_network_manager_and_the_kernel_set_is_not(item: Address | Route | Neighbour) -> None:
    assert not is_of_another(item)


def test_only_a_link_with_a_profile_of_its_own_is_configured() -> None:
    """NetworkManager copies a generated profile from the link, so the profile does not show who set a value."""
    own, copied = Profile("1", "eth0", "802-3-ethernet"), Profile("2", "eth1", "802-3-ethernet", generated=True)
    devices = (Device("eth0", "ethernet", profile=own), Device("eth1", "ethernet", profile=copied))
    assert configured_links((*devices, Device("eth2", "veth"))) == {"eth0"}


def test_a_port_without_the_mark_of_network_manager_is_of_another() -> None:
    own = {MADE_BY_NM: "1"}
    ports = (
        OvsPort("br-ex", (OvsInterface("br-ex", "internal"),), own),
        OvsPort("eth0", (OvsInterface("eth0"),), own),
        OvsPort("patch", (OvsInterface("patch", "patch"),)),
        OvsPort("tap0", (OvsInterface("tap0"),)),
    )
    bridges = (
        OvsBridge("br-ex", ports=ports),
        OvsBridge("br-int", ports=(OvsPort("ovn", (OvsInterface("ovn", "geneve"),)),)),
    )
    assert sorted(foreign_ports(bridges)) == [("br-ex", "patch"), ("br-ex", "tap0"), ("br-int", "ovn")]
    assert patched(bridges) == {"br-ex"}
    assert ports_of_bridges(bridges) == {"eth0", "tap0"}


NAMES = {7: "br-ex"}
FOREVER = struct.pack("=HHIIII", 20, 6, 0xFFFFFFFF, 0xFFFFFFFF, 0, 0)


def address(*, flags: int = 0x80, index: int = 7) -> bytes:
    own = struct.pack("=HH", 8, 2) + bytes([169, 254, 0, 2])
    return struct.pack("=BBBBI", AF_INET, 17, 0x80, 0, index) + own + FOREVER + struct.pack("=HHI", 8, 8, flags)


def route(*, protocol: int = 3, flags: int = 0) -> bytes:
    body = struct.pack("=BBBBBBBBI", AF_INET, 16, 0, 0, 254, protocol, 0, 1, flags)
    return body + struct.pack("=HH4B", 8, 1, 172, 30, 0, 0) + struct.pack("=HHI", 8, 4, 7)


def test_a_thing_is_known_by_what_it_is_in_words() -> None:
    (found,) = things(Kind.ADDRESS, memoryview(address()), NAMES)
    assert (found.link, found.name, found.message) == ("br-ex", ("169.254.0.2",), address().hex())
    (found,) = things(Kind.ROUTE, memoryview(route()), NAMES)
    assert (found.link, found.name) == ("br-ex", ("172.30.0.0/16", "", "254", "0"))


def test_what_is_on_a_link_that_came_meanwhile_is_left_out() -> None:
    assert list(things(Kind.ADDRESS, memoryview(address(index=8)), NAMES)) == []
    assert list(things(Kind.ROUTE, memoryview(route()), {})) == []


def test_an_order_is_the_message_with_the_number_of_the_link() -> None:
    """The flags that the kernel sets itself are left out: it refuses a route with them."""
    whole = order(Thing(Kind.ROUTE, "br-ex", ("172.30.0.0/16",), route(flags=0x14).hex()), 9, away=False)
    assert struct.unpack_from("=IHHII", whole) == (len(whole), 24, 0x605, 1, 0)
    assert struct.unpack_from("=I", whole, 16 + 8) == (0x4,)
    assert struct.unpack_from("=I", whole, 16 + 12 + 8 + 4) == (9,)
    gone = order(Thing(Kind.ADDRESS, "br-ex", ("169.254.0.2",), address().hex()), 9, away=True)
    assert struct.unpack_from("=IHHII", gone) == (len(gone), 21, 0x5, 1, 0)
    assert struct.unpack_from("=I", gone, 16 + 4) == (9,)


def test_a_deprecated_address_stays_deprecated() -> None:
    """The kernel shows it as preferred for ever, and takes that word for it."""
    for flags, preferred in ((0xA0, 0), (0x80, 0xFFFFFFFF)):
        whole = order(Thing(Kind.ADDRESS, "br-ex", ("169.254.0.2",), address(flags=flags).hex()), 7, away=False)
        assert struct.unpack_from("=I", whole, 16 + 8 + 8 + 4) == (preferred,)


def test_the_answer_says_what_was_refused() -> None:
    assert refusal(struct.pack("=IHHIIi", 20, 2, 0, 1, 0, -17)) == 17
    assert refusal(struct.pack("=IHHIIi", 20, 2, 0, 1, 0, 0)) == 0
    with pytest.raises(OSError, match="the kernel's answer to an order is none"):
        refusal(b"")
