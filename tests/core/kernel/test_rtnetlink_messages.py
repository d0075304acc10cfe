"""Which addresses and routes are in the messages of the kernel, and which message asks for them?"""

from __future__ import annotations

import struct
from ipaddress import ip_address, ip_network

from core.kernel.test_rtnetlink import attribute
from nodenet.core.kernel.rtnetlink_messages import NO_OBJECTS, NextHopObjects, addresses, raw_route, route_request
from nodenet.core.kernel.snapshot import Address, AddressFlag

NAMES = {2: "eth0"}


def message(*attributes: tuple[int, bytes], family: int = 2, flags: int = 0x80, index: int = 2) -> memoryview:
    """Return an RTM_NEWADDR body."""
    body = struct.pack("=BBBBI", family, 24, flags, 0, index)
    for kind, value in attributes:
        body += struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)
    return memoryview(body)


def local(text: str) -> tuple[int, bytes]:
    return 2, ip_address(text).packed


def test_of_two_messages_of_one_size_each_is_read_by_its_own_layout() -> None:
    label = (3, b"eth\0")
    found = list(addresses([message(label, local("192.0.2.1")), message(local("192.0.2.2"), label)], NAMES))
    assert found == [Address(ip_address(text), 24, "eth0", "eth") for text in ("192.0.2.1", "192.0.2.2")]


def test_without_a_local_address_there_is_no_peer() -> None:
    far = (1, ip_address("192.0.2.9").packed)
    first, second = addresses([message(far), message(far, local("192.0.2.1"))], NAMES)
    assert first == Address(ip_address("192.0.2.9"), 24, "eth0")
    assert second == Address(ip_address("192.0.2.1"), 24, "eth0", peer=ip_address("192.0.2.9"))


def test_the_longer_flags_win_and_a_lifetime_may_end() -> None:
    flags, ends = (8, struct.pack("=I", 0x20)), (6, struct.pack("=IIII", 0, 600, 1, 1))
    one, other = addresses([message(local("192.0.2.1"), ends, flags), message(local("192.0.2.1"), flags=0x81)], NAMES)
    assert one
    assert (one.valid_lifetime, one.preferred_lifetime) == (600, 0)
    assert one.flags == {AddressFlag.DEPRECATED, AddressFlag.DYNAMIC}
    assert other == Address(ip_address("192.0.2.1"), 24, "eth0", flags=frozenset({AddressFlag.SECONDARY}))


def test_other_protocols_are_passed_over_and_unknown_links_told() -> None:
    odd = [message(local("192.0.2.1"), family=45), message(local("192.0.2.1"), index=9), message()]
    assert list(addresses(odd, NAMES)) == [None, None]


def test_of_a_terse_link_only_the_address_is_told() -> None:
    found = list(addresses([message(local("192.0.2.1"), (3, b"eth0:1\0"))], NAMES, {2}))
    assert found == [Address(ip_address("192.0.2.1"), 24, "eth0")]


GATEWAY = ip_address("192.0.2.1")


def route(
    *rows: bytes, family: int = 2, length: int = 0, table: int = 254, protocol: int = 4, kind: int = 1
) -> memoryview:
    return memoryview(struct.pack("=BBBBBBBBI", family, length, 0, 0, table, protocol, 0, kind, 0) + b"".join(rows))


def test_a_default_route_is_read() -> None:
    found = raw_route(
        route(attribute(4, struct.pack("=i", 2)), attribute(5, GATEWAY.packed), attribute(6, struct.pack("=I", 100)))
    )
    assert (found.route.destination, found.route.metric, found.route.table) == (ip_network("0.0.0.0/0"), 100, "main")
    assert (found.route.protocol, found.route.kind, found.hops) == ("static", "unicast", ((2, GATEWAY),))


def test_several_next_hops_are_read_in_order() -> None:
    def hop(index: int) -> bytes:
        rows = attribute(5, GATEWAY.packed)
        return struct.pack("=HBBi", 8 + len(rows), 0, 0, index) + rows

    assert raw_route(route(attribute(9, hop(2) + hop(3)))).hops == ((2, GATEWAY), (3, GATEWAY))


def test_a_route_without_a_way_out_has_no_hop() -> None:
    found = raw_route(route(attribute(4, struct.pack("=i", 1)), kind=7))
    assert (found.route.kind, found.hops) == ("unreachable", ())


def test_tables_and_protocols_have_iproute2s_names_or_their_number() -> None:
    found = raw_route(route(attribute(15, struct.pack("=I", 4711)), table=0, protocol=77, family=10))
    assert (found.route.table, found.route.protocol, found.route.destination) == ("4711", "77", ip_network("::/0"))


def test_a_group_leads_where_its_members_lead() -> None:
    objects = NextHopObjects({1: (2, GATEWAY), 2: (3, None)}, {10: (1, 2, 99)})
    assert objects.hops(10) == ((2, GATEWAY), (3, None))
    assert objects.hops(1) == ((2, GATEWAY),)
    assert objects.hops(None) == objects.hops(99) == NO_OBJECTS.hops(1) == ()


def test_a_request_asks_for_one_family_and_maybe_for_routes_that_lead_somewhere() -> None:
    assert [route_request(10, unicast=flag)[7] for flag in (False, True)] == [0, 1]
    assert route_request(10, unicast=True)[0] == 10
