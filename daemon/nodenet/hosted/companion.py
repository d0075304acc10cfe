"""Which tasks does the companion run? They are built here from edges; every task is supervised."""

from __future__ import annotations

import asyncio
import json
import socket
from dataclasses import replace
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import structlog

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.hosted_cluster import node_report
from nodenet.core.hosted_services import keepalived
from nodenet.core.hosted_services.keepalived import WEIGHT_FILES
from nodenet.core.hosted_services.kubeconfig import by_vips
from nodenet.core.hosted_services.model import Service, options_of
from nodenet.core.hosted_services.paths import RUN, UNITS
from nodenet.core.hosted_services.report import document
from nodenet.core.messages import Message
from nodenet.core.settings.model import HostedMode, Settings
from nodenet.core.status.bus_interfaces import MANAGER, NAME, PATH
from nodenet.edge.bus.connection import PROPERTIES, Bus, Signal, name_owner_changed
from nodenet.edge.files import disk
from nodenet.edge.hosted_services.balancer import Balancer, RedirectTable
from nodenet.edge.hosted_services.dnsmasq import Dnsmasq, NameLookup
from nodenet.edge.hosted_services.http_check import Authority, HttpChecks
from nodenet.edge.hosted_services.other_stacks import OtherStacks
from nodenet.edge.hosted_services.state_files import ApiIntFile, CacheFiles, Weights
from nodenet.edge.hosted_services.units import ConfigurationFiles, Processes, ServiceUnits
from nodenet.edge.hosted_services.wire import AddressEvents, VipAddresses, Wire
from nodenet.edge.kernel import netlink
from nodenet.edge.kubernetes.client import KubernetesCluster
from nodenet.edge.kubernetes.cluster_api import OwnNode
from nodenet.edge.systemd import manager_object
from nodenet.hosted.checks import HealthChecks
from nodenet.hosted.cluster_source import ClusterSource, Identity
from nodenet.hosted.gather import Gather, Sources
from nodenet.hosted.mover import ApiIntTrial, Mover
from nodenet.hosted.reconcile import Edges, Reconciler, follow, watch_manifests
from nodenet.hosted.reporter import Reporter
from nodenet.hosted.state import State
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
                log.warning(text, message=Message.KUBECONFIG_WEAK, cause=text)
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
