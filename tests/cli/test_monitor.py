"""`nodenetctl monitor` as a program, with a bus of the test's own that comes and goes."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import signal
import sys
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from edge.bus.test_connection import client
from edge.private_bus import PrivateBus, private_bus
from nodenet.core.boot.outcome import Waiting
from nodenet.core.boot.stages import new_boot
from nodenet.core.stage_name import StageName
from nodenet.core.status.bus_interfaces import MANAGER, PATH
from nodenet.core.status.document import BootStatus, document
from nodenet.core.trial.trial import TrialOrder
from nodenet.edge.bus.connection import Bus, Message
from nodenet.edge.bus.service import Orders, Service

__all__ = ["private_bus"]
PROGRAM = """
import signal, sys
from nodenet.cli.main import main
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job, such as this test run, ignores it
sys.exit(main(sys.argv[1:]))
"""
START = BootStatus(new_boot({}, degrade=True), boot_id="b")
PRESENT = len(StageName) + 2
"""Lines of the present state: stages, health, readiness."""


class Monitor:
    """The running program."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def line(self) -> str:
        assert self.process.stdout
        async with asyncio.timeout(20):
            return (await self.process.stdout.readline()).decode().rstrip()

    async def until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """Return the first event that is wanted."""
        while True:
            line = await self.line()
            assert line, "the program has ended"
            event: dict[str, Any] = json.loads(line)
            if wanted(event):
                return event

    async def end(self) -> tuple[int, str]:
        assert self.process.stderr
        async with asyncio.timeout(20):
            said = (await self.process.stderr.read()).decode()
            return await self.process.wait(), said


@contextlib.asynccontextmanager
async def monitor(address: str, state: Path, *words: str) -> AsyncIterator[Monitor]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "DBUS_SYSTEM_BUS_ADDRESS": address}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, "monitor", "--file", str(state), *words),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    try:
        yield Monitor(process)
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


def show(state: Path, status: BootStatus) -> None:
    fresh = state.with_suffix(".new")
    fresh.write_text(json.dumps(document(status)))
    fresh.rename(state)


def waiting(reason: str) -> BootStatus:
    boot = START.boot.begun(StageName.HOSTNAME, 1.0).after(StageName.HOSTNAME, Waiting(reason), 2.0)
    return replace(START, boot=boot)


async def keep_changing(service: Service, detail: str = "a name by the bus") -> None:
    """Change something again and again: when the program has subscribed cannot be seen from outside."""
    for number in count():
        service.show(waiting(f"{detail}, {number}"))
        await asyncio.sleep(0.2)


async def nothing(_: str = "") -> None:
    """Carry out no order."""


async def confirm_nothing(_: str) -> None:
    """Confirm no trial."""


async def try_nothing(_: TrialOrder) -> None:
    """Try no file."""


ORDERS = Orders(
    reload=nothing,
    prune=nothing,
    reselect=nothing,
    remove_bridge=nothing,
    run_stage=lambda *_: None,
    inhibit=lambda *_: 0,
    explain=lambda topic: topic,
    try_file=try_nothing,
    confirm=confirm_nothing,
    roll_back=confirm_nothing,
    history=lambda: "",
    to_entry=lambda *_: TrialOrder("", "", 0.0, ""),
)


@contextlib.asynccontextmanager
async def serving(private_bus: PrivateBus, state: Path) -> AsyncIterator[Service]:
    """Give a daemon's service on the bus that shows the start of a boot, as its state file does."""
    show(state, START)
    bus = Bus(address=private_bus.address, changed=lambda _: None)
    service = Service(bus, ORDERS, lambda: START)
    service.show(START)
    running = asyncio.create_task(bus.run())
    try:
        assert await bus.wait_up(5)
        yield service
    finally:
        running.cancel()
        await asyncio.wait({running})


async def test_steps_come_from_the_bus_and_from_the_file_while_it_is_away(
    private_bus: PrivateBus, tmp_path: Path
) -> None:
    """First the present state, then each change; a bus that goes away or comes back is an event too."""
    state = tmp_path / "state.json"
    async with serving(private_bus, state) as service, monitor(private_bus.address, state, "--json") as watcher:
        present = [json.loads(await watcher.line()) for _ in range(PRESENT)]
        assert {event["time"] for event in present} == {None}
        assert [event["subject"] for event in present[: len(StageName)]] == [name.value for name in StageName]
        changing = asyncio.create_task(keep_changing(service))
        await watcher.until(lambda event: "by the bus" in event["detail"])
        changing.cancel()
        private_bus.kill()
        assert (await watcher.until(lambda event: event["kind"] == "bus"))["status"] == "away"
        show(state, waiting("a name by the file"))
        await watcher.until(lambda event: event["detail"] == "a name by the file")
        private_bus.start()
        await watcher.until(lambda event: (event["subject"], event["status"]) == ("bus", "back"))


async def test_only_the_daemon_is_believed_and_its_text_cannot_steer_a_terminal(
    private_bus: PrivateBus, tmp_path: Path
) -> None:
    """A stranger sends signals to every connection there is (R40)."""
    state = tmp_path / "state.json"
    async with (
        serving(private_bus, state) as service,
        client(private_bus.address) as stranger,
        monitor(private_bus.address, state) as watcher,
    ):
        for _ in range(PRESENT):
            await watcher.line()
        shown = asyncio.create_task(keep_changing(service, "\x1b]0;title\x07 real"))
        lines: list[str] = []
        while not any(" real, 9" in line for line in lines):
            for number in range(20):
                body = ["hostname", "done", "false word", 1, 1]
                forged = Message.new_signal(PATH, MANAGER.name, "StageChanged", "ssstt", body)
                forged.destination = f":1.{number}"
                await stranger.send(forged)
            lines.append(await watcher.line())
        shown.cancel()
        assert not any("false word" in line for line in lines)
        assert any(line.endswith("?]0;title? real, 9") for line in lines)


async def test_it_needs_neither_a_bus_nor_a_daemon(tmp_path: Path) -> None:
    """It says what is missing, and goes on when it comes."""
    state = tmp_path / "state.json"
    async with monitor(f"unix:path={tmp_path}/none", state) as watcher:
        assert (await watcher.line()).startswith("now          node              unknown     nodenetd has not reported")
        assert "away" in (away := await watcher.line())
        assert away[2] == ":", "that happens now, and has a time"
        show(state, waiting("a name"))
        lines = [await watcher.line() for _ in range(PRESENT)]
        assert any("hostname" in line and "waiting" in line and "a name" in line for line in lines)


async def test_an_interrupt_ends_it_without_a_word(tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    show(state, START)
    async with monitor(f"unix:path={tmp_path}/none", state) as watcher:
        for _ in range(PRESENT):
            await watcher.line()
        watcher.process.send_signal(signal.SIGINT)
        assert await watcher.end() == (130, "")


@pytest.mark.parametrize("lines", [0, 1])
async def test_a_reader_that_leaves_ends_it(tmp_path: Path, lines: int) -> None:
    """At once, not with the next event: nothing may happen for hours."""
    state = tmp_path / "state.json"
    show(state, START)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    environment["DBUS_SYSTEM_BUS_ADDRESS"] = f"unix:path={tmp_path}/none"
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, "monitor", "--file", str(state)),
        stdout=writing,
        stderr=asyncio.subprocess.PIPE,
        env=environment,
    )
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        for _ in range(lines * (PRESENT + 1)):
            await asyncio.to_thread(pipe.readline)
    assert await Monitor(process).end() == (0, "")


async def test_nothing_that_controls_a_terminal_is_printed(tmp_path: Path) -> None:
    """A reason can contain what another program wrote (R40)."""
    state = tmp_path / "state.json"
    show(state, waiting("\x1b[2J\x1b]0;owned\x07 a name"))
    async with monitor(f"unix:path={tmp_path}/none", state) as watcher:
        line = await watcher.line()
        assert line.split(maxsplit=2)[1:] == ["hostname", "waiting     ?[2J?]0;owned? a name"]


async def test_a_daemon_that_has_ended_is_reported(tmp_path: Path) -> None:
    """Its lock is free: failed, not ready, and why (R56)."""
    state = tmp_path / "state.json"
    show(state, replace(START, ready=True))
    with (tmp_path / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        async with monitor(f"unix:path={tmp_path}/none", state, "--json") as watcher:
            await watcher.until(lambda event: (event["kind"], event["status"]) == ("ready", "ready"))
            fcntl.flock(lock, fcntl.LOCK_UN)
            problem = await watcher.until(lambda event: event["kind"] == "problem")
            assert problem["detail"] == (
                "nodenetd is not running, so nothing of this may be true any more. See `systemctl status nodenetd`"
            )
            await watcher.until(lambda event: (event["kind"], event["status"]) == ("health", "failed"))
            await watcher.until(lambda event: (event["kind"], event["status"]) == ("ready", "not ready"))
