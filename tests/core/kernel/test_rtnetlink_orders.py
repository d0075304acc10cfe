"""The order to remove an address, and the kernel's answer."""

import struct
from ipaddress import ip_address

import pytest

from nodenet.core.kernel.rtnetlink_orders import refusal, removal
from nodenet.core.kernel.snapshot import Address


def test_the_order_names_family_prefix_link_and_address() -> None:
    order = removal(Address(ip_address("192.0.2.2"), 24, "eth0"), 7)
    assert struct.unpack_from("=IHH", order) == (len(order), 21, 5)
    assert struct.unpack_from("=BBBBI", order, 16) == (2, 24, 0, 0, 7)
    assert order[24:] == struct.pack("=HH", 8, 2) + bytes([192, 0, 2, 2])
    six = removal(Address(ip_address("2001:db8::2"), 128, "eth0"), 7)
    assert (six[16], six[17], len(six)) == (10, 128, 44)


def test_the_answer_is_success_an_error_or_none() -> None:
    def answer(code: int, kind: int = 2) -> bytes:
        return struct.pack("=IHHIIi", 20, kind, 0, 1, 0, code)

    assert refusal(answer(0)) == 0
    assert refusal(answer(-99)) == 99
    for wrong in (b"", answer(0)[:18], answer(0, kind=20)):
        with pytest.raises(OSError, match="the kernel's answer to an order is none"):
            refusal(wrong)
