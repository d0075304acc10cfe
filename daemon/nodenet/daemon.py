"""nodenetd as a process: its lock, its signals, its beginning and its end."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import structlog

from nodenet import __version__
from nodenet.assembly import Assembly
from nodenet.core.boot.outcome import Problem, Topic
from nodenet.core.boot.stages import Health
from nodenet.core.errors import AlreadyRunning, NodenetError, PublishFailed
from nodenet.core.messages import Message
from nodenet.core.status.document import BootStatus, document, ended, line
from nodenet.edge.bus import watch as bus_watch
from nodenet.edge.bus.inhibitors import InhibitorLocks
from nodenet.edge.bus.service import Orders, Service
from nodenet.edge.clock import Idle, boot_id
from nodenet.edge.files import disk as files
from nodenet.edge.kernel import netlink
from nodenet.edge.systemd import journal
from nodenet.edge.systemd.notify import Notifier
from nodenet.loop.reconciler import Reconciler
from nodenet.loop.uplink import UplinkWatch

log = structlog.get_logger()

RUN = Path("/run/nodenet")
STATE_FILE = RUN / "state.json"
EX_SOFTWARE = 70
BUS_SECONDS = 2.0
"""How long the first attempt waits for a bus that is there but slow; a boot without a bus goes on."""


def _rendered(status: dict[str, Any]) -> bytes:
    return json.dumps(status, indent=1).encode() + b"\n"


class StateFile:
    """The status document as a file, for everybody who cannot or will not use the bus."""

    def __init__(self, path: PurePath) -> None:
        """Write to *path*."""
        self._path = path
        self._told = False

    def show(self, status: BootStatus) -> None:
        """Write the document if it differs; a full or broken /run is told once."""
        try:
            files.write(self._path, _rendered(document(status)))
            self._told = False
        except PublishFailed as error:
            if not self._told:
                log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
            self._told = True


class ServiceManager:
    """What systemd is told: the status line, and READY=1 once."""

    def __init__(self, notifier: Notifier) -> None:
        """Tell it through *notifier*."""
        self._notifier = notifier
        self._line = ""
        self._ready = False

    def show(self, status: BootStatus) -> None:
        """Tell what changed."""
        text = line(status)
        if status.ready and not self._ready:
            self._ready = True
            self._notifier.ready(text)
        elif text != self._line:
            self._notifier.status(text)
        self._line = text


def own_the_node() -> int:
    """Take the lock that only one nodenetd can have; return its descriptor. Raises AlreadyRunning.

    Only root may open the file: any other user who locked it would keep nodenetd from starting.
    """
    RUN.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(RUN / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)  # an earlier version made it readable by all
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        pid = os.read(descriptor, 20).decode(errors="replace").strip()
        raise AlreadyRunning(f"nodenetd runs already, as process {pid}", remedy="Stop it first") from error
    os.truncate(descriptor, 0)
    os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def main() -> int:
    """Run nodenetd until it is told to stop; return its exit code (sysexits.h)."""
    gc.freeze()  # what was imported stays: the launcher switched collecting off for that time (40 ms)
    gc.enable()
    journal.configure("nodenetd")
    try:
        own_the_node()
        idle = Idle()
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(idle)) as runner:
            return runner.run(serve(idle))
    except NodenetError as error:
        log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        if error.permanent:
            leave_word(error)
        return error.exit_code
    except Exception as error:
        log.exception(f"nodenetd met an error it has no name for: {error!r}", message=Message.INTERNAL_ERROR)  # noqa: TRY401  (the line must name it; the traceback is a field)
        return EX_SOFTWARE


def leave_word(error: NodenetError) -> None:
    """Tell status file and systemd why nobody is there any more: it is where the gate sends who waits."""
    problem = Problem(error.message, error.cause, f"{error.remedy}; then run `systemctl restart nodenetd`")
    before = None
    with suppress(PublishFailed, ValueError):
        before = json.loads(files.read(STATE_FILE) or b"null")
    with suppress(PublishFailed):
        files.write(STATE_FILE, _rendered(ended(before, boot_id(), problem)))
    Notifier().status(f"{Health.FAILED}: {error.cause}")


async def serve(idle: Idle) -> int:
    """Build everything and run the loop, which sleeps in *idle*."""
    machine = Assembly(lambda topic: reconciler.wake(topic), idle)  # noqa: PLW0108  (it is made below)
    notifier = Notifier()
    log.info(f"nodenetd {__version__} begins, boot {machine.boot_id[:8]}", message=Message.STARTED)
    files.clear_stray()
    reconciler: Reconciler
    inhibitors = InhibitorLocks(lambda lock: reconciler.inhibit(lock), lambda lock: reconciler.release(lock))  # noqa: PLW0108
    service = Service(
        machine.bus,
        Orders(
            reload=lambda: reconciler.reload(),  # noqa: PLW0108  (the reconciler is made below)
            run_stage=lambda name: reconciler.rerun(name),  # noqa: PLW0108
            reselect=lambda: reconciler.reselect(),  # noqa: PLW0108
            remove_bridge=lambda: reconciler.remove_bridge(),  # noqa: PLW0108
            inhibit=inhibitors.take,
            explain=machine.explain,
        ),
        lambda: reconciler.status,
    )
    uplink = UplinkWatch(machine.uplink_edges, lambda problem: reconciler.report_uplink(problem))  # noqa: PLW0108
    watches = (machine.forwarding, StateFile(STATE_FILE), ServiceManager(notifier), service, uplink)
    reconciler = Reconciler(machine, watches, notifier, machine.clock, machine.boot_id)
    return await _run(machine, reconciler, notifier, uplink)


async def _run(machine: Assembly, reconciler: Reconciler, notifier: Notifier, uplink: UplinkWatch) -> int:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, reconciler.stop)
    background = Background()
    loop.add_signal_handler(signal.SIGHUP, lambda: background.start(_reload(reconciler)))
    background.start(machine.bus.run())
    background.start(bus_watch.watch(machine.bus, machine.bus_answers))
    background.start(uplink.run())
    if machine.has_node_files():
        machine.nmstate.warm()
    for topic, watch in ((Topic.KERNEL, netlink.watch), (Topic.OVS, machine.ovsdb.watch)):
        reconciler.listen_while_waiting(topic, Events(background, watch, partial(reconciler.wake, topic)))
    try:
        await machine.bus.wait_up(BUS_SECONDS)
        await reconciler.run()
    finally:
        notifier.stopping()
        machine.stopping = True
        await background.end()
        await machine.nmstate.close()
    log.info("nodenetd stops; the network stays as it is", message=Message.STOPPED)
    return 0


async def _reload(reconciler: Reconciler) -> None:
    with suppress(NodenetError):  # nobody waits for the answer, and the loop has told it in journal and status
        await reconciler.reload()


class Background:
    """What runs beside the loop and only wakes it: a task that dies is told, and the boot goes on without it."""

    def __init__(self) -> None:
        """Start with nothing."""
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, work: Coroutine[None, None, None]) -> asyncio.Task[None]:
        """Run *work* until the end."""
        task = asyncio.ensure_future(work)
        task.add_done_callback(self._ended)
        self._tasks.append(task)
        return task

    async def end(self) -> None:
        """Cancel everything and wait for it."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _ended(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()):
            log.error(f"A watcher of nodenetd died: {error!r}", message=Message.INTERNAL_ERROR)


class Events:
    """The word of something outside that it changed."""

    def __init__(
        self,
        background: Background,
        watch: Callable[[Callable[[], None]], Coroutine[None, None, None]],
        changed: Callable[[], None],
    ) -> None:
        """*watch* tells *changed* until it is cancelled."""
        self._background = background
        self._watch = watch
        self._changed = changed
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Listen, if nobody does yet."""
        if self._task is None or self._task.done():
            self._task = self._background.start(self._watch(self._changed))

    def stop(self) -> None:
        """Listen no longer."""
        if self._task is not None:
            self._task.cancel()
            self._task = None


if __name__ == "__main__":
    sys.exit(main())
