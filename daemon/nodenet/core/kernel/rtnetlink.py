"""What do the kernel's answers mean: headers, dumps, links, events? (rtnetlink(7), linux/rtnetlink.h)

Bytes in, values out. The fixed header of a message is looked at first: of a full routing table only the few routes
that matter to node IP selection are decoded.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace
from ipaddress import IPv4Address, IPv6Address

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Link
from nodenet.core.value import frozen

RTM_GETLINK = 18
AF_INET, AF_INET6 = 2, 10
_NLM_F_REQUEST = 0x1
_NLM_F_REQUEST_DUMP = 0x301
_NLM_F_DUMP_INTR = 0x10
_NLMSG_DONE = 3
"""Smaller values are no-operation and error; no part of a dump follows any of them."""
_TELLING = (4, 9)
"""Protocols of routes: set by hand or by NetworkManager for a profile (RTPROT_STATIC), and by a router (RTPROT_RA)."""
_RT_TABLE_LOCAL = 255
_HEADER = 16

# struct nlmsghdr's length, type and flags, then struct rtmsg's dst_len, table, protocol and type.
_ROUTE_HEAD = struct.Struct("=IHH8xxB2xBBxB")
_HEAD = struct.Struct("=IHH8x")
_LINK_BODY = struct.Struct("=BxHiII")
ATTRIBUTE = struct.Struct("=HH")
_NUMBER = struct.Struct("=I")

SCRATCH = _ROUTE_HEAD.size
"""Bytes that a buffer must have behind the last message: its head is read before its length is known."""

_SKIP_STATISTICS = struct.pack("=HHI", 8, 29, 8)
"""IFLA_EXT_MASK with RTEXT_FILTER_SKIP_STATS: counters are half of a link's answer."""
LINK_REQUEST = _LINK_BODY.pack(0, 0, 0, 0, 0) + _SKIP_STATISTICS

_EBADMSG = 74
_IFF_UP, _IFF_LOOPBACK, _IFF_LOWER_UP = 0x1, 0x8, 0x10000
_OPERSTATES = ("UNKNOWN", "NOTPRESENT", "DOWN", "LOWERLAYERDOWN", "TESTING", "DORMANT", "UP")


@frozen
class NumberedLink:
    """A link, and the indices of its master and its base, whose names may come later in the dump; 0 is none."""

    link: Link
    master: int | None
    base: int = 0


class Dump:
    """One answer in many messages; *done* when the last has come, *interrupted* when it is not of one piece."""

    def __init__(self) -> None:
        """Begin before the first message."""
        self.done = False
        self.interrupted = False

    def every(self, buffer: memoryview, size: int) -> Iterator[memoryview]:
        """Yield the body of each message. Raises OSError when the kernel refused."""
        offset = 0
        while offset < size:
            length, kind, flags = _HEAD.unpack_from(buffer, offset)
            if length < _HEADER:
                raise _torn()
            if flags & _NLM_F_DUMP_INTR:
                self.interrupted = True
            if kind <= _NLMSG_DONE:
                self._end(buffer[offset : offset + length])
                return
            yield buffer[offset + _HEADER : offset + length]
            offset += (length + 3) & ~3

    def telling_routes(self, buffer: memoryview, size: int) -> Iterator[memoryview]:
        """Yield the body of each default or static route and each of a router advertisement; skip the rest unread."""
        offset = 0
        unpack = _ROUTE_HEAD.unpack_from
        while offset < size:
            length, kind, flags, prefix_length, table, protocol, _ = unpack(buffer, offset)
            if length < _HEADER:
                raise _torn()
            if flags & _NLM_F_DUMP_INTR:
                self.interrupted = True
            if kind <= _NLMSG_DONE:
                self._end(buffer[offset : offset + length])
                return
            if (not prefix_length or protocol in _TELLING) and table != _RT_TABLE_LOCAL:
                yield buffer[offset + _HEADER : offset + length]
            offset += (length + 3) & ~3

    def _end(self, message: memoryview) -> None:
        self.done = True
        code = struct.unpack_from("=i", message, _HEADER)[0] if len(message) >= _HEADER + 4 else 0
        if code < 0:
            raise OSError(-code, "the kernel refused to list")


def _torn() -> OSError:
    """Return the error of a message that is shorter than its header: nothing behind it can be found."""
    return OSError(_EBADMSG, "a message is shorter than its header")


def request(kind: int, sequence: int, body: bytes) -> bytes:
    """Return the message that asks for a dump."""
    return struct.pack("=IHHII", _HEADER + len(body), kind, _NLM_F_REQUEST_DUMP, sequence, 0) + body


def single_link_request(index: int) -> bytes:
    """Return the message that asks for one link."""
    body = _LINK_BODY.pack(0, 0, index, 0, 0) + _SKIP_STATISTICS
    return struct.pack("=IHHII", _HEADER + len(body), RTM_GETLINK, _NLM_F_REQUEST, 1, 0) + body


def single_link(data: bytes) -> Link:
    """Return the link of the answer to ``single_link_request``. Raises OSError when the kernel refused."""
    length, kind, _ = _HEAD.unpack_from(data)
    message = memoryview(data)[:length]
    if kind <= _NLMSG_DONE:
        code = struct.unpack_from("=i", message, _HEADER)[0]
        raise OSError(-code, "the kernel refused to describe the link")
    return link(message[_HEADER:]).link


def attributes(message: memoryview, offset: int) -> dict[int, memoryview]:
    """Return attributes by type (struct rtattr); the nesting bit is not part of the type."""
    found: dict[int, memoryview] = {}
    end = len(message)
    while offset + 4 <= end:
        length, kind = ATTRIBUTE.unpack_from(message, offset)
        if length < 4:
            break
        found[kind & 0x3FFF] = message[offset + 4 : offset + length]
        offset += (length + 3) & ~3
    return found


def _text(value: memoryview | None) -> str | None:
    return None if value is None else bytes(value).rstrip(b"\0").decode(errors="backslashreplace")


def number(value: memoryview | None) -> int | None:
    """Return a 32-bit number."""
    return None if value is None else _NUMBER.unpack_from(value)[0]


def _mac(value: memoryview | None) -> str | None:
    return value.hex(":") if value else None


def ip(value: memoryview | None) -> IPAddress | None:
    """Return an address of 4 or 16 bytes."""
    if value is None:
        return None
    # As a number: it takes ipaddress a third of the time that bytes take.
    numeric = int.from_bytes(value, "big")
    return IPv4Address(numeric) if len(value) == 4 else IPv6Address(numeric)


def link(message: memoryview) -> NumberedLink:
    """Return the link of an RTM_NEWLINK body (linux/if_link.h)."""
    _, _, index, flags, _ = _LINK_BODY.unpack_from(message)
    found = attributes(message, _LINK_BODY.size)
    info = attributes(found[18], 0) if 18 in found else {}
    operstate = found[16][0] if 16 in found else 0
    mac, permanent = _mac(found.get(1)), _mac(found.get(54))
    value = Link(
        index=index,
        name=_text(found.get(3)) or f"if{index}",
        altnames=tuple(_alternative_names(found.get(52))),
        kind=_text(info.get(1)),
        up=bool(flags & _IFF_UP),
        carrier=bool(flags & _IFF_LOWER_UP),
        loopback=bool(flags & _IFF_LOOPBACK),
        operstate=_OPERSTATES[operstate] if operstate < len(_OPERSTATES) else "UNKNOWN",
        mac=mac,
        permanent_mac=permanent if permanent != mac else None,
        carrier_changes=number(found.get(35)) or 0,
        mtu=number(found.get(4)) or 0,
    )
    base = None if 37 in found else number(found.get(5))  # IFLA_LINK_NETNSID: it is in another namespace
    return NumberedLink(value, number(found.get(10)), base or 0)


def _alternative_names(properties: memoryview | None) -> Iterator[str]:
    """Yield IFLA_ALT_IFNAME: several attributes of one type, so not for a dictionary."""
    offset = 0
    while properties is not None and offset + 4 <= len(properties):
        length, _ = ATTRIBUTE.unpack_from(properties, offset)
        if length < 4:
            return
        yield _text(properties[offset + 4 : offset + length]) or ""
        offset += (length + 3) & ~3


def with_names(numbered: Mapping[int, NumberedLink]) -> tuple[Link, ...]:
    """Return the links with the names of their masters and bases."""
    names = {index: item.link.name for index, item in numbered.items()}
    return tuple(
        replace(item.link, master=names.get(item.master or 0), base=names.get(item.base))
        if item.master or item.base
        else item.link
        for item in numbered.values()
    )


GROUPS = 0x1 | 0x40 | 0x400
"""RTMGRP_LINK, RTMGRP_IPV4_ROUTE and RTMGRP_IPV6_ROUTE (linux/rtnetlink.h)."""
_TYPE_OFFSET = 4
"""Of nlmsg_type, 16 bits in the kernel's byte order (linux/netlink.h)."""
_NEWROUTE, _DELROUTE = 24, 25
_INDEX_OFFSET = 20
"""Of ifi_index: struct nlmsghdr has 16 bytes, and 4 bytes of struct ifinfomsg precede it (linux/rtnetlink.h)."""
_LENGTH_OFFSET, _TABLE_OFFSET = 17, 20
"""Of rtm_dst_len and rtm_table, one byte each of struct rtmsg (linux/rtnetlink.h)."""
_MAIN = 254
_LOAD_WORD, _LOAD_HALF, _LOAD_BYTE, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x28, 0x30, 0x15, 0x06
_INSTRUCTION = struct.Struct("=HBBI")
_WHOLE, _NOTHING = 0xFFFFFFFF, 0


def events_of(indices: Collection[int]) -> bytes:
    """Return a program (struct sock_filter[], linux/filter.h) that passes two kinds of events.

    Link events of *indices*, 240 at most, and the end of a default route of the main table.
    """
    # A load is in network byte order; the kernel writes type and index in its own.
    words = [int.from_bytes(struct.pack("=i", index), "big") for index in indices]
    deleted, made = (int.from_bytes(struct.pack("=H", kind), "big") for kind in (_DELROUTE, _NEWROUTE))
    routes = [
        (_LOAD_HALF, 0, 0, _TYPE_OFFSET),
        (_JUMP_IF_EQUAL, len(words) + 6, 0, made),
        (_JUMP_IF_EQUAL, 0, 4, deleted),
        (_LOAD_BYTE, 0, 0, _LENGTH_OFFSET),
        (_JUMP_IF_EQUAL, 0, len(words) + 3, 0),
        (_LOAD_BYTE, 0, 0, _TABLE_OFFSET),
        (_JUMP_IF_EQUAL, len(words) + 2, len(words) + 1, _MAIN),
    ]
    links = [(_JUMP_IF_EQUAL, len(words) - number, 0, word) for number, word in enumerate(words)]
    ends = [(_RETURN, 0, 0, _NOTHING), (_RETURN, 0, 0, _WHOLE)]
    program = [*routes, (_LOAD_WORD, 0, 0, _INDEX_OFFSET), *links, *ends]
    return b"".join(_INSTRUCTION.pack(*instruction) for instruction in program)


def is_route(message: bytes) -> bool:
    """Return whether *message* is the end of a route."""
    return message[_TYPE_OFFSET : _TYPE_OFFSET + 2] == struct.pack("=H", _DELROUTE)
