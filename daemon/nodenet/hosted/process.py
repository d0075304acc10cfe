"""nodenet-hosted as a process: its settings, its signals, its beginning and its end."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any

import structlog

from nodenet import __version__
from nodenet.core.errors import NodenetError
from nodenet.core.hosted_services import bus, metrics
from nodenet.core.hosted_services.duties import why_disabled
from nodenet.core.hosted_services.paths import COMPANION_NAME
from nodenet.core.hosted_services.report import explain
from nodenet.core.messages import Message
from nodenet.core.metrics.program import Program, ProgramMetrics
from nodenet.core.settings.parse import parse
from nodenet.edge.bus.connection import Bus
from nodenet.edge.bus.objects import BusObjects
from nodenet.edge.clock import boot_id
from nodenet.edge.files import settings as settings_files
from nodenet.edge.metrics.file import STATE, Metrics, MetricsFile
from nodenet.edge.systemd import journal
from nodenet.edge.systemd.notify import Notifier, report_ready
from nodenet.hosted.companion import Companion
from nodenet.loop.background import Background

# How does nodenet-hosted answer on the bus? Questions from all users, orders from root (``edge.bus.objects``).

Document = Mapping[str, Any]


class BusObject(BusObjects):
    """The object /org/nodenet1/hosted."""

    def __init__(
        self,
        connection: Bus,
        document: Callable[[], Document],
        drain: Callable[[], Awaitable[bool]],
        undrain: Callable[[], None],
    ) -> None:
        """*document* is asked whenever a property is read."""
        super().__init__(connection, COMPANION_NAME, bus.OBJECTS)
        self._document_now = document
        self._drain = drain
        self._undrain = undrain
        self._shown: Document | None = None

    def show(self, document: Document) -> None:
        """Emit what changed since the last call."""
        before, self._shown = self._shown, document
        if before is None:
            return
        self.emit_properties(bus.PATH, bus.values(before), bus.values(document))
        for body in bus.signals(before, document):
            self.emit(bus.PATH, bus.HOSTED, "VipChanged", body)

    def values(self, path: str) -> dict[str, Any]:  # noqa: ARG002  (there is one object)
        """Return the value of each property."""
        return bus.values(self._document_now())

    def document(self, member: str, arguments: list[str]) -> str | None:
        """Return the document that a question asks for, None for arguments that it does not take."""
        match member, arguments:
            case "GetStatus", []:
                return json.dumps(self._document_now())
            case "Explain", [topic] if (lines := explain(topic, self._document_now())) is not None:
                return "\n".join(lines)
        return None

    async def obey(self, member: str, arguments: list[str]) -> bool | None:
        """Do what an order asks for; return whether another node holds the VIPs of a drained one."""
        if (member, arguments) == ("Drain", []):
            return await self._drain()
        self._undrain()
        return None


log = structlog.get_logger()

EX_SOFTWARE = 70
LONGEST_FIRST_SECONDS = 30.0
"""READY comes at the latest then, with whatever is decided: nodenetd's stage waits for it."""


def main() -> int:
    """Run nodenet-hosted until it is asked to stop; return its exit code (sysexits.h)."""
    gc.freeze()
    gc.enable()
    program = ProgramMetrics(Program.HOSTED, __version__, time.time())
    journal.configure("nodenet-hosted", seen=program.seen)
    try:
        with asyncio.Runner(loop_factory=asyncio.SelectorEventLoop) as runner:
            return runner.run(serve(program))
    except NodenetError as error:
        log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        return error.exit_code
    except Exception as error:
        log.exception(f"nodenet-hosted had an unexpected error: {error!r}", message=Message.INTERNAL_ERROR)  # noqa: TRY401
        return EX_SOFTWARE


async def serve(program: ProgramMetrics) -> int:
    """Build everything and run it. Raises SettingsInvalid."""
    settings = parse(settings_files.read()).settings
    notifier = Notifier()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    companion = Companion(settings, boot_id())
    log.info(f"nodenet-hosted {__version__} begins as node {companion.state.node}", message=Message.HOSTED_STARTED)
    if reason := why_disabled(companion.state.options):
        log.info(f"No hosted service runs here: {reason}", message=Message.HOSTED_STARTED)
    on_bus = BusObject(companion.bus, lambda: companion.document, companion.drain.drain, companion.drain.undo)
    file = MetricsFile(Program.HOSTED, directory=settings.metrics_dir, state=STATE / "hosted")
    figures = Metrics(file, program, metrics.lines)
    companion.shown += [on_bus.show, figures.show]
    background = Background()
    await companion.start(background)
    background.start("the watchdog", lambda: _beat(notifier))
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(LONGEST_FIRST_SECONDS):
                await _either(companion.ready, stop)
        companion.shown.append(lambda document: notifier.status(_line(document)))
        background.start("READY", lambda: report_ready(notifier, lambda: _line(companion.document)))
        await stop.wait()
        notifier.stopping()
        if await companion.is_shutting_down() and not companion.state.drained:
            await companion.drain.drain()
    finally:
        notifier.stopping()
        await background.end()
        figures.end()
    log.info("nodenet-hosted stops; DNS, VIPs and load balancer go on", message=Message.HOSTED_STOPPED)
    return 0


async def _either(*events: asyncio.Event) -> None:
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


async def _beat(notifier: Notifier) -> None:
    while True:
        notifier.beat(starting=False)
        await asyncio.sleep(notifier.seconds)


def _line(document: dict[str, object]) -> str:
    return f"{document['health']}: {document['mode']}, {document['phase']}"


if __name__ == "__main__":
    sys.exit(main())
