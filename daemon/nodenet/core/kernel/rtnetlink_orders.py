"""How is the kernel asked to take an address off a link, and what does it answer? (rtnetlink(7), netlink(7))"""

from __future__ import annotations

import struct

from nodenet.core.kernel.rtnetlink import AF_INET, AF_INET6, ATTRIBUTE
from nodenet.core.kernel.snapshot import Address

RTM_DELADDR = 21
_REQUEST, _ACKNOWLEDGE = 0x1, 0x4
_ERROR = 2
_LOCAL = 2
_HEADER = struct.Struct("=IHHII")
_BODY = struct.Struct("=BBBBI")
_CODE = struct.Struct("=i")


def removal(address: Address, link_index: int) -> bytes:
    """Return the order to take *address* off the link; the kernel answers it."""
    packed = address.address.packed
    family = AF_INET if address.address.version == 4 else AF_INET6
    body = _BODY.pack(family, address.prefix_length, 0, 0, link_index)
    body += ATTRIBUTE.pack(ATTRIBUTE.size + len(packed), _LOCAL) + packed
    return _HEADER.pack(_HEADER.size + len(body), RTM_DELADDR, _REQUEST | _ACKNOWLEDGE, 1, 0) + body


def refusal(answer: bytes) -> int:
    """Return the number of the error (errno(3)) in the kernel's *answer*, 0 for success. Raises OSError for another."""
    if len(answer) < _HEADER.size + _CODE.size or _HEADER.unpack_from(answer)[1] != _ERROR:
        raise OSError(74, "the kernel's answer to an order is none")
    return -int(_CODE.unpack_from(answer, _HEADER.size)[0])
