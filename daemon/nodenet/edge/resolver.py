"""Who answers DNS on this node, and what does systemd-resolved know?"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.errors import NodenetError, PublishFailed, Unavailable
from nodenet.core.ip import Family, IPAddress
from nodenet.core.resolver import FILES, Texts, is_answer, question
from nodenet.edge.bus.connection import DBUS, Bus, Refused, name_owner_changed
from nodenet.edge.files import disk
from nodenet.edge.systemd import manager_object

PORT = 53
PROBE_SECONDS = 0.5


class ResolverProbe:
    """Asks DNS servers for a sign of life."""

    def __init__(self, port: int = PORT) -> None:
        """Ask at *port*."""
        self._port = port

    async def answers(self, address: IPAddress, name: str, port: int | None = None) -> bool:
        """Return whether a server at *address* answers a query for *name* (empty: the root) in time."""
        return await ask(address, port or self._port, query(name), PROBE_SECONDS) is not None


async def ask(address: IPAddress, port: int, asked: bytes, seconds: float) -> bytes | None:
    """Return the answer to a question, None if no server at *address* answers in time."""
    loop = asyncio.get_running_loop()
    heard: asyncio.Future[bytes | None] = loop.create_future()
    try:
        transport, _ = await loop.create_datagram_endpoint(
            lambda: _Listener(asked, heard), remote_addr=(str(address), port)
        )
    except OSError:  # the address is not on the node, or not usable yet
        return None
    with contextlib.closing(transport), contextlib.suppress(TimeoutError):
        transport.sendto(asked)
        async with asyncio.timeout(seconds):
            return await heard
    return None


class _Listener(asyncio.DatagramProtocol):
    def __init__(self, asked: bytes, heard: asyncio.Future[bytes | None]) -> None:
        self._asked = asked
        self._heard = heard

    def datagram_received(self, data: bytes, addr: object) -> None:  # noqa: ARG002
        if is_answer(data, self._asked):
            self._hear(data)

    def error_received(self, exc: Exception) -> None:  # noqa: ARG002
        self._hear(None)

    def _hear(self, answer: bytes | None) -> None:
        if not self._heard.done():
            self._heard.set_result(answer)


def query(name: str) -> bytes:
    """Return a query for the address of *name* (empty: the root), with a number that cannot be guessed."""
    return question(name, Family.IPV4, int.from_bytes(os.urandom(2)))


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


# Does systemd-resolved run, and how does it read its drop-ins again?
#
# Only the owner of the name org.freedesktop.resolve1 is looked up: a call would start the service. systemd does the
# reload: it restarts a version that cannot reload, and does not start one that is stopped.

NAME = "org.freedesktop.resolve1"
UNIT = "systemd-resolved.service"
RELOAD_SECONDS = 20.0
_REMEDY = f"Look at `systemctl status {UNIT}`, then run `systemctl reload-or-restart {UNIT}`"


class Resolved:
    """systemd-resolved over the bus."""

    def __init__(self, bus: Bus, changed: Callable[[], None]) -> None:
        """Subscribe; *changed* is called when it starts or stops."""
        self._bus = bus
        self._changed = changed
        self._runs: bool | None = None
        self._changes = 0
        """How often it started or stopped."""
        self._jobs: dict[str, asyncio.Future[str]] | None = None
        bus.subscribe(name_owner_changed(NAME), self._owner_changed)
        bus.subscribe(manager_object.job_removed(UNIT), self._job_removed)

    def forget(self) -> None:
        """Ask again: signals were lost with the bus."""
        self._runs = None
        self._changes += 1

    async def runs(self) -> bool:
        """Return whether it runs; without a bus it cannot be used, which is the same."""
        if self._runs is not None:
            return self._runs
        changes = self._changes
        try:
            (owned,) = await self._bus.call(*DBUS, "NameHasOwner", "s", [NAME])
        except (Unavailable, Refused):
            return False
        if changes == self._changes:  # else a signal that came behind the answer was handled before this
            self._runs = bool(owned)
        return bool(owned)

    async def reload(self) -> None:
        """Let it read its configuration again; return when it has. Raises PublishFailed."""
        jobs = self._jobs = {}
        try:
            await manager_object.subscribe(self._bus)
            address = (manager_object.NAME, manager_object.PATH, manager_object.MANAGER)
            (path,) = await self._bus.call(*address, "ReloadOrTryRestartUnit", "ss", [UNIT, "replace"])
            async with asyncio.timeout(RELOAD_SECONDS):
                result = await _job(jobs, path)
        except TimeoutError:
            result = f"no end within {RELOAD_SECONDS:g} s"
        except (Unavailable, Refused) as error:
            result = str(error)
        finally:
            self._jobs = None
        if result not in ("done", "skipped"):
            raise PublishFailed(f"systemd-resolved did not read its drop-in again: {result}", remedy=_REMEDY)

    def _owner_changed(self, _: Sequence[Any]) -> None:
        self.forget()
        self._changed()

    def _job_removed(self, body: Sequence[Any]) -> None:
        """Keep the result of a job, which may end before its name is known."""
        _, path, _, result = body
        if self._jobs is not None and not (ended := _job(self._jobs, path)).done():
            ended.set_result(str(result))


def _job(jobs: dict[str, asyncio.Future[str]], path: str) -> asyncio.Future[str]:
    return jobs.setdefault(path, asyncio.get_running_loop().create_future())
