"""Does Open vSwitch work, and what does its database contain?

A client of ovsdb-server's JSON-RPC (RFC 7047) on its Unix socket. Each request has its own connection, and every
wait has a deadline. ovs-vswitchd is reached through the database only: a client that raises
``next_cfg`` sees ``cur_cfg`` follow as soon as ovs-vswitchd has carried out what the database says
(ovs-vswitchd.conf.db(5)).
"""

from __future__ import annotations

import asyncio
import errno
import json
import os
import socket
import struct
from collections import deque
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from nodenet.core.errors import NotAllowed, Unavailable
from nodenet.core.open_vswitch import (
    DATABASE,
    MALFORMED,
    SELECT_BRIDGES,
    OvsBridge,
    OvsPort,
    bridges,
    insertion,
    results,
    text_map,
)

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


# Does Open vSwitch work, and what is in its database?

SOCKET = Path("/run/openvswitch/db.sock")
ASK_SECONDS = 5.0
LAG_SECONDS = 2.0
"""How long ovs-vswitchd must have been behind before its catching up is reported as its return."""
BACK_OFF_SECONDS = (0.1, 0.2, 0.5, 1.0, 2.0)
MOST_BYTES = 64 << 20
"""Of one answer; the database of a node with thousands of ports is a few megabytes."""
NO_OVN = " "
"""As ``ovn-remote``: a database that ovn-controller cannot reach, and does not try again by itself."""
_CHUNK_BYTES = 1 << 16

_GLOBAL = {"table": DATABASE, "where": []}
_RAISE_NEXT_CFG = {"op": "mutate", **_GLOBAL, "mutations": [["next_cfg", "+=", 1]]}
_SELECT_GLOBAL = {"op": "select", **_GLOBAL, "columns": ["next_cfg", "cur_cfg", "external_ids"]}


class Ovsdb:
    """The database, by its socket."""

    def __init__(self, path: Path = SOCKET) -> None:
        """Look at *path*."""
        self._path = path

    def answers(self) -> bool:
        """Return whether a server listens on the socket (connect(2)). Raises NotAllowed when that is not known."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK) as probe:
            refusal = probe.connect_ex(str(self._path))
        if refusal in (errno.EACCES, errno.EPERM):
            raise self._closed_to_us()
        return refusal in (0, errno.EAGAIN)  # EAGAIN: so many ask it that the queue is full

    async def prove_alive(self, seconds: float = ASK_SECONDS) -> None:
        """Return when the database takes changes and ovs-vswitchd carries them out.

        Raises Unavailable with the cause when that has not been seen within *seconds*.
        """
        wanted: int | None = None
        try:
            async with asyncio.timeout(seconds), self._connection() as session:
                *_, row = await session.transact(_RAISE_NEXT_CFG, _SELECT_GLOBAL)
                wanted = _only(row["rows"])["next_cfg"]
                async for configuration in session.configurations():
                    if configuration["cur_cfg"] >= wanted:
                        return
        except TimeoutError as error:
            if wanted is None:
                raise _silent(seconds) from error
            raise Unavailable(
                f"ovs-vswitchd has not carried out what Open vSwitch's database says for {seconds:g} s",
                remedy="Look at `systemctl status ovs-vswitchd` and at /var/log/openvswitch/ovs-vswitchd.log",
            ) from error

    async def has_kernel_datapath(self) -> bool:
        """Return whether the kernel has Open vSwitch's datapath. Raises Unavailable."""
        return await asyncio.to_thread(has_kernel_datapath)

    async def bridges(self) -> tuple[OvsBridge, ...]:
        """Return all bridges with their ports. Raises Unavailable."""
        async with self._asked() as session:
            return bridges(await session.transact(*SELECT_BRIDGES))

    async def remove_bridge(self, name: str) -> bool:
        """Remove a bridge with its ports; return whether it was there. Raises Unavailable.

        ovs-vswitchd is not waited for: it may be dead, and finds the bridge gone when it comes back.
        """
        parent = {"table": DATABASE, "column": "bridges", "where": []}
        return await self._unlink("Bridge", name, parent)

    async def remove_port(self, bridge: str, name: str) -> bool:
        """Remove a port from *bridge*; return whether a port of that name was there. Raises Unavailable."""
        parent = {"table": "Bridge", "column": "ports", "where": [["name", "==", bridge]]}
        return await self._unlink("Port", name, parent)

    async def mark_bridge(self, name: str, key: str, value: str) -> None:
        """Set *key* in the external_ids of a bridge; its other keys stay. Raises Unavailable."""
        changes = [
            ["external_ids", "delete", ["set", [key]]],
            ["external_ids", "insert", ["map", [[key, value]]]],
        ]
        async with self._asked() as session:
            await session.transact(
                {"op": "mutate", "table": "Bridge", "where": [["name", "==", name]], "mutations": changes}
            )

    async def add_port(self, bridge: str, port: OvsPort) -> None:
        """Put *port*, of one interface, on *bridge*. Raises Unavailable."""
        async with self._asked() as session:
            await session.transact(*insertion(bridge, port), _RAISE_NEXT_CFG)

    async def request_ofport(self, interface: str, number: int) -> None:
        """Let *interface* have the OpenFlow port number *number*. Raises Unavailable."""
        where = [["name", "==", interface]]
        update = {"op": "update", "table": "Interface", "where": where, "row": {"ofport_request": number}}
        async with self._asked() as session:
            await session.transact(update, _RAISE_NEXT_CFG)

    async def _unlink(self, table: str, name: str, parent: Mapping[str, Any]) -> bool:
        """Take the row *name* out of the column that refers to it: the database then removes it (RFC 7047, 3.2)."""
        async with self._asked() as session:
            select = {"op": "select", "table": table, "where": [["name", "==", name]], "columns": ["_uuid"]}
            (found,) = await session.transact(select)
            if not found["rows"]:
                return False
            uuids = ["set", [row["_uuid"] for row in found["rows"]]]
            mutate = {"op": "mutate", "table": parent["table"], "where": parent["where"]}
            await session.transact({**mutate, "mutations": [[parent["column"], "delete", uuids]]}, _RAISE_NEXT_CFG)
            return True

    async def park_ovn(self) -> bool:
        """Keep ovn-controller from a southbound database of an earlier boot; return whether that changed anything.

        For once a boot, before any part of OVN runs: its start sets ``ovn-remote`` again. Where OVN has never
        been, nothing is written. Raises Unavailable.
        """
        async with self._asked() as session:
            (found,) = await session.transact(_SELECT_GLOBAL)
            if text_map(_only(found["rows"])["external_ids"]).get("ovn-remote", NO_OVN) == NO_OVN:
                return False
            changes = [
                ["external_ids", "delete", ["set", ["ovn-remote"]]],
                ["external_ids", "insert", ["map", [["ovn-remote", NO_OVN]]]],
            ]
            await session.transact({"op": "mutate", **_GLOBAL, "mutations": changes}, _RAISE_NEXT_CFG)
            return True

    async def watch(self, changed: Callable[[], None]) -> None:
        """Call *changed* when the database comes or goes and when ovs-vswitchd comes back, until cancelled.

        Its return is seen by callers that asked for something meanwhile, such as ``prove_alive``. The many changes
        that a running one carries out are not reported, nor is the beginning of the watch: it is no event.
        """
        attempt, was_there = 0, True
        while True:
            try:
                async with self._connection() as session:
                    async for is_first in _returns(session):
                        if not (is_first and was_there):
                            changed()
                        attempt, was_there = 0, True
            except Unavailable:
                if was_there:
                    changed()
                was_there = False
            await asyncio.sleep(BACK_OFF_SECONDS[min(attempt, len(BACK_OFF_SECONDS) - 1)])
            attempt += 1

    def _closed_to_us(self) -> NotAllowed:
        return NotAllowed(f"Open vSwitch's database at {self._path} may not be asked by this user")

    @asynccontextmanager
    async def _asked(self) -> AsyncIterator[_Session]:
        """Connect, for a question that is answered at once or not at all."""
        try:
            async with asyncio.timeout(ASK_SECONDS), self._connection() as session:
                yield session
        except TimeoutError as error:
            raise _silent(ASK_SECONDS) from error

    @asynccontextmanager
    async def _connection(self) -> AsyncIterator[_Session]:
        """Connect; whatever breaks is Unavailable, except the deadline, which is the caller's."""
        writer: asyncio.StreamWriter | None = None
        try:
            reader, writer = await asyncio.open_unix_connection(self._path)
            yield _Session(reader, writer)
        except TimeoutError:
            raise
        except PermissionError as error:
            raise self._closed_to_us() from error
        except OSError as error:
            raise Unavailable(
                f"Open vSwitch's database cannot be reached at {self._path}: {error.strerror or error}",
                remedy="Look at `systemctl status ovsdb-server openvswitch-switch openvswitch`",
            ) from error
        except MALFORMED as error:
            raise Unavailable(f"Open vSwitch's database gives an invalid answer: {error!r}") from error
        finally:
            if writer:
                writer.transport.abort()


class _Session:
    """One connection: an answer for each question, and between them what the server says by itself."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._asked = 0
        self._tail = b""
        self._received: deque[dict[str, Any]] = deque()
        self._updates: deque[dict[str, Any]] = deque()

    async def transact(self, *operations: Mapping[str, Any]) -> list[dict[str, Any]]:
        """Return the result of each operation (RFC 7047, 4.1.3). Raises Unavailable when one is refused."""
        return results(await self._ask("transact", [DATABASE, *operations]))[: len(operations)]

    async def configurations(self) -> AsyncIterator[dict[str, int]]:
        """Yield ``next_cfg`` and ``cur_cfg`` as they are, then each time they change (4.1.5, 4.1.6)."""
        columns = ["next_cfg", "cur_cfg"]
        first = await self._ask("monitor", [DATABASE, None, {DATABASE: [{"columns": columns}]}])
        known: dict[str, int] = {}
        tables = first
        while True:
            for row in tables.get(DATABASE, {}).values():
                known |= row.get("new", {})
                yield {column: int(known[column]) for column in columns}
            while not self._updates:
                self._sort(await self._receive())
            _, tables = self._updates.popleft()["params"]

    async def _ask(self, method: str, params: list[Any]) -> Any:  # noqa: ANN401  (JSON)
        self._asked += 1
        self._send(method=method, params=params, id=self._asked)
        await self._writer.drain()
        while True:
            message = await self._receive()
            if message.get("id") == self._asked and "method" not in message:
                if message.get("error") is not None:
                    raise Unavailable(f"Open vSwitch's database refused `{method}`: {message['error']}")
                return message["result"]
            self._sort(message)

    def _sort(self, message: dict[str, Any]) -> None:
        """Keep an update, answer an echo (4.1.11: a client that does not is disconnected); the rest is for others."""
        if message.get("method") == "update":
            self._updates.append(message)
        elif message.get("method") == "echo":
            self._send(result=message["params"], error=None, id=message["id"])

    def _send(self, **message: object) -> None:
        self._writer.write(json.dumps(message).encode())

    async def _receive(self) -> dict[str, Any]:
        """Return the next message. There is no separator: each message ends where its JSON value ends."""
        while not self._received:
            chunk = await self._reader.read(_CHUNK_BYTES)
            if not chunk:
                raise ConnectionResetError("it closed the connection")
            self._tail += chunk
            if len(self._tail) > MOST_BYTES:
                raise ValueError(f"more than {MOST_BYTES} bytes")
            if chunk.endswith(b"}"):  # a message may end here, and only here is it worth trying to decode one
                self._split()
        return self._received.popleft()

    def _split(self) -> None:
        text = self._tail.decode().lstrip()
        while text:
            if not text.startswith("{"):
                raise ValueError(text[:80])
            try:
                message, end = json.JSONDecoder().raw_decode(text)
            except json.JSONDecodeError:
                break
            self._received.append(message)
            text = text[end:].lstrip()
        self._tail = text.encode()


async def _returns(session: _Session) -> AsyncIterator[bool]:
    """Yield True when the database has answered, then False when ovs-vswitchd has caught up after a while behind."""
    clock = asyncio.get_running_loop().time
    behind_since: float | None = None
    answered = False
    async for configuration in session.configurations():
        behind = configuration["cur_cfg"] < configuration["next_cfg"]
        back = not behind and behind_since is not None and clock() - behind_since >= LAG_SECONDS
        behind_since = (behind_since or clock()) if behind else None
        if back or not answered:
            yield not answered
            answered = True


def _only(rows: list[dict[str, Any]]) -> dict[str, Any]:
    if not rows:
        raise Unavailable(
            "Open vSwitch's database is empty: it was not set up yet",
            remedy="Look at `systemctl status openvswitch-switch openvswitch`",
        )
    return rows[0]


def _silent(seconds: float) -> Unavailable:
    return Unavailable(
        f"Open vSwitch's database did not answer within {seconds:g} s",
        remedy="Look at `systemctl status ovsdb-server openvswitch-switch openvswitch`",
    )
