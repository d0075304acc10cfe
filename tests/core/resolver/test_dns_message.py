"""Queries and answers as bytes, whole; hostile ones are refused."""

from __future__ import annotations

import struct
from ipaddress import ip_address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.ip import Family
from nodenet.core.resolver import addresses_of, question

NAME = "api-int.c1.example.com"
ASKED = question(NAME, Family.IPV4, 7)


def answer(*records: bytes, asked: bytes = ASKED) -> bytes:
    return asked[:2] + b"\x85\x80" + struct.pack("!4H", 1, len(records), 0, 0) + asked[12:] + b"".join(records)


def record(data: bytes, kind: int = 1, name: bytes = b"\xc0\x0c") -> bytes:
    return name + struct.pack("!HHIH", kind, 1, 0, len(data)) + data


def test_a_query() -> None:
    assert ASKED == b"\0\7\1\0\0\1\0\0\0\0\0\0\7api-int\2c1\7example\3com\0\0\1\0\1"
    assert question(NAME, Family.IPV6, 7)[-4:] == b"\0\x1c\0\1"


def test_addresses_of_one_family() -> None:
    alias = record(b"\1x\0", kind=5)
    first, second = record(bytes([192, 0, 2, 2])), record(bytes([192, 0, 2, 3]), name=b"\1y\0")
    long = record(ip_address("2001:db8::1").packed, kind=28)
    assert addresses_of(answer(alias, first, second, long), Family.IPV4) == {
        ip_address("192.0.2.2"),
        ip_address("192.0.2.3"),
    }
    assert addresses_of(answer(first, long), Family.IPV6) == {ip_address("2001:db8::1")}
    assert addresses_of(answer(), Family.IPV4) == frozenset()


@given(st.binary(max_size=80), st.integers(0, 60))
def test_what_is_no_answer_is_refused(noise: bytes, kept: int) -> None:
    for message in (noise, answer(record(b"\1\2\3\4"))[:kept] + noise):
        try:
            found = addresses_of(message, Family.IPV4)
        except ValueError:
            continue
        assert all(address.version == 4 for address in found)


@pytest.mark.parametrize("cut", range(12, len(answer(record(b"\1\2\3\4")))))
def test_an_answer_that_is_cut_is_refused(cut: int) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  (of the module, or of ipaddress)
        addresses_of(answer(record(b"\1\2\3\4"))[:cut], Family.IPV4)
