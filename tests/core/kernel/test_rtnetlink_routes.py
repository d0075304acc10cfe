"""Routes and next-hop objects as the kernel sends them; live ones are read in tests/edge/kernel/test_netlink.py."""

from __future__ import annotations

import struct
from ipaddress import ip_address, ip_network

from core.kernel.test_rtnetlink import attribute
from nodenet.core.kernel.rtnetlink_messages import NO_OBJECTS, NextHopObjects, raw_route, route_request

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
