"""State file and service manager: what could not be said is said again."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Self

import pytest
import structlog

from nodenet.core.boot.outcome import Problem
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import AlreadyRunning
from nodenet.core.messages import Message
from nodenet.core.status.document import BootStatus
from nodenet.daemon import ServiceManager, StateFile, own_the_node
from nodenet.edge.files import disk as files
from nodenet.edge.systemd.notify import Notifier

READY = BootStatus(new_boot({}, degrade=True), ready=True, confirmed=1.0)
LOST = Problem(Message.UPLINK_LOST, "eth0 has no carrier", "Look at the cable")


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as opened:
        yield opened


class FullSocket:
    """PID 1, whose queue is full until it is drained."""

    def __init__(self, path: Path) -> None:
        self.manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self.manager.bind(str(path))
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK) as other:
            try:
                while True:
                    other.sendto(b"STATUS=another service", str(path))
            except BlockingIOError:
                pass

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.manager.close()

    def drain(self) -> list[str]:
        got = []
        try:
            while True:
                got.append(self.manager.recv(65536).decode())
        except BlockingIOError:
            return got


async def test_ready_is_repeated_until_systemd_says_that_the_unit_is_active(tmp_path: Path, stack: ExitStack) -> None:
    """The first one did not fit into the queue of PID 1 (R17)."""
    pid1 = stack.enter_context(FullSocket(tmp_path / "notify"))
    notifier = Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify"), "WATCHDOG_USEC": "30000000"})
    due = list[float]()
    manager, active, asked = ServiceManager(notifier, due.append), False, 0

    async def is_active() -> bool:
        nonlocal asked
        asked += 1
        return active

    confirmation = asyncio.create_task(manager.confirmed(is_active))
    await asyncio.sleep(0)
    assert manager.show(READY) is None
    assert due == [1.0]
    assert not any("READY=1" in message for message in pid1.drain())
    assert manager.show(replace(READY, uplink=LOST)) is None
    assert not any("READY=1" in message for message in pid1.drain()), "kubelet would start with what was not confirmed"
    again = replace(READY, confirmed=2.0)
    pauses = [manager.show(again) for _ in range(6)]
    assert pauses == [2.0, 4.0, 8.0, 15.0, 15.0, 15.0], "and then with every beat"
    assert sum("READY=1" in message for message in pid1.drain()) == 6
    await asyncio.sleep(60)
    assert not confirmation.done()
    assert 4 <= asked <= 10
    active = True
    await confirmation
    assert manager.show(again) is None
    assert pid1.drain() == []
    assert due == [1.0]


async def test_a_status_line_that_was_not_taken_is_sent_again(tmp_path: Path, stack: ExitStack) -> None:
    """Otherwise `systemctl status` shows an old one."""
    pid1 = stack.enter_context(FullSocket(tmp_path / "notify"))
    due = list[float]()
    manager = ServiceManager(Notifier({"NOTIFY_SOCKET": str(tmp_path / "notify")}), due.append)
    status = BootStatus(new_boot({}, degrade=True))
    assert manager.show(status) == 1.0
    pid1.drain()
    assert manager.show(status) is None
    assert due == []
    assert pid1.drain() == ["STATUS=starting"]


async def test_the_state_file_is_written_again_until_it_is_there(tmp_path: Path) -> None:
    """A full /run at READY must not hold kubelet's gate for ever (R16)."""
    place = tmp_path / "state.json"
    (place / "in the way").mkdir(parents=True)
    file = StateFile(place, files)
    with structlog.testing.capture_logs() as lines:
        assert [file.show(READY) for _ in range(5)] == [1.0, 2.0, 4.0, 8.0, 10.0]
    assert len(lines) == 1
    (place / "in the way").rmdir()
    place.rmdir()
    assert file.show(READY) is None
    assert '"ready": true' in place.read_text()


def test_the_same_status_is_made_a_document_once_and_written_again_where_the_file_is_gone(tmp_path: Path) -> None:
    place, made = tmp_path / "state.json", list[bool]()

    def rendered(found: dict[str, Any]) -> bytes:
        made.append(found["ready"])
        return json.dumps(found).encode()

    file = StateFile(place, files, rendered)
    for status in (replace(READY, ready=False), READY, replace(READY)):
        file.show(status)
    place.unlink()
    file.show(READY)
    assert json.loads(place.read_text())["ready"] is True
    assert made == [False, True]


def test_a_file_in_the_place_of_the_directory_does_not_keep_the_daemon_from_its_start(tmp_path: Path) -> None:
    """It is replaced, with the mode that lets other programs read the status (R53)."""
    place = tmp_path / "nodenet"
    place.write_bytes(b"a mistake")
    os.close(own_the_node(place))
    assert (place / "lock").exists()
    assert place.stat().st_mode & 0o777 == 0o755


def test_a_second_nodenetd_names_the_first_one_and_exits_with_75(tmp_path: Path) -> None:
    """The first one keeps its lock."""
    first = own_the_node(tmp_path)
    for _ in range(2):
        with pytest.raises(AlreadyRunning) as second:
            own_the_node(tmp_path)
        assert second.value.cause == f"nodenetd runs already, as process {os.getpid()}"
        assert second.value.exit_code == 75
    os.close(first)
    os.close(own_the_node(tmp_path))


OWNER = """
import resource, sys
from pathlib import Path
from nodenet.daemon import own_the_node
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # no byte can be written, as where /run is full
own_the_node(Path(sys.argv[1]))
print("owned", flush=True)
sys.stdin.read()
"""


def test_the_node_is_owned_though_no_byte_can_be_written(tmp_path: Path) -> None:
    """The lock counts and not the number in its file: nodenetd starts where /run is full (R16)."""
    owner = [sys.executable, "-c", OWNER, str(tmp_path)]
    environment = {"PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(owner, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as first:
        assert first.stdout
        assert first.stdout.readline() == "owned\n"
        with pytest.raises(AlreadyRunning):
            own_the_node(tmp_path)
        first.communicate()
    assert first.returncode == 0
