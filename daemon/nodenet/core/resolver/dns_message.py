"""What is a DNS question, and which addresses are in its answer? (RFC 1035, section 4; RFC 3596)"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address

from nodenet.core.ip import Family, IPAddress

_TYPES = {Family.IPV4: 1, Family.IPV6: 28}
_INTERNET = 1
_RECURSE, _RESPONSE = 0x0100, 0x80
_HEADER, _RECORD = 12, struct.Struct("!HHIH")
_POINTER = 0xC0
"""The first bits of a name, or of its rest, that is elsewhere in the message."""


def question(name: str, family: Family, number: int) -> bytes:
    """Return the query for the addresses of *name* (empty: the root) of one family; *number*: of the message."""
    labels = [label.encode() for label in name.split(".") if label]
    text = b"".join(bytes([len(label)]) + label for label in labels) + b"\0"
    return struct.pack("!6H", number, _RECURSE, 1, 0, 0, 0) + text + struct.pack("!2H", _TYPES[family], _INTERNET)


def is_answer(data: bytes, asked: bytes) -> bool:
    """Return whether *data* is an answer to the question *asked*; it may be an error."""
    return len(data) >= _HEADER and data[:2] == asked[:2] and bool(data[2] & _RESPONSE)


def addresses_of(answer: bytes, family: Family) -> frozenset[IPAddress]:
    """Return the addresses of *family* in an *answer* to one question. Raises ValueError for what is no answer."""
    try:
        return frozenset(_addresses(answer, family))
    except (IndexError, struct.error):
        raise ValueError("the DNS message ends too early") from None


def _addresses(answer: bytes, family: Family) -> Iterator[IPAddress]:
    (count,) = struct.unpack("!H", answer[6:8])
    place = _end_of_name(answer, _HEADER) + 4
    for _ in range(count):
        place = _end_of_name(answer, place)
        kind, network, _, length = _RECORD.unpack_from(answer, place)
        place += _RECORD.size
        if (kind, network) == (_TYPES[family], _INTERNET):
            data = answer[place : place + length]
            yield IPv4Address(data) if family is Family.IPV4 else IPv6Address(data)
        place += length


def _end_of_name(message: bytes, place: int) -> int:
    while message[place]:
        if message[place] & _POINTER:
            return place + 2
        place += message[place] + 1
    return place + 1
