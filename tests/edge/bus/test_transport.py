"""How are bytes sent to the bus and read from it without blocking the event loop?"""

from __future__ import annotations

import array
import asyncio
import contextlib
import itertools
import os
import socket
import struct
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from edge.lag import LIMIT_SECONDS, measured
from edge.raw_bus import SIGNAL, message
from nodenet.edge.bus.connection import Message, just
from nodenet.edge.bus.frames import Frame
from nodenet.edge.bus.transport import (
    FRAMES_PER_TURN,
    LIMIT,
    READ_BYTES,
    ROOM_BYTES,
    WINDOW,
    Outbox,
    Transport,
    socket_path,
)

PING = message(SIGNAL, 1, [(1, "o", "/a"), (2, "s", "x.y"), (3, "s", "Ping"), (7, "s", ":1.7")])


@contextlib.asynccontextmanager
async def connected(
    directory: Path, frames: list[Frame], *, room: int = 1024
) -> AsyncIterator[tuple[Transport, socket.socket]]:
    """Give a connection and its other end."""
    loop = asyncio.get_running_loop()
    path = str(directory / "bus")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        server.listen(1)
        server.setblocking(False)
        transport = Transport(1, frames.append, lambda _: room)
        connecting = asyncio.create_task(transport.connect(f"unix:path={path}", descriptors=True))
        other, _ = await loop.sock_accept(server)
        with other:
            said = b""
            for answer in (b"OK 1234\r\n", b"AGREE_UNIX_FD\r\n"):
                said += await loop.sock_recv(other, 4096)
                await loop.sock_sendall(other, answer)
            await connecting
            said += await loop.sock_recv(other, 4096)
            uid = str(os.getuid()).encode().hex()
            assert said == f"\0AUTH EXTERNAL {uid}\r\nNEGOTIATE_UNIX_FD\r\nBEGIN\r\n".encode()
            yield transport, other
            transport.close()


async def until(frames: list[Frame], number: int) -> None:
    async with asyncio.timeout(10):
        while len(frames) < number:
            await asyncio.sleep(0.005)


def lingering() -> tuple[socket.socket, list[socket.socket]]:
    """Return a TCP connection whose close(2) waits for data that nobody reads, and what keeps it so."""
    server = socket.create_server(("127.0.0.1", 0))
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2048)
    connection = socket.create_connection(server.getsockname())
    peer, _ = server.accept()
    connection.setblocking(False)
    with contextlib.suppress(BlockingIOError):
        while True:
            connection.send(b"x" * 65536)
    connection.setblocking(True)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 5))
    return connection, [server, peer]


@pytest.mark.parametrize("read", [True, False])
async def test_a_descriptor_whose_close_waits_does_not_keep_the_loop(tmp_path: Path, *, read: bool) -> None:
    """Neither one that came with a message, nor one that lies unread when the connection is closed (R34)."""
    frames: list[Frame] = []
    held: list[socket.socket] = []
    async with measured() as lag, connected(tmp_path, frames) as (transport, other):
        for _ in range(3):
            connection, more = lingering()
            held += more
            rights = [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [connection.fileno()]))]
            other.sendmsg([PING], rights)
            os.close(connection.detach())
        if not read:
            transport.close()
        await until(frames, 3 if read else 0)
        await asyncio.sleep(0.3)
    for each in held:
        each.close()
    assert lag.worst <= LIMIT_SECONDS


async def test_a_turn_handles_a_bounded_number_of_messages(tmp_path: Path) -> None:
    """Others get their turn in between (R35)."""
    frames: list[Frame] = []
    async with connected(tmp_path, frames) as (_, other):
        other.sendall(PING * 1000)
        turns = [0]
        while turns[-1] < 1000:
            await asyncio.sleep(0)
            turns.append(len(frames))
        steps = [after - before for before, after in itertools.pairwise(turns)]
        assert 0 < max(steps) <= FRAMES_PER_TURN


async def test_a_body_larger_than_allowed_is_skipped_and_the_next_message_is_read(tmp_path: Path) -> None:
    """It is never kept: thirty megabytes pass through a small buffer (R35)."""
    frames: list[Frame] = []
    large = message(SIGNAL, 2, [(1, "o", "/a"), (2, "s", "x.y"), (3, "s", "Large")], b"\0" * 30_000_000)
    long = message(SIGNAL, 3, [(1, "o", "/" + "a" * 20_000), (2, "s", "x.y"), (3, "s", "Long")])
    async with connected(tmp_path, frames) as (transport, other):
        other.setblocking(True)
        task = asyncio.create_task(asyncio.to_thread(other.sendall, large + long + PING))
        most = 0
        while len(frames) < 2:
            most = max(most, len(transport._framer._bytes))
            await asyncio.sleep(0)
        await task
        assert [(frame.member, frame.size, frame.body) for frame in frames] == [
            ("Large", 30_000_000, None),
            ("Ping", 0, b""),
        ]
        assert most <= 2 * READ_BYTES


async def test_nonsense_ends_the_connection_with_its_reason(tmp_path: Path) -> None:
    """What follows cannot be understood."""
    frames: list[Frame] = []
    async with connected(tmp_path, frames) as (transport, other):
        other.sendall(PING + b"\xff" * 64)
        reason = await asyncio.wait_for(transport.ended, 5)
        assert str(reason) == "0xff is no byte order of D-Bus"
        assert len(frames) == 1


async def test_what_is_sent_waits_for_a_bus_that_does_not_read(tmp_path: Path) -> None:
    """Nothing is lost, nothing is dropped, and whoever can wait learns that it should (R37)."""
    async with connected(tmp_path, []) as (transport, other):
        for number in range(5000):
            transport.send(b"%04d" % number + b"x" * 996)
        assert transport.crowded
        drained = asyncio.create_task(transport.drained())
        await asyncio.sleep(0.05)
        assert not drained.done()
        heard = b""
        while len(heard) < 5_000_000:
            heard += await asyncio.get_running_loop().sock_recv(other, 1_000_000)
        await asyncio.wait_for(drained, 5)
        assert [int(heard[at : at + 4]) for at in range(0, len(heard), 1000)] == list(range(5000))
        transport.send(b"x" * (2 * ROOM_BYTES))
        drained = asyncio.create_task(transport.drained())
        transport.close()
        await asyncio.wait_for(drained, 5)


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("unix:path=/run/dbus/system_bus_socket", "/run/dbus/system_bus_socket"),
        ("tcp:host=localhost,port=1;unix:guid=ab,path=/a%20b", "/a b"),
        ("unix:abstract=/tmp/x,guid=12", "\0/tmp/x"),
    ],
)
def test_an_address_names_a_socket(address: str, path: str) -> None:
    assert socket_path(address) == path


@pytest.mark.parametrize("address", ["", "tcp:host=localhost,port=1", "unix:tmpdir=/tmp", "nonsense"])
def test_an_address_without_a_socket_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="names no Unix socket"):
        socket_path(address)


def signal(number: int) -> Message:
    return Message.new_signal("/a", "x.y", "Ping", "u", [number])


def test_the_newest_ones_are_kept_and_sent_in_order() -> None:
    """As many as fit, a few at a time; a later one with the same key replaces the earlier one."""
    outbox = Outbox()
    for number in range(LIMIT + 10):
        outbox.put(number, just(signal(number)))
    outbox.put(20, just(signal(1000)))
    sent = []
    while outbox:
        window = outbox.window()
        assert len(window) <= WINDOW
        sent += [message.body[0] for make in window if (message := make())]
    assert sent == [number for number in range(10, LIMIT + 10) if number != 20] + [1000]
