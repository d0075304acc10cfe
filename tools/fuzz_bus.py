"""Attack nodenetd's part on the bus with messages made by chance. Run as root from the top of the tree.

    PYTHONPATH=daemon:tests:tools python tools/fuzz_bus.py --messages 1000000 [--seconds 30] [--seed 7]

Strangers without privileges send all types of messages, wrong headers and signatures, file descriptors, bodies up to
the bus's limit, forged signals and unasked replies; half of them never read. It runs on dbus-daemon and on dbus-broker,
with the bus policy as shipped and with one that lets everybody do everything. Meanwhile root asks for reloads.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from edge.lag import LIMIT_SECONDS
from edge.private_bus import AS_SHIPPED, OPEN, PrivateBus, fetch_broker
from nodenet.cli.ask import carried
from nodenet.core.errors import Unavailable
from nodenet.core.status.bus_interfaces import MANAGER, NAME, PATH
from nodenet.edge.bus.connection import Bus, Refused

TESTS = Path(__file__).parents[1] / "tests"
MOST_MEGABYTES = 64.0
MOST_LINES = 20
STRANGERS = 2
ANSWER_SECONDS = 60.0
"""How long any answer may take: the bus itself has much to do."""
Pipe = TypeVar("Pipe")


@dataclass(frozen=True, slots=True)
class Result:
    """What one attack showed."""

    name: str
    messages: int
    seconds: float
    reloads: int
    report: dict[str, Any]
    unanswered: str = ""
    """Why a reload was not answered; empty when all were."""

    @property
    def faults(self) -> list[str]:
        """Return what must not be."""
        report = self.report
        checks = {
            f"the loop was silent for {report['lag']:.2f} s": report["lag"] > LIMIT_SECONDS,
            f"{report['most_megabytes']:.0f} MB of memory": report["most_megabytes"] > MOST_MEGABYTES,
            f"{report['lines']} lines in the journal: {report['first_lines']}": report["lines"] > MOST_LINES,
            "the bus name was lost": not report["owns_name"],
            f"the connection ended {report['connections'] - 1} times": report["connections"] != 1,
            f"after {self.reloads} reloads one was not answered: {self.unanswered}": bool(self.unanswered),
        }
        return [f"{self.name}: {text}" for text, wrong in checks.items() if wrong]


class Strangers:
    """The processes of the strangers."""

    def __init__(self) -> None:
        """Begin with none."""
        self._sent: dict[int, int] = {}
        self._came = asyncio.Event()

    @property
    def sent(self) -> int:
        """How many messages they have sent."""
        return sum(self._sent.values())

    async def begun(self) -> None:
        """Wait for the first message."""
        async with asyncio.timeout(ANSWER_SECONDS):
            await self._came.wait()

    @contextlib.asynccontextmanager
    async def sending(self, bus: PrivateBus, seed: int) -> AsyncIterator[None]:
        """Have them send while the body runs."""
        program = [sys.executable, str(TESTS / "edge" / "random_stranger.py"), str(bus.path)]
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
        processes = [
            await asyncio.create_subprocess_exec(*program, str(seed + i), stdout=subprocess.PIPE, env=environment)
            for i in range(STRANGERS)
        ]
        reading = [asyncio.create_task(self._count(process)) for process in processes]
        try:
            yield
        finally:
            for process in processes:
                process.kill()
            await asyncio.gather(*reading)
            for process in processes:
                await process.wait()

    async def _count(self, process: asyncio.subprocess.Process) -> None:
        async for line in _there(process.stdout):
            self._sent[process.pid] = int(line)
            self._came.set()


@contextlib.asynccontextmanager
async def door(bus: PrivateBus) -> AsyncIterator[asyncio.subprocess.Process]:
    """Run nodenetd's part."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "DBUS_SYSTEM_BUS_ADDRESS": bus.address}
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        sys.executable, str(TESTS / "edge" / "door_program.py"), stdin=pipe, stdout=pipe, env=environment
    )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.kill()
        await process.communicate()


async def report(process: asyncio.subprocess.Process) -> dict[str, Any]:
    """Ask for a report."""
    _there(process.stdin).write(b"\n")
    async with asyncio.timeout(ANSWER_SECONDS):
        found: dict[str, Any] = json.loads(await _there(process.stdout).readline())
    return found


def _there(pipe: Pipe | None) -> Pipe:
    """Return a pipe that was asked for."""
    if pipe is None:
        raise TypeError("the process has no such pipe")
    return pipe


async def attack(name: str, bus: PrivateBus, *, messages: int, seconds: float, seed: int) -> Result:
    """Attack until so many *messages* were sent, or for so many *seconds*; return what that showed."""
    reloads, unanswered = 0, ""
    strangers = Strangers()
    async with door(bus) as process:
        await report(process)
        async with strangers.sending(bus, seed):
            await strangers.begun()
            began = time.monotonic()
            while (strangers.sent < messages) if messages else (time.monotonic() - began < seconds):
                unanswered = await _reload(bus)
                if unanswered:
                    break
                reloads += 1
        return Result(name, strangers.sent, time.monotonic() - began, reloads, await report(process), unanswered)


async def _reload(bus: PrivateBus) -> str:
    """Ask for a reload as root does; return why it was not answered, if so."""
    root = Bus(address=bus.address, changed=lambda _: None)
    try:
        async with carried(root), asyncio.timeout(ANSWER_SECONDS):
            await root.wait_up(ANSWER_SECONDS)
            while await _refused(root):  # noqa: ASYNC110  (the bus does not report room)
                await asyncio.sleep(0.05)
    except (TimeoutError, Unavailable, Refused) as error:
        return repr(error)
    return ""


async def _refused(root: Bus) -> bool:
    """Call Reload; return whether dbus-daemon did not pass it on, since 120 MiB are on their way to nodenetd."""
    try:
        await root.call(NAME, PATH, MANAGER.name, "Reload", seconds=ANSWER_SECONDS)
    except Refused as refusal:
        if not refusal.name.endswith(".LimitsExceeded"):
            raise
        return True
    return False


def fuzz(*, messages: int, seconds: float, seed: int, broker: Path | None) -> list[Result]:
    """Attack on both buses with both policies; *messages* or *seconds* for all four together."""
    results = []
    for kind in ("dbus-daemon", "dbus-broker"):
        for policy, rules in (("as shipped", AS_SHIPPED), ("everything allowed", OPEN)):
            directory = Path(tempfile.mkdtemp(prefix="nodenet-fuzz-"))
            directory.chmod(0o755)
            bus = PrivateBus(directory, rules, broker if kind == "dbus-broker" else None)
            bus.start()
            try:
                name = f"{kind}, {policy}"
                work = attack(name, bus, messages=messages // 4, seconds=seconds / 4, seed=seed)
                results.append(asyncio.run(work))
            finally:
                bus.kill()
                shutil.rmtree(directory)
    return results


def main() -> int:
    """Attack and print what that showed; return 1 for a fault."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=0, help="stop after so many messages in all")
    parser.add_argument("--seconds", type=float, default=30.0, help="without --messages: stop after so many seconds")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        broker = fetch_broker(Path(name))
        results = fuzz(messages=arguments.messages, seconds=arguments.seconds, seed=arguments.seed, broker=broker)
    for result in results:
        found = result.report
        sys.stdout.write(
            f"{result.name}: {result.messages} messages in {result.seconds:.0f} s, {result.reloads} reloads; "
            f"lag {found['lag']:.3f} s, {found['most_megabytes']:.0f} MB, {found['lines']} journal lines\n"
        )
    faults = [fault for result in results for fault in result.faults]
    sys.stdout.write("".join(f"{fault}\n" for fault in faults) or "no faults\n")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
