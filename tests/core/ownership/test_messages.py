"""What the kernel says about a thing, and what it is asked."""

from __future__ import annotations

import struct

import pytest

from nodenet.core.kernel.rtnetlink import AF_INET
from nodenet.core.ownership.rule import order, refusal, things
from nodenet.core.ownership.things import Kind, Thing

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
