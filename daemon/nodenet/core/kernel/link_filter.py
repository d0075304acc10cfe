"""Which of the kernel's link events wake a listener that watches only a few links? (socket(7), SO_ATTACH_FILTER)

A node's links change with each pod. The kernel drops events of other links before they wake a process.
"""

from __future__ import annotations

import struct
from collections.abc import Collection

RTMGRP_LINK = 0x1
_INDEX_OFFSET = 20
"""Of ifi_index: struct nlmsghdr has 16 bytes, and 4 bytes of struct ifinfomsg precede it (linux/rtnetlink.h)."""
_LOAD_WORD, _JUMP_IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_INSTRUCTION = struct.Struct("=HBBI")
_WHOLE, _NOTHING = 0xFFFFFFFF, 0


def events_of(indices: Collection[int]) -> bytes:
    """Return a program (struct sock_filter[], linux/filter.h) that passes link events of *indices*, 250 at most."""
    # A load is in network byte order; the kernel writes the index in its own.
    words = [int.from_bytes(struct.pack("=i", index), "big") for index in indices]
    program = [_INSTRUCTION.pack(_LOAD_WORD, 0, 0, _INDEX_OFFSET)]
    for number, word in enumerate(words):
        program.append(_INSTRUCTION.pack(_JUMP_IF_EQUAL, len(words) - number, 0, word))
    return b"".join([*program, _INSTRUCTION.pack(_RETURN, 0, 0, _NOTHING), _INSTRUCTION.pack(_RETURN, 0, 0, _WHOLE)])
