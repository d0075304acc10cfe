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
from nodenet.core.resolver.dns_message import is_answer
from nodenet.core.resolver.servers import FILES, Texts
from nodenet.edge.files import disk
from nodenet.edge.resolver.probe import PORT, query


class NameServers:
    """The DNS servers of this node."""

    def __init__(self, port: int = PORT) -> None:
        """Ask at *port*."""
        self._port = port
        self._open: dict[IPAddress, tuple[socket.socket, bytes]] = {}

    def files(self) -> Texts:
        """Return the files that list them; None for what cannot be read."""
        return {path: _content(path) for path in FILES}

    def ask(self, servers: Collection[IPAddress]) -> None:
        """Send a query for the root to each of *servers*; answers to earlier queries are lost."""
        self.close()
        for server in servers:
            family = socket.AF_INET6 if server.version == 6 else socket.AF_INET
            question = query("")
            with suppress(OSError):  # no route, no address of its family, or a kernel without it: it does not answer
                line = socket.socket(family, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK)
                self._open[server] = line, question
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
