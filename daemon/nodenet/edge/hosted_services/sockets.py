"""Which sockets of this node wait for clients on a port? (sock_diag(7))

The kernel is asked for one port at a time: any user may have any number of sockets on the others.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Collection, Iterator
from itertools import product
from pathlib import Path

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

    def __init__(self, groups: Path = Path("/sys/fs/cgroup")) -> None:
        """Look at the tree of control *groups*."""
        self._groups = groups

    def udp(self, ports: Collection[int]) -> tuple[Listening, ...]:
        """Return the UDP sockets that wait for packets of anyone on *ports*. Raises Unavailable."""
        return tuple(waiting(sock_diag.UDP, ports))

    def services(self) -> frozenset[int]:
        """Return the ids of the control groups of systemd's services, without groups below them.

        What is below may be a container's, and a container of Docker is a scope of system.slice.
        """
        found = set()
        for place in self._groups.glob("system.slice/*.service"):
            with contextlib.suppress(OSError):  # the unit ended meanwhile
                found.add(place.stat().st_ino)
        return frozenset(found)


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
