"""Does a link have a carrier, and when does that change, or a default route end? (rtnetlink(7))

It watches a few links for as long as the daemon runs, without another process. Events of pods do not wake it.
"""

from __future__ import annotations

import array
import asyncio
import contextlib
import errno
import socket
import struct
from collections.abc import Callable, Sequence

from nodenet.core.errors import Unavailable
from nodenet.core.kernel import rtnetlink
from nodenet.core.kernel.rtnetlink import GROUPS, events_of, is_route
from nodenet.core.kernel.snapshot import Link

_RECEIVE_BYTES = 65_536
_TIMEOUT_SECONDS = 5.0
_SO_ATTACH_FILTER = 26


class LinkEvents:
    """The state of links, their changes, and the end of default routes."""

    def __init__(self) -> None:
        """Listen to nothing."""
        self._socket: socket.socket | None = None
        self._indices: tuple[int, ...] = ()

    def link(self, name: str) -> Link | None:
        """Return the present state of a link, None if it does not exist. Raises Unavailable."""
        try:
            index = socket.if_nametoindex(name)
        except OSError:
            return None
        try:
            with _socket() as kernel:
                kernel.settimeout(_TIMEOUT_SECONDS)
                kernel.send(rtnetlink.single_link_request(index))
                return rtnetlink.single_link(kernel.recv(_RECEIVE_BYTES))
        except OSError as error:
            if error.errno in (errno.ENODEV, errno.ENXIO):
                return None
            raise Unavailable(f"The kernel does not report the state of {name}: {error.strerror or error}") from error

    def listen(self, names: Sequence[str], changed: Callable[[], None], unrouted: Callable[[], None]) -> None:
        """Call *changed* after a change of one of the links *names*, and *unrouted* when a default route has ended.

        Those of the main table alone. Raises Unavailable.
        """
        indices = tuple(index for index in map(_index, names) if index)
        if indices == self._indices and self._socket is not None:
            return
        self.close()
        try:
            listener = _socket()
            listener.setblocking(False)  # noqa: FBT003  (its only argument)
            _attach(listener, events_of(indices))
            listener.bind((0, GROUPS))
        except OSError as error:
            raise Unavailable(f"The kernel's links cannot be watched: {error.strerror or error}") from error
        self._socket, self._indices = listener, indices
        asyncio.get_running_loop().add_reader(listener.fileno(), self._ready, changed, unrouted)

    def close(self) -> None:
        """Listen no longer."""
        if self._socket is not None:
            asyncio.get_running_loop().remove_reader(self._socket.fileno())
            self._socket.close()
            self._socket = None

    def _ready(self, changed: Callable[[], None], unrouted: Callable[[], None]) -> None:
        """Throw away what changed: the listener reads the present state. An overflow (ENOBUFS) is a change of all."""
        due: set[Callable[[], None]] = set()
        while self._socket is not None:
            try:
                due.add(unrouted if is_route(self._socket.recv(_RECEIVE_BYTES)) else changed)
            except BlockingIOError:
                break
            except OSError as error:
                if error.errno != errno.ENOBUFS:
                    raise
                due |= {changed, unrouted}
        for call in due:
            call()


def _socket() -> socket.socket:
    kind = socket.SOCK_RAW | socket.SOCK_CLOEXEC
    return socket.socket(socket.AF_NETLINK, kind, socket.NETLINK_ROUTE)


def _index(name: str) -> int:
    with contextlib.suppress(OSError):
        return socket.if_nametoindex(name)
    return 0


def _attach(listener: socket.socket, program: bytes) -> None:
    """Attach a filter: struct sock_fprog is the number of instructions and their address (linux/filter.h)."""
    instructions = array.array("B", program)
    address, size = instructions.buffer_info()
    listener.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, struct.pack("HL", size // 8, address))
