"""Which DNS servers of other hosts does this node ask, and do they answer?

The answers are looked for later: they wait in the sockets until then, and nodenetd does not wake for them.
"""

from __future__ import annotations

import socket
from collections.abc import Collection
from contextlib import suppress
from pathlib import PurePosixPath

from nodenet.core.errors import NodenetError
from nodenet.core.ip import IPAddress
from nodenet.core.resolver.view import BEHIND_STUB, RESOLV_CONF
from nodenet.edge.files import disk
from nodenet.edge.resolver.probe import PORT, is_answer, query


class NameServers:
    """The DNS servers in resolv.conf, or behind the stub of systemd-resolved."""

    def __init__(self, port: int = PORT) -> None:
        """Ask at *port*."""
        self._port = port
        self._open: dict[IPAddress, tuple[socket.socket, bytes]] = {}

    def files(self) -> tuple[bytes | None, bytes | None]:
        """Return what resolv.conf and the file behind the stub say; None for what cannot be read."""
        return _content(RESOLV_CONF), _content(BEHIND_STUB)

    def ask(self, servers: Collection[IPAddress]) -> None:
        """Send a query for the root to each of *servers*; answers to earlier queries are lost."""
        self.close()
        for server in servers:
            family = socket.AF_INET6 if server.version == 6 else socket.AF_INET
            line = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
            question = query("")
            self._open[server] = line, question
            with suppress(OSError):  # no route, or no address of its family: it does not answer
                line.connect((str(server), self._port))
                line.send(question)

    def answered(self) -> frozenset[IPAddress]:
        """Return those that have answered since they were asked; what comes later is lost."""
        found = frozenset(server for server, (line, question) in self._open.items() if _has_answer(line, question))
        self.close()
        return found

    def close(self) -> None:
        """Ask no longer."""
        for line, _ in self._open.values():
            line.close()
        self._open.clear()


def _content(path: PurePosixPath) -> bytes | None:
    try:
        return disk.read(path)
    except NodenetError:  # the resolver stage reports it
        return None


def _has_answer(line: socket.socket, question: bytes) -> bool:
    with suppress(OSError):  # nothing more is there, or the port is closed
        while True:
            if is_answer(line.recv(512), question):
                return True
    return False
