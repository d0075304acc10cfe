"""Which sockets of this node wait for clients on a port? (sock_diag(7))

The kernel is asked for one port at a time: any user may have any number of sockets on the others.
"""

from __future__ import annotations

import socket
from collections.abc import Collection, Iterator
from itertools import product

from nodenet.core.errors import Unavailable
from nodenet.core.kernel import sock_diag
from nodenet.core.kernel.sock_diag import Listening

_SOCK_DIAG = 4
_TIMEOUT_SECONDS = 5.0
_RECEIVE_BYTES = 65_536
_PARTS = 64
"""Parts of an answer that are read: some ten thousand sockets on one port."""


class Sockets:
    """The sockets of this node."""

    def udp(self, ports: Collection[int]) -> tuple[Listening, ...]:
        """Return the UDP sockets that wait for packets of anyone on *ports*. Raises Unavailable."""
        return tuple(waiting(sock_diag.UDP, ports))


def waiting(protocol: int, ports: Collection[int]) -> Iterator[Listening]:
    """Yield the sockets of *protocol* that wait on *ports*, in both families. Raises Unavailable."""
    try:
        for family, port in product(sock_diag.FAMILIES, ports):
            yield from _waiting_on(sock_diag.question(family, port, protocol))
    except OSError as error:
        raise Unavailable(f"The sockets that listen cannot be listed: {error.strerror or error}") from error


def _waiting_on(question: bytes) -> Iterator[Listening]:
    # A socket for each question: the kernel takes no second one before it has answered the first to its end.
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, _SOCK_DIAG) as kernel:
        kernel.settimeout(_TIMEOUT_SECONDS)
        kernel.send(question)
        for _ in range(_PARTS):
            data = kernel.recv(_RECEIVE_BYTES)
            yield from sock_diag.answers(data)
            if sock_diag.is_last(data):
                break
