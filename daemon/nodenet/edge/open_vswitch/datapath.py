"""Does the kernel have Open vSwitch's datapath? (linux/genetlink.h, linux/openvswitch.h)

The database lists the type ``system`` whether or not the kernel can do it. The generic netlink family
``ovs_datapath`` exists only with the kernel module; asking for it makes the kernel load the module if it is installed.
"""

from __future__ import annotations

import errno
import os
import socket
import struct

from nodenet.core.errors import Unavailable

FAMILY = "ovs_datapath"
ANSWER_SECONDS = 10.0
"""Loading a module is part of the answer."""
_NETLINK_GENERIC, _CONTROLLER, _ERROR = 16, 0x10, 2
_GET_FAMILY, _VERSION, _NAME, _REQUEST = 3, 1, 2, 0x1
_HEADER, _BODY, _ATTRIBUTE, _CODE = struct.Struct("=IHHII"), struct.Struct("=BBH"), struct.Struct("=HH"), "=i"


def has_kernel_datapath() -> bool:
    """Return whether the kernel has it; blocks for ANSWER_SECONDS at most. Raises Unavailable."""
    return has_family(FAMILY)


def has_family(name: str) -> bool:
    """Return whether the kernel has the generic netlink family *name*. Raises Unavailable."""
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
    try:
        with socket.socket(socket.AF_NETLINK, kind, _NETLINK_GENERIC) as kernel:
            kernel.settimeout(ANSWER_SECONDS)
            kernel.bind((0, 0))
            kernel.send(_question(name))
            code = _error(kernel.recv(65_536))
    except OSError as error:
        raise Unavailable(f"The kernel cannot be asked for {name}: {error.strerror or error}") from error
    if code not in (0, errno.ENOENT):
        raise Unavailable(f"The kernel cannot be asked for {name}: {os.strerror(code)}")
    return code == 0


def _question(name: str) -> bytes:
    text = name.encode() + b"\0"
    attribute = _ATTRIBUTE.pack(_ATTRIBUTE.size + len(text), _NAME) + text + bytes(-len(text) % 4)
    body = _BODY.pack(_GET_FAMILY, _VERSION, 0) + attribute
    return _HEADER.pack(_HEADER.size + len(body), _CONTROLLER, _REQUEST, 1, 0) + body


def _error(answer: bytes) -> int:
    """Return the errno of an answer, 0 for the family itself."""
    _, kind, *_ = _HEADER.unpack_from(answer)
    return -int(struct.unpack_from(_CODE, answer, _HEADER.size)[0]) if kind == _ERROR else 0
