"""nodenetd as a process: its lock, its signals, its beginning and its end."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import os
import signal
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from pathlib import Path, PurePath
from typing import Any

import structlog

from nodenet import __version__
from nodenet.assembly import Assembly
from nodenet.core.boot.outcome import Problem, Topic
from nodenet.core.boot.stage_state import RELOAD
from nodenet.core.boot.stages import Health
from nodenet.core.errors import AlreadyRunning, NodenetError, PublishFailed
from nodenet.core.messages import Message
from nodenet.core.metrics import Program, ProgramMetrics
from nodenet.core.since import backoff
from nodenet.core.status import metrics
from nodenet.core.status.document import BootStatus, document, ended, line
from nodenet.edge.adoption import interrupted
from nodenet.edge.bus.service import InhibitorLocks, Orders, Service
from nodenet.edge.bus.service import watch as watch_bus
from nodenet.edge.clock import Idle, boot_id
from nodenet.edge.files import disk
from nodenet.edge.kernel import netlink
from nodenet.edge.metrics import Metrics
from nodenet.edge.systemd import journal
from nodenet.edge.systemd.notify import Notifier
from nodenet.loop.background import Background, Events, StoreWatch
from nodenet.loop.reconciler import Reconciler
from nodenet.loop.uplink import UplinkWatch
from nodenet.ports import Files

log = structlog.get_logger()

RUN = Path("/run/nodenet")
STATE_FILE = RUN / "state.json"
EX_SOFTWARE = 70
FIRST_LOOK_SECONDS = 1.0
"""How soon after READY systemd is asked whether the unit is active."""
BUS_SECONDS = 2.0
"""How long the first attempt waits for a slow bus; a boot without a bus continues."""


def _rendered(status: dict[str, Any]) -> bytes:
    return json.dumps(status, indent=1).encode() + b"\n"


class StateFile:
    """The status document as a file, for programs that do not use the bus."""

    def __init__(self, path: PurePath, files: Files, rendered: Callable[[dict[str, Any]], bytes] = _rendered) -> None:
        """Write to *path* with *files*; *rendered* makes the content."""
        self._path = path
        self._files = files
        self._rendered = rendered
        self._last: tuple[BootStatus, bytes] | None = None
        """The last status, and its content."""
        self._failures = 0

    def show(self, status: BootStatus) -> float | None:
        """Write the document if it differs; return after how many seconds to try again where /run is full or broken.

        That is logged once. The gate of kubelet reads this file, so it is written again until it is there.
        """
        try:
            self._files.write(self._path, self._content(status))
        except PublishFailed as error:
            self._failures += 1
            if self._failures == 1:
                log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
            return backoff(self._failures, 1.0, 10.0)
        self._failures = 0
        return None

    def _content(self, status: BootStatus) -> bytes:
        if self._last is None or self._last[0] != status:
            self._last = status, self._rendered(document(status))
        return self._last[1]


class ServiceManager:
    """What systemd is sent: the status line, and READY=1 until systemd itself says that the unit is active.

    READY=1 that systemd's queue did not take is lost. It is sent again only for a publication that was confirmed since:
    kubelet starts with the one that arrives.
    """

    def __init__(self, notifier: Notifier, unheard: Callable[[float], None]) -> None:
        """Send through *notifier*; call *unheard* with the seconds after which a lost READY=1 is due again."""
        self._notifier = notifier
        self._unheard = unheard
        self._line = ""
        self._taken = False
        """Whether systemd's queue has taken READY=1."""
        self._lost: float | None = None
        """When the publication was confirmed for the last READY=1 that was lost."""
        self._ready = asyncio.Event()
        self._confirmed = False
        self._repeats = 0

    def show(self, status: BootStatus) -> float | None:
        """Send what changed; return after how many seconds to send it again, None where it has arrived."""
        text = line(status)
        if status.ready and not self._confirmed and (self._taken or status.confirmed != self._lost):
            return self._send_ready(status, text)
        if text == self._line:
            return None
        if not self._notifier.status(text):
            return 1.0
        self._line = text
        return None

    def _send_ready(self, status: BootStatus, text: str) -> float | None:
        self._ready.set()
        self._repeats += 1
        pause = backoff(self._repeats, 1.0, self._notifier.seconds)
        if not self._notifier.ready(text):
            if self._taken:
                return pause
            self._lost = status.confirmed
            self._unheard(pause)
            return None
        self._taken, self._line = True, text
        return pause

    def stopping(self) -> None:
        """Send that the daemon ends."""
        self._notifier.stopping()

    async def confirmed(self, is_active: Callable[[], Awaitable[bool]]) -> None:
        """Return when systemd says that this unit *is_active*, some time after READY was sent: it has received it."""
        await self._ready.wait()
        asked = 1
        await asyncio.sleep(FIRST_LOOK_SECONDS)
        while not await is_active():
            await asyncio.sleep(backoff(asked, FIRST_LOOK_SECONDS, self._notifier.seconds))
            asked += 1
        self._confirmed = True


def own_the_node(run: Path = RUN) -> int:
    """Take the lock that only one nodenetd can have; return its descriptor. Raises AlreadyRunning.

    Only root may open the file: any other user who locked it would keep nodenetd from starting.
    """
    disk.make_directory(run)
    descriptor = os.open(run / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    os.fchmod(descriptor, 0o600)  # an earlier version made it readable by all
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        pid = os.read(descriptor, 20).decode(errors="replace").strip()
        raise AlreadyRunning(f"nodenetd runs already, as process {pid}", remedy="Stop it first") from error
    os.truncate(descriptor, 0)
    with suppress(OSError):  # /run is full: the number is for people, the lock is held without it
        os.write(descriptor, f"{os.getpid()}\n".encode())
    return descriptor


def main() -> int:
    """Run nodenetd until it is asked to stop; return its exit code (sysexits.h)."""
    gc.freeze()  # what was imported stays: the launcher switched collecting off for that time (40 ms)
    gc.enable()
    program = ProgramMetrics(Program.NODENETD, __version__, time.time())
    journal.configure("nodenetd", seen=program.seen)
    try:
        own_the_node()
        idle = Idle()
        with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(idle)) as runner:
            return runner.run(serve(idle, program))
    except NodenetError as error:
        log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        if error.permanent:
            leave_word(error)
        return error.exit_code
    except Exception as error:
        log.exception(f"nodenetd had an unexpected error: {error!r}", message=Message.INTERNAL_ERROR)  # noqa: TRY401  (the line must name it; the traceback is a field)
        return EX_SOFTWARE


def leave_word(error: NodenetError) -> None:
    """Write to the status file and to systemd why nodenetd has ended: the gate refers to them."""
    problem = Problem(error.message, error.cause, f"{error.remedy}; then run `systemctl restart nodenetd`")
    before = None
    with suppress(PublishFailed, ValueError):
        before = json.loads(disk.read(STATE_FILE) or b"null")
    with suppress(PublishFailed):
        disk.write(STATE_FILE, _rendered(ended(before, boot_id(), problem)))
    Notifier().status(f"{Health.FAILED}: {error.cause}")


async def serve(idle: Idle, program: ProgramMetrics) -> int:
    """Build everything and run the loop, which sleeps in *idle*."""
    machine = Assembly(lambda topic: reconciler.wake(topic), idle)  # noqa: PLW0108  (it is made below)
    notifier = Notifier()
    log.info(f"nodenetd {__version__} begins, boot {machine.boot_id[:8]}", message=Message.STARTED)
    if left := interrupted():
        log.warning(left.cause, message=left.message, cause=left.cause, remedy=left.remedy)
    disk.clear_stray()
    reconciler: Reconciler
    inhibitors = InhibitorLocks(lambda lock: reconciler.inhibit(lock), lambda lock: reconciler.release(lock))  # noqa: PLW0108
    orders = Orders(
        reload=lambda who: reconciler.reload(who),  # noqa: PLW0108  (the reconciler is made below)
        prune=lambda who: reconciler.prune(who),  # noqa: PLW0108
        run_stage=lambda name, who: reconciler.rerun(name, who),  # noqa: PLW0108
        reselect=lambda who: reconciler.reselect(who),  # noqa: PLW0108
        remove_bridge=lambda who: reconciler.remove_bridge(who),  # noqa: PLW0108
        inhibit=inhibitors.take,
        explain=machine.explain,
        try_file=lambda order: reconciler.try_file(order),  # noqa: PLW0108
        confirm=lambda digest: reconciler.confirm(digest),  # noqa: PLW0108
        roll_back=lambda digest: reconciler.roll_back(digest),  # noqa: PLW0108
        history=machine.history,
        to_entry=machine.to_entry,
    )
    service = Service(machine.bus, orders, lambda: reconciler.status)
    manager = ServiceManager(notifier, lambda seconds: reconciler.doubts.unheard(seconds))  # noqa: PLW0108
    uplink = UplinkWatch(machine.uplink_edges, lambda *found: reconciler.report_uplink(*found))  # noqa: PLW0108
    store = StoreWatch(machine.edges.store, lambda problem: reconciler.report_records(problem))  # noqa: PLW0108
    figures: Metrics[BootStatus] = Metrics(machine.metrics_file, program, lambda each: metrics.lines(document(each)))
    own = (machine.forwarding, StateFile(STATE_FILE, disk), manager, service, uplink, machine.known_good)
    watches = (*own, store, figures)  # the store behind those that save records
    reconciler = Reconciler(machine.inputs, watches, notifier, machine.clock, machine.boot_id)
    try:
        code = await _run(machine, reconciler, manager, uplink)
        machine.known_good.ended()
    finally:
        figures.end()
    return code


async def _run(machine: Assembly, reconciler: Reconciler, manager: ServiceManager, uplink: UplinkWatch) -> int:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, reconciler.stop)
    background = Background()
    loop.add_signal_handler(signal.SIGHUP, lambda: background.start("a reload", lambda: _reload(reconciler)))
    background.start("the connection to the bus", machine.bus.run, lambda: reconciler.wake(Topic.BUS))
    background.start("the look at the bus", lambda: watch_bus(machine.bus, machine.bus_answers))
    background.start("the confirmation of READY", lambda: manager.confirmed(machine.is_active))
    background.start("the watch of the uplink", uplink.run)
    if machine.has_node_files():
        machine.nmstate.warm()
    for topic, watch in ((Topic.KERNEL, netlink.watch), (Topic.OVS, machine.ovsdb.watch)):
        reconciler.listen_while_waiting(
            topic, Events(background, f"the watch of {topic}", watch, partial(reconciler.wake, topic))
        )
    try:
        await machine.bus.wait_up(BUS_SECONDS)
        await reconciler.run()
    finally:
        manager.stopping()
        machine.stopping = True
        await background.end()
        await machine.nmstate.close()
    log.info("nodenetd stops; the network stays as it is", message=Message.STOPPED)
    return 0


async def _reload(reconciler: Reconciler) -> None:
    with suppress(NodenetError):  # there is no caller, and the loop has logged it
        await reconciler.reload(f"{RELOAD} (SIGHUP)")


if __name__ == "__main__":
    sys.exit(main())
