"""Messages to the service manager: the bytes that systemd gets, and what happens when it does not read."""

import asyncio
import contextlib
import os
import secrets
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodenet.edge.systemd.notify import Notifier, report_ready


@pytest.fixture(params=["path", "abstract"])
def manager(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[socket.socket, str]]:
    """A listening manager and its NOTIFY_SOCKET."""
    name = str(tmp_path / "notify") if request.param == "path" else "@nodenet-" + secrets.token_hex(8)
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listener:
        listener.bind(name.replace("@", "\0"))
        listener.settimeout(5)
        yield listener, name


def test_the_manager_gets_every_message(manager: tuple[socket.socket, str]) -> None:
    listener, name = manager
    notifier = Notifier({"NOTIFY_SOCKET": name})
    notifier.status("nmstate: waits\nfor NetworkManager")
    notifier.ready("ready")
    notifier.stopping()
    assert [listener.recv(4096) for _ in range(3)] == [
        b"STATUS=nmstate: waits for NetworkManager",
        b"READY=1\nSTATUS=ready",
        b"STOPPING=1",
    ]


@pytest.mark.parametrize("letter", ["x", "é", "\N{KEY}", "\ud800"])
def test_a_long_cause_does_not_cost_ready(manager: tuple[socket.socket, str], letter: str) -> None:
    """A message of more than 4096 bytes is ignored by systemd, and READY with it (R17)."""
    listener, name = manager
    Notifier({"NOTIFY_SOCKET": name}).ready(f"degraded: {letter * 300_000}")
    message = listener.recv(1 << 20)
    assert message.startswith(b"READY=1\nSTATUS=degraded: ")
    assert message.decode().endswith("…")
    assert len(message) <= 4096


def test_a_beat_feeds_the_watchdog_and_extends_only_a_start(manager: tuple[socket.socket, str]) -> None:
    listener, name = manager
    watched = Notifier({"NOTIFY_SOCKET": name, "WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())})
    watched.beat(starting=True)
    watched.beat(starting=False)
    assert listener.recv(4096) == b"WATCHDOG=1\nEXTEND_TIMEOUT_USEC=90000000"
    assert listener.recv(4096) == b"WATCHDOG=1"
    assert watched.seconds == 15.0


@pytest.mark.parametrize(
    ("environment", "seconds"),
    [
        ({}, None),
        ({"WATCHDOG_USEC": "30000000"}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": str(os.getpid())}, 30.0),
        ({"WATCHDOG_USEC": "30000000", "WATCHDOG_PID": "1"}, None),
        ({"WATCHDOG_USEC": "0"}, None),
        ({"WATCHDOG_USEC": "soon"}, None),
    ],
)
def test_only_our_own_watchdog_counts(environment: dict[str, str], seconds: float | None) -> None:
    assert Notifier(environment).watchdog_seconds == seconds


def test_nobody_listens_and_nothing_happens(tmp_path: Path) -> None:
    for environment in ({}, {"NOTIFY_SOCKET": str(tmp_path / "gone")}, {"NOTIFY_SOCKET": "vsock:2:1"}):
        Notifier(environment).ready("ready")
        Notifier(environment).beat(starting=True)


def test_a_manager_that_does_not_read_cannot_block(manager: tuple[socket.socket, str]) -> None:
    _, name = manager
    notifier = Notifier({"NOTIFY_SOCKET": name})
    for _ in range(5000):
        notifier.status("x" * 1000)


async def test_a_ready_that_the_queue_did_not_take_is_reported_again_with_what_is_true_then(
    manager: tuple[socket.socket, str],
) -> None:
    """nodenet-hosted and nodenet-ipam reported it once: their start ended with systemd's time-out."""
    queue, name = manager
    notifier = Notifier({"NOTIFY_SOCKET": name})
    while notifier.status("x" * 1000):
        pass
    asked: list[str] = []

    def status() -> str:
        asked.append(f"look {len(asked) + 1}")
        return asked[-1]

    task = asyncio.create_task(report_ready(notifier, status))
    while len(asked) < 2:
        await asyncio.sleep(0.05)
    assert not task.done()
    queue.setblocking(False)
    lines: list[str] = []
    while not task.done():
        lines += received(queue)
        await asyncio.sleep(0.05)
    assert [line for line in lines + received(queue) if "READY=1" in line] == [f"READY=1\nSTATUS={asked[-1]}"]


def received(queue: socket.socket) -> list[str]:
    """Return the messages in the queue."""
    found: list[str] = []
    with contextlib.suppress(BlockingIOError):
        while True:
            found.append(queue.recv(65_536).decode())
    return found
