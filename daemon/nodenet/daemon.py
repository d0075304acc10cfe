"""nodenetd, put together: the only place where edges and stages meet."""

from __future__ import annotations

import asyncio
import fcntl
import gc
import json
import os
import signal
import sys
from collections.abc import Callable, Coroutine
from pathlib import Path, PurePath

import structlog

from nodenet import __version__, ports
from nodenet.core import settings as core_settings
from nodenet.core.boot import StageName, Topic, new_boot
from nodenet.core.errors import AlreadyRunning, NodenetError, PublishFailed, UsageInvalid
from nodenet.core.explanation import explanation
from nodenet.core.messages import Message
from nodenet.core.node_file import EXTENSIONS
from nodenet.core.settings import OnFailure, Settings
from nodenet.core.snapshot import IPAddress, Snapshot
from nodenet.core.status import Standing, document, line
from nodenet.core.wishes import HINT_FILE, wishes
from nodenet.edge import files, journal, netlink, settings_files
from nodenet.edge.bus import Bus
from nodenet.edge.bus_service import NAME, Orders, Service
from nodenet.edge.clock import Clock, boot_id
from nodenet.edge.hostnamed import Hostnamed
from nodenet.edge.network_manager import NetworkManager
from nodenet.edge.nmstate import Nmstate
from nodenet.edge.notify import Notifier
from nodenet.edge.ovsdb import Ovsdb
from nodenet.edge.systemd import Systemd
from nodenet.reconciler import Plant, Reconciler
from nodenet.stages.hostname import HostnameStage
from nodenet.stages.nmstate import NmstateStage
from nodenet.stages.nodeip import NodeipStage
from nodenet.stages.pipeline import Outside, Pipeline

log = structlog.get_logger()

RUN = Path("/run/nodenet")
STATE_FILE = RUN / "state.json"
BUNDLED = Path("/usr/lib/nodenet/bundled")
EX_SOFTWARE = 70
BUS_SECONDS = 2.0
"""How long the first attempt waits for a bus that is there but slow; a boot without a bus goes on."""
ATTEMPT_MARGIN_SECONDS = 300.0


class StateFile:
    """The status document as a file, for everybody who cannot or will not use the bus."""

    def __init__(self, path: PurePath) -> None:
        """Write to *path*."""
        self._path = path
        self._told = False

    def show(self, standing: Standing) -> None:
        """Write the document if it differs; a full or broken /run is told once."""
        try:
            files.write(self._path, json.dumps(document(standing), indent=1).encode() + b"\n")
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

    def show(self, standing: Standing) -> None:
        """Tell what changed."""
        text = line(standing)
        if standing.ready and not self._ready:
            self._ready = True
            self._notifier.ready(text)
        elif text != self._line:
            self._notifier.status(text)
        self._line = text


class Kernel:
    """The kernel, as the stages see it."""

    def snapshot(self) -> Snapshot:
        """Return links, addresses and the routes that can matter."""
        return netlink.read_snapshot()

    def can_bind(self, address: IPAddress, link_index: int) -> bool:
        """Tell whether a server could listen on *address*."""
        return netlink.can_bind(address, link_index)


class Machine:
    """Every edge of the daemon, built once."""

    def __init__(self, wake: Callable[[Topic], None]) -> None:
        """*wake* is told what changed."""
        self._wake = wake
        self._bus_was_lost = False
        self.bus = Bus(changed=self._bus_changed)
        self.manager = NetworkManager(self.bus, lambda: wake(Topic.NETWORK_MANAGER))
        self.host = Hostnamed(self.bus, lambda: wake(Topic.HOSTNAME))
        self.systemd = Systemd(self.bus)
        self.nmstate = Nmstate((str(BUNDLED),))
        self.ovsdb = Ovsdb()
        self.clock = Clock()
        self.boot_id = boot_id()
        self.nodeip: NodeipStage | None = None
        self._node_files: PurePath = PurePath(Settings().node_file_dir)

    def _bus_changed(self, up: bool) -> None:  # noqa: FBT001  (a callback's only argument)
        if not up:
            log.warning("The system bus went away; the boot goes on without it", message=Message.BUS_LOST)
        elif self._bus_was_lost:
            log.info("The system bus is back", message=Message.BUS_BACK)
        if up and not self.bus.owns_name:
            log.warning(f"The bus name {NAME} is not ours: no program can call nodenetd", message=Message.BUS_NAMELESS)
        self._bus_was_lost = not up
        self._wake(Topic.BUS)

    def has_node_files(self) -> bool:
        """Tell whether libnmstate will be needed."""
        return any(name.endswith(EXTENSIONS) for name in files.listing(self._node_files))

    def explain(self, topic: str) -> str:
        """Return the document that explains *topic*. Raises UsageInvalid."""
        if topic not in ("node-ip", "reselect") or self.nodeip is None:
            raise UsageInvalid(f"nothing is known about {topic!r}", remedy="Topics are: node-ip, reselect")
        return json.dumps(explanation(self.nodeip.explain(anew=topic == "reselect")))

    def plant(self, settings: Settings) -> Plant:
        """Return the stages that *settings* ask for."""
        directory = self._node_files = PurePath(settings.node_file_dir)
        outside = Outside(files, self.manager, self.nmstate, self.ovsdb, self.clock)
        pipeline = Pipeline(outside, self.boot_id, float(settings.apply_timeout))
        nodeip = self.nodeip = NodeipStage(
            Kernel(),
            files,
            self.systemd,
            self.clock,
            lambda: wishes(settings, files.read(PurePath(HINT_FILE))),
            self.boot_id,
        )
        stages: dict[StageName, ports.Stage] = {
            StageName.HOSTNAME: HostnameStage(self.host, files, directory),
            StageName.NMSTATE: NmstateStage(files, self.nmstate, pipeline, self.boot_id, directory),
            StageName.NODEIP: nodeip,
        }
        return Plant(
            new_boot(dict(settings.stages), degrade=settings.on_failure is OnFailure.DEGRADE),
            stages,
            settings.network_type,
            settings.apply_timeout + ATTEMPT_MARGIN_SECONDS,
            nodeip.drift,
        )


def read_settings() -> Settings:
    """Return the settings in force. Raises SettingsInvalid."""
    return core_settings.parse(settings_files.read()).settings


def own_the_node() -> int:
    """Take the lock that only one nodenetd can have; return its descriptor. Raises AlreadyRunning."""
    RUN.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(RUN / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
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
        return asyncio.run(serve())
    except NodenetError as error:
        log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        return error.exit_code
    except Exception as error:
        log.exception(f"nodenetd met an error it has no name for: {error!r}", message=Message.INTERNAL_ERROR)  # noqa: TRY401  (the line must name it; the traceback is a field)
        return EX_SOFTWARE


async def serve() -> int:
    """Build everything and run the loop."""
    machine = Machine(lambda topic: reconciler.wake(topic))  # noqa: PLW0108  (it is made below)
    notifier = Notifier()
    log.info(f"nodenetd {__version__} begins, boot {machine.boot_id[:8]}", message=Message.STARTED)
    files.clear_stray()
    reconciler: Reconciler
    service = Service(
        machine.bus,
        Orders(
            reload=lambda: reconciler.reload(),  # noqa: PLW0108  (the reconciler is made below)
            run_stage=lambda name: reconciler.rerun(name),  # noqa: PLW0108
            reselect=lambda: reconciler.reselect(),  # noqa: PLW0108
            explain=machine.explain,
        ),
        lambda: reconciler.standing,
    )
    watches = (StateFile(STATE_FILE), ServiceManager(notifier), service)
    reconciler = Reconciler(lambda: machine.plant(read_settings()), watches, notifier, machine.clock, machine.boot_id)
    return await _run(machine, reconciler, notifier)


async def _run(machine: Machine, reconciler: Reconciler, notifier: Notifier) -> int:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, reconciler.stop)
    background = Background()
    background.start(machine.bus.run())
    if machine.has_node_files():
        machine.nmstate.warm()
    reconciler.listen_while_waiting(Topic.KERNEL, KernelEvents(background, lambda: reconciler.wake(Topic.KERNEL)))
    try:
        await machine.bus.wait_up(BUS_SECONDS)
        await reconciler.run()
    finally:
        notifier.stopping()
        await background.end()
        await machine.nmstate.close()
    log.info("nodenetd stops; the network stays as it is", message=Message.STOPPED)
    return 0


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


class KernelEvents:
    """The kernel's word that links, addresses or routes changed."""

    def __init__(self, background: Background, changed: Callable[[], None]) -> None:
        """*changed* is told."""
        self._background = background
        self._changed = changed
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Listen, if nobody does yet."""
        if self._task is None or self._task.done():
            self._task = self._background.start(netlink.watch(self._changed))

    def stop(self) -> None:
        """Listen no longer."""
        if self._task is not None:
            self._task.cancel()
            self._task = None


if __name__ == "__main__":
    sys.exit(main())
