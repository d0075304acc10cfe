"""Which of the kernel's events wake a listener that watches a few links and the way out? (socket(7), SO_ATTACH_FILTER)

A node's links and routes change with each pod. The kernel drops events of others before they wake a process.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

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
