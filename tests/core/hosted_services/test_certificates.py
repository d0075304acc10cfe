"""The date of a certificate: each form of time, each length, and octets that are no certificate."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.hosted_services.health import valid_until

VERSION, SERIAL = (0xA0, b"\x02\x01\x02"), (0x02, b"\x07")
UTC_TIME, GENERALIZED_TIME = 0x17, 0x18


def encoded(*parts: tuple[int, bytes]) -> bytes:
    """Return elements of DER; a long length has two octets."""
    lengths = (bytes([len(value)]) if len(value) < 0x80 else b"\x82" + len(value).to_bytes(2) for _, value in parts)
    return b"".join(bytes([tag]) + length + value for (tag, value), length in zip(parts, lengths, strict=True))


def certificate(*validity: tuple[int, bytes], first: tuple[tuple[int, bytes], ...] = (VERSION, SERIAL)) -> bytes:
    """Return a certificate with two times; its issuer has a long name."""
    body = encoded(*first, (0x30, b""), (0x30, b"x" * 300), (0x30, encoded(*validity)), (0x30, b""))
    return encoded((0x30, encoded((0x30, body), (0x30, b""), (0x03, b""))))


BEGIN = (UTC_TIME, b"250101000000Z")


@pytest.mark.parametrize(
    ("end", "year"),
    [
        ((UTC_TIME, b"261105093000Z"), 2026),
        ((UTC_TIME, b"491105093000Z"), 2049),
        ((UTC_TIME, b"501105093000Z"), 1950),
        ((GENERALIZED_TIME, b"20501105093000Z"), 2050),
    ],
)
def test_the_second_time_of_the_validity(end: tuple[int, bytes], year: int) -> None:
    assert valid_until(certificate(BEGIN, end)) == f"{year}1105093000Z"
    assert valid_until(certificate(BEGIN, end, first=(SERIAL,))) == f"{year}1105093000Z"


GOOD = certificate(BEGIN, (UTC_TIME, b"261105093000Z"))


@pytest.mark.parametrize("length", range(0, len(GOOD), 11))
def test_one_that_is_cut_off_is_refused(length: int) -> None:
    with pytest.raises(ValueError, match=r"cut off|no certificate"):
        valid_until(GOOD[:length])


@pytest.mark.parametrize("end", [(UTC_TIME, b"26110509300\xb2Z"), (UTC_TIME, b""), (0x02, b"261105093000Z")])
def test_a_time_that_is_none_is_refused(end: tuple[int, bytes]) -> None:
    with pytest.raises(ValueError, match=r".+"):
        valid_until(certificate(BEGIN, end))


@given(st.binary(max_size=80), st.integers(0, len(GOOD) - 1))
def test_whatever_a_server_sends_is_a_date_or_refused(octets: bytes, at: int) -> None:
    for tried in (octets, GOOD[:at] + octets + GOOD[at + len(octets) :]):
        try:
            valid_until(tried)
        except ValueError:
            continue
