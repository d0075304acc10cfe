"""When does a link of this node get or lose an address? (rtnetlink(7))"""

from __future__ import annotations

import asyncio
import errno
import socket

from nodenet.core.errors import Unavailable

RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR = 0x10, 0x100
_RECEIVE_BYTES = 65_536


class AddressEvents:
    """The changes of addresses, without what changed: who waits reads the present state."""

    def __init__(self) -> None:
        """Listen from the first wait on."""
        self._socket: socket.socket | None = None

    async def next(self) -> None:
        """Return after a change since the last call, and at once the first time. Raises Unavailable."""
        if self._socket is None:
            self._socket = _listener()
            return
        try:
            await asyncio.get_running_loop().sock_recv(self._socket, _RECEIVE_BYTES)
            while True:
                self._socket.recv(_RECEIVE_BYTES)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # an overflow is a change too
                self.close()
                raise _silent(error) from error

    def close(self) -> None:
        """Listen no longer; the next wait is the first one again."""
        if self._socket is not None:
            self._socket.close()
            self._socket = None


def _listener() -> socket.socket:
    try:
        kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        made = socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE)
        made.bind((0, RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR))
    except OSError as error:
        raise _silent(error) from error
    return made


def _silent(error: OSError) -> Unavailable:
    return Unavailable(f"The kernel's addresses cannot be watched: {error.strerror or error}")
