"""Until when is a certificate valid? (RFC 5280, 4.1; X.690: DER)

Python's TLS library names the date of a certificate only if it trusts it, and the one that has expired is refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_SEQUENCE, _VERSION, _UTC_TIME, _GENERALIZED_TIME = 0x30, 0xA0, 0x17, 0x18
_MOMENT = re.compile(r"[0-9]{14}Z")
_VALIDITY = 3
"""Where it is after the serial number, with the algorithm and the issuer between."""


def valid_until(certificate: bytes) -> str:
    """Return the last second of *certificate*, in DER, as ``YYYYMMDDHHMMSSZ``. Raises ValueError for other octets."""
    parts = iter(_parts(_inside(_inside(certificate))))
    first, _ = next(parts, (0, b""))
    rest = [value for _, value in parts]  # without the version, or without the serial number where there is none
    place = _VALIDITY if first == _VERSION else _VALIDITY - 1
    if len(rest) <= place:
        raise ValueError("it is no certificate")
    times = list(_parts(rest[place]))
    if len(times) != 2:
        raise ValueError("its validity has not two times")
    return _time(*times[1])


def _time(tag: int, value: bytes) -> str:
    text = value.decode("ascii")
    if tag == _UTC_TIME:  # two digits of the year (RFC 5280, 4.1.2.5.1)
        text = ("20" if text[:2] < "50" else "19") + text
    if tag not in (_UTC_TIME, _GENERALIZED_TIME) or not _MOMENT.fullmatch(text):
        raise ValueError("its validity is no time")
    return text


def _inside(content: bytes) -> bytes:
    """Return the content of the sequence that *content* begins with."""
    tag, value = next(_parts(content), (0, b""))
    if tag != _SEQUENCE:
        raise ValueError("it is no certificate")
    return value


def _parts(content: bytes) -> Iterator[tuple[int, bytes]]:
    """Yield tag and value of each element. Raises ValueError where one is cut off."""
    at = 0
    while at < len(content):
        head = content[at : at + 2]
        at += 2
        if len(head) < 2:
            raise ValueError("it is cut off")
        tag, length = head
        if length & 0x80:
            count = length & 0x7F
            length = int.from_bytes(content[at : at + count])
            at += count
        value = content[at : at + length]
        if len(value) < length:
            raise ValueError("it is cut off")
        yield tag, value
        at += length
