"""nodenet-hosted as a process: its settings, its signals, its beginning and its end."""

from __future__ import annotations

import asyncio
import gc
import json
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import structlog

from nodenet import __version__
from nodenet.core.errors import NodenetError, PublishFailed, Unavailable
from nodenet.core.hosted_cluster import node_report
from nodenet.core.hosted_services import keepalived, metrics, units
from nodenet.core.hosted_services.duties import why_disabled
from nodenet.core.hosted_services.keepalived import WEIGHT_FILES
from nodenet.core.hosted_services.kubeconfig import by_vips
from nodenet.core.hosted_services.model import COMPANION_NAME, RUN, UNITS, Service, options_of
from nodenet.core.hosted_services.report import document, explain
from nodenet.core.messages import Message
from nodenet.core.metrics import Program, ProgramMetrics
from nodenet.core.settings.model import HostedMode, Settings
from nodenet.core.settings.parse import parse
from nodenet.core.status.bus_interfaces import MANAGER, NAME, PATH
from nodenet.edge.bus.connection import PROPERTIES, Bus, Signal, name_owner_changed
from nodenet.edge.bus.objects import BusObjects
from nodenet.edge.clock import boot_id
from nodenet.edge.files import disk
from nodenet.edge.files import settings as settings_files
from nodenet.edge.hosted_services.http_check import Authority, HttpChecks
from nodenet.edge.hosted_services.other_stacks import OtherStacks
from nodenet.edge.hosted_services.servers import Balancer, Dnsmasq, NameLookup, RedirectTable
from nodenet.edge.hosted_services.state_files import ApiIntFile, CacheFiles, Weights
from nodenet.edge.hosted_services.units import ConfigurationFiles, Processes, ServiceUnits
from nodenet.edge.hosted_services.wire import AddressEvents, VipAddresses, Wire
from nodenet.edge.kernel import netlink
from nodenet.edge.kubernetes.client import KubernetesCluster
from nodenet.edge.kubernetes.cluster_api import OwnNode
from nodenet.edge.metrics import STATE, Metrics, MetricsFile
from nodenet.edge.systemd import journal, manager_object
from nodenet.edge.systemd.notify import Notifier, keep_alive, report_ready
from nodenet.hosted.checks import HealthChecks
from nodenet.hosted.cluster_source import ClusterSource, Identity
from nodenet.hosted.mover import ApiIntTrial, Mover
from nodenet.hosted.reconcile import Edges, Reconciler, follow, watch_manifests
from nodenet.hosted.reporter import Reporter
from nodenet.hosted.state import Gather, Sources, State
from nodenet.hosted.vip_keeper import Drain, KeepalivedWatch, SourceGuard, VipKeeper
from nodenet.loop.background import Background

log = structlog.get_logger()

STATUS = PurePosixPath("/run/nodenet/state.json")
REPORT = RUN / "status.json"
DRAINED = RUN / "drained"
BUS_SECONDS = 2.0
"""How long the first decision waits for the bus."""
REMOTE_WORKER = Path("/run/nodeip-configuration/remote-worker")
SYSTEMD = (manager_object.NAME, manager_object.PATH, manager_object.MANAGER)
FOLLOWED = ("PrimaryIP", "IPv4", "IPv6", "Link", "Bridge", "Hostname")
"""Properties of nodenetd whose change may move a VIP to another link."""


class Companion:
    """Everything of one run."""

    def __init__(self, settings: Settings, boot_id: str) -> None:
        """Build; nothing runs yet."""
        self.state = State(_node_name(settings), options_of(settings))
        self.bus = Bus(changed=lambda _: self.state.changed())
        self._settings = settings
        self._weak: tuple[str, ...] = ()
        self._weights = Weights()
        self._checks = HealthChecks(self.state, HttpChecks(), Processes(UNITS[Service.HAPROXY]), self._weigh)
        self.keeper = VipKeeper(self.state, Wire(), VipAddresses(), self._weights, self._checks.healthy)
        options = self.state.options
        vips = partial(by_vips, vips=options.api_vips, port=options.api_port, domain=options.cluster_domain)
        cluster = KubernetesCluster(settings.kubernetes.kubeconfig, self._note_weak, vips)
        self._reporter = Reporter(OwnNode(cluster, self.state.node), self._for_cluster)
        report, renders = self._reporter.changed_in_migration, settings.hosted.mode is HostedMode.RENDER
        self._mover = Mover(self.state, HttpChecks(), NameLookup(), report, renders=renders)
        identity = Identity(self.state.node, settings.cluster_domain, boot_id)
        self.source = ClusterSource(cluster, CacheFiles(), identity, self._cluster_changed)
        self._keepalived = KeepalivedWatch(self.state, Processes(UNITS[Service.KEEPALIVED]), VipAddresses())
        weigh, look = self.keeper.write_weights, self.keeper.look_now.set
        self._source = SourceGuard(self.state, AddressEvents(), VipAddresses(), weigh, look)
        self.drain = Drain(self.state, look, _keep_drained)
        units = ServiceUnits(self.bus, lambda _: self.state.changed())
        dnsmasq = Dnsmasq(self.bus, self.state.changed)
        self._trial = ApiIntTrial(self.state, HttpChecks(), ApiIntFile())
        self._stacks = OtherStacks()
        tables = RedirectTable(), RedirectTable(table=keepalived.GUARD_TABLE)
        self._edges = Edges(ConfigurationFiles(), units, *tables, dnsmasq, self._stacks, Balancer())
        read = Authority(settings.hosted.ca_file, settings.kubernetes.kubeconfig).read
        sources = Sources(_status, netlink.snapshot, lambda: self.source.cluster, REMOTE_WORKER.exists, read)
        self._gather = Gather(self.state, sources)
        self.shown: list[Any] = []
        """What shows the document: each is called with it when it changed."""
        self._last: dict[str, Any] | None = None
        self._was_away = False
        """Whether the API did not answer when its state changed last."""
        self.ready = asyncio.Event()
        """Set when which services and VIPs this node has was decided once."""

    async def start(self, background: Background) -> None:
        """Read the disk, then begin all tasks."""
        self.state.drained = disk.read(DRAINED) is not None
        await self.source.read_disk()
        self._trial.prepare()
        speaking = self._keepalived.runs()
        self.keeper.prepare(speaking=speaking)
        for purpose, path in WEIGHT_FILES.items() if speaking else ():
            self._checks.resume(purpose, self._weights.read(path) or 0)
        self._follow_nodenetd()
        background.start("the connection to the bus", self.bus.run, self.state.changed)
        background.start("the watch of keepalived", self._keepalived.run)
        background.start("the guard of the node IPs", self._source.run)
        background.start("the services of this node", self._run)
        background.start("the static pods", lambda: watch_manifests(self._stacks, self.state.changed))
        background.start("the checks of haproxy", self._checks.watch_balancer)
        background.start("the watch of haproxy", self._checks.watch_haproxy)
        background.start("the checks of this node's servers", self._checks.watch_servers)
        background.start("the check of the API by its VIP", self._checks.watch_vip)
        background.start("what the API says", self.source.take)
        background.start("the administrator's file", self.source.follow_file)
        background.start("the check of an external load balancer", self._trial.run)
        background.start("this node's part of a migration", self._mover.run)
        background.start("the watch of the Nodes", self.source.follow_nodes)
        background.start("the watch of HostedNetServices", self.source.follow_resource)
        background.start("the report to the cluster", self._reporter.run)

    async def _run(self) -> None:
        """Decide for the first time, then look at the wire and reconcile."""
        await self.bus.wait_up(BUS_SECONDS)
        await self._gathered()
        self._source.look()
        reconciler = Reconciler(self.state, self._edges, self._settings.hosted.mode)
        self.keeper.write_weights()  # before keepalived starts: a node that has not looked yet stays out
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.keeper.run())
            tasks.create_task(follow(self.state, reconciler, self._gathered, self._reconciled))

    async def _gathered(self) -> None:
        before, migration = self.state.plan.vips, self.state.known.inputs.spec.migration
        await self._gather()
        if self.state.known.inputs.spec.migration != migration:
            self._mover.look_now.set()
        if self.state.plan.vips != before:
            self.keeper.write_weights()
            self.keeper.look_now.set()

    def _reconciled(self) -> None:
        self._source.look()  # with the configuration that keepalived has now
        self._show()

    def _follow_nodenetd(self) -> None:
        def changed(body: Any) -> None:  # noqa: ANN401
            if set(body[1]) & set(FOLLOWED):
                self.state.changed()

        self.bus.subscribe(Signal(NAME, PATH, PROPERTIES, "PropertiesChanged"), changed)
        self.bus.subscribe(Signal(NAME, PATH, MANAGER.name, "NodeIPChanged"), lambda _: self.state.changed())
        self.bus.subscribe(name_owner_changed(NAME), lambda _: self.state.changed())

    def _weigh(self) -> None:
        self.keeper.write_weights()

    def _cluster_changed(self) -> None:
        if self._was_away and self.source.problem is None:
            self._reporter.look_again()
        self._was_away = self.source.problem is not None
        self.state.report_failure("cluster", None)
        self.state.changed()

    def _note_weak(self, weaknesses: tuple[str, ...]) -> None:
        if weaknesses != self._weak:
            for text in weaknesses:
                log.warning(text, message=Message.NOTE, cause=text)
        self._weak = weaknesses

    def _for_cluster(self) -> node_report.NodeReport | None:
        if not self.source.is_asked_for:
            return None
        found = node_report.of(self.state.report(), self.source.generation, self.state.progress)
        return replace(found, uid=self.source.uid)

    def _show(self) -> None:
        self.ready.set()
        self._reporter.changed()
        self._mover.services_changed()
        found = document(self.state.report())
        found["cluster"] = self.source.problem
        if found == self._last:
            return
        self._last = found
        try:
            disk.write(REPORT, json.dumps(found, indent=1).encode() + b"\n")
        except PublishFailed as error:
            log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        for show in self.shown:
            show(found)

    @property
    def document(self) -> dict[str, Any]:
        """The document as it was shown last."""
        return self._last or document(self.state.report()) | {"cluster": self.source.problem}

    async def is_shutting_down(self) -> bool:
        """Return whether the whole system stops, and not only this process."""
        try:
            return bool(await self.bus.get(*SYSTEMD, "SystemState") == "stopping")
        except Unavailable:
            return False


def _node_name(settings: Settings) -> str:
    return settings.kubernetes.node_name or socket.gethostname().lower()


def _status() -> dict[str, Any] | None:
    try:
        content = disk.read(STATUS)
        found = json.loads(content) if content else None
    except (PublishFailed, ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def _keep_drained(drained: bool) -> None:  # noqa: FBT001
    try:
        _ = disk.write(DRAINED, b"") if drained else disk.remove(DRAINED)
    except PublishFailed as error:
        log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)


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
        super().__init__(connection, COMPANION_NAME, units.OBJECTS)
        self._document_now = document
        self._drain = drain
        self._undrain = undrain
        self._shown: Document | None = None

    def show(self, document: Document) -> None:
        """Emit what changed since the last call."""
        before, self._shown = self._shown, document
        if before is None:
            return
        self.emit_properties(units.PATH, units.values(before), units.values(document))
        for body in units.signals(before, document):
            self.emit(units.PATH, units.HOSTED, "VipChanged", body)

    def values(self, path: str) -> dict[str, Any]:  # noqa: ARG002  (there is one object)
        """Return the value of each property."""
        return units.values(self._document_now())

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


# How does the process begin and end?

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
    log.info(f"nodenet-hosted {__version__} begins as node {companion.state.node}")
    if reason := why_disabled(companion.state.options):
        log.info(f"No hosted service runs here: {reason}")
    on_bus = BusObject(companion.bus, lambda: companion.document, companion.drain.drain, companion.drain.undo)
    file = MetricsFile(Program.HOSTED, directory=settings.metrics_dir, state=STATE / "hosted")
    figures = Metrics(file, program, metrics.lines)
    companion.shown += [on_bus.show, figures.show]
    background = Background()
    await companion.start(background)
    background.start("the watchdog", lambda: keep_alive(notifier))
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
    log.info("nodenet-hosted stops; DNS, VIPs and load balancer go on")
    return 0


async def _either(*events: asyncio.Event) -> None:
    tasks = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()


def _line(document: dict[str, object]) -> str:
    return f"{document['health']}: {document['mode']}, {document['phase']}"


if __name__ == "__main__":
    sys.exit(main())
