"""Links and dumps as the kernel sends them; live answers are read in tests/edge/kernel/test_netlink.py."""

from __future__ import annotations

import struct
from ipaddress import ip_address

import pytest

from nodenet.core.kernel.rtnetlink import (
    LINK_REQUEST,
    RTM_GETLINK,
    SCRATCH,
    Dump,
    NumberedLink,
    attributes,
    ip,
    link,
    number,
    request,
    single_link,
    single_link_request,
    with_names,
)
from nodenet.core.kernel.snapshot import Link


def attribute(kind: int, value: bytes) -> bytes:
    return struct.pack("=HH", 4 + len(value), kind) + value + bytes(-len(value) % 4)


def body(index: int, flags: int, *rows: bytes) -> bytes:
    return struct.pack("=BxHiII", 0, 1, index, flags, 0) + b"".join(rows)


def message(kind: int, content: bytes, flags: int = 0) -> bytes:
    return struct.pack("=IHHII", 16 + len(content), kind, flags, 1, 0) + content


ETH0 = body(2, 0x10001, attribute(3, b"eth0\0"), attribute(1, bytes.fromhex("525400000001")), attribute(16, b"\6"))


def test_a_link_is_read() -> None:
    found = link(memoryview(ETH0))
    assert found == NumberedLink(Link(2, "eth0", operstate="UP", mac="52:54:00:00:00:01"), None)
    changed = link(memoryview(ETH0 + attribute(35, struct.pack("=I", 4))))
    assert [each.link.carrier_changes for each in (found, changed)] == [0, 4]
    assert link(memoryview(ETH0 + attribute(4, struct.pack("=I", 9000)))).link.mtu == 9000


def test_names_kind_and_master_are_read() -> None:
    names = attribute(52, attribute(53, b"enp1s0\0") + attribute(53, b"lan\0"))
    info = attribute(18, attribute(1, b"veth\0"))
    found = link(memoryview(body(3, 0, attribute(3, b"v0\0"), attribute(10, struct.pack("=I", 2)), info, names)))
    assert (found.link.altnames, found.link.kind) == (("enp1s0", "lan"), "veth")
    assert (found.link.up, found.link.carrier) == (False, False)
    named = with_names({2: link(memoryview(ETH0)), 3: found})
    assert [each.master for each in named] == [None, "eth0"]


def test_the_base_of_a_vlan_is_read_and_one_in_another_namespace_is_none() -> None:
    """Its number is another link's here."""
    base = attribute(5, struct.pack("=I", 2))
    rows = [(base,), (base, attribute(37, bytes(4)))]
    numbered = {
        number: link(memoryview(body(number, 1, attribute(3, b"x\0"), *each))) for number, each in enumerate(rows, 3)
    }
    assert [each.base for each in with_names({2: link(memoryview(ETH0)), **numbered})] == [None, "eth0", None]


def test_a_dump_ends_and_says_when_it_is_not_of_one_piece() -> None:
    data = message(16, ETH0, flags=0x10) + message(3, struct.pack("=i", 0))
    dump = Dump()
    found = [bytes(each) for each in dump.every(memoryview(data + bytes(SCRATCH)), len(data))]
    assert (found, dump.done, dump.interrupted) == ([ETH0], True, True)


def test_a_refused_dump_raises_the_kernels_error() -> None:
    data = message(2, struct.pack("=i", -1))
    with pytest.raises(PermissionError):
        list(Dump().every(memoryview(data + bytes(SCRATCH)), len(data)))


def test_of_a_full_table_only_the_routes_that_matter_are_read() -> None:
    def route(length: int, table: int, protocol: int) -> bytes:
        return message(24, struct.pack("=BBBBBBBBI", 2, length, 0, 0, table, protocol, 0, 1, 0))

    default, advertised = route(0, 254, 4), route(64, 254, 9)
    data = default + route(24, 254, 2) + advertised + route(0, 255, 2) + message(3, struct.pack("=i", 0))
    found = [bytes(each) for each in Dump().telling_routes(memoryview(data + bytes(SCRATCH)), len(data))]
    assert found == [default[16:], advertised[16:]]


def test_questions_have_their_length() -> None:
    for question in (request(RTM_GETLINK, 1, LINK_REQUEST), single_link_request(2)):
        assert struct.unpack_from("=IH", question) == (len(question), RTM_GETLINK)


def test_one_link_is_answered_or_refused() -> None:
    assert single_link(message(16, ETH0)).name == "eth0"
    with pytest.raises(OSError, match="refused to describe the link") as refused:
        single_link(message(2, struct.pack("=i", -19)))
    assert refused.value.errno == 19


def test_numbers_and_addresses() -> None:
    assert number(memoryview(struct.pack("=I", 7))) == 7
    assert (number(None), ip(None)) == (None, None)
    assert ip(memoryview(ip_address("192.0.2.1").packed)) == ip_address("192.0.2.1")
    assert ip(memoryview(ip_address("2001:db8::1").packed)) == ip_address("2001:db8::1")


@pytest.mark.parametrize("data", [b"", b"\1\0\0\0", b"\xff\xff\1\0", b"\0\0\0\0\0\0"])
def test_attributes_of_a_wrong_length_end_the_reading(data: bytes) -> None:
    assert all(len(value) <= len(data) for value in attributes(memoryview(data), 0).values())
