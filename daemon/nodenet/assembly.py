"""How are the edges of this node and the stages of the settings built and connected?

The only module that knows both edges and stages. It decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module
from pathlib import PurePath

import structlog

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Topic
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import LibnmstateMissing, NodeFileInvalid, NodenetError, UsageInvalid
from nodenet.core.hosted_services.dns_guard import TABLE as DNS_TABLE
from nodenet.core.messages import Message
from nodenet.core.node_file.find import EXTENSIONS
from nodenet.core.node_ip.explain import explanation
from nodenet.core.settings import parse as settings_parser
from nodenet.core.settings.model import OnFailure, Settings
from nodenet.core.stage_name import StageName
from nodenet.core.status.bus_interfaces import NAME
from nodenet.core.unit_stage.evidence import unit_of
from nodenet.edge.bus.connection import Bus
from nodenet.edge.clock import Clock, Idle, boot_id
from nodenet.edge.files import disk as files
from nodenet.edge.files import settings as settings_files
from nodenet.edge.hosted_services.configuration_files import ConfigurationFiles
from nodenet.edge.hosted_services.dnsmasq import Dnsmasq
from nodenet.edge.hosted_services.other_stacks import OtherStacks
from nodenet.edge.hosted_services.redirect_table import RedirectTable
from nodenet.edge.hosted_services.service_units import ServiceUnits
from nodenet.edge.hosted_services.sockets import Sockets
from nodenet.edge.hosted_services.state_files import CacheFiles
from nodenet.edge.hostname.hostnamed import Hostnamed
from nodenet.edge.hostname.lease_names import LeaseNames
from nodenet.edge.kernel import netlink
from nodenet.edge.kernel.link_events import LinkEvents
from nodenet.edge.kernel.neighbours import Neighbours
from nodenet.edge.kernel.sysctls import Sysctls
from nodenet.edge.network_manager.dns import DnsManager
from nodenet.edge.network_manager.profiles import Profiles
from nodenet.edge.network_manager.state import NetworkManager
from nodenet.edge.nmstate.client import Nmstate
from nodenet.edge.open_vswitch.database import Ovsdb
from nodenet.edge.resolver.probe import ResolverProbe
from nodenet.edge.resolver.resolved import Resolved
from nodenet.edge.systemd.units import Systemd, Units
from nodenet.loop.reload import Judged, StageSet
from nodenet.loop.uplink import UplinkEdges
from nodenet.stage_edges import Build, StageEdges
from nodenet.stages.apply.network_manager import NetworkManagerStarter
from nodenet.stages.apply.node_file import NodeFiles
from nodenet.stages.br_ex.wiring import BridgeWiring
from nodenet.stages.hosted_services.forwarding import Forwarding
from nodenet.stages.hosted_services.node_dns import UNIT as DNS_UNIT
from nodenet.stages.hosted_services.node_dns import NodeDns, NodeDnsEdges
from nodenet.stages.hostname import HostnameStage
from nodenet.stages.node_ip.stage import NodeipStage
from nodenet.stages.unit_stage import build as build_unit_stage

log = structlog.get_logger()

ATTEMPT_MARGIN_SECONDS = 300.0
UNIT = "nodenetd.service"
BUILD: dict[StageName, Build] = {
    name: import_module(f"nodenet.stages.{name.module}").build for name in StageName if name.module
}
"""How each stage is built; the table of stages names the modules."""


class Assembly:
    """Every edge of the daemon, built once."""

    def __init__(self, wake: Callable[[Topic], None], idle: Idle) -> None:
        """*wake* is called with what changed; *idle* is what the loop sleeps in."""
        self._wake = wake
        self._bus_was_lost = False
        self.stopping = False
        """Whether the daemon ends, and the bus with it."""
        self.bus = Bus(changed=self._bus_changed)
        self.manager = NetworkManager(self.bus, lambda: wake(Topic.NETWORK_MANAGER))
        self.host = Hostnamed(self.bus, lambda: wake(Topic.HOSTNAME))
        self.dns = DnsManager(self.bus, lambda: wake(Topic.DNS))
        self.resolved = Resolved(self.bus, lambda: wake(Topic.DNS))
        self.clock = Clock(idle)
        self.nmstate = Nmstate(worked=self.clock.worked_for_us, said=lambda text: log.info(f"libnmstate: {text}"))
        self.ovsdb = Ovsdb()
        self.boot_id = boot_id()
        self._service_units = ServiceUnits(self.bus, lambda unit: wake(Topic.DNS if unit == DNS_UNIT else Topic.UNIT))
        self._dnsmasq = Dnsmasq(self.bus, lambda: wake(Topic.DNS))
        self._caches = CacheFiles()
        self._dns_of_node: tuple[Settings, NodeDns] | None = None
        self.edges = self._stage_edges()
        self.forwarding = Forwarding(self.edges.sysctls)
        self.uplink_edges = UplinkEdges(LinkEvents(), self.edges.neighbours, self.edges.kernel, self.ovsdb, self.clock)
        self.nodeip: NodeipStage | None = None
        self._node_files: PurePath = PurePath(Settings().node_file_dir)

    def _stage_edges(self) -> StageEdges:
        systemd = Systemd(self.bus)
        return StageEdges(
            host=self.host,
            leases=LeaseNames(self.bus),
            files=files,
            manager=self.manager,
            presence=NetworkManagerStarter(self.manager, systemd, self.clock),
            nmstate=self.nmstate,
            ovsdb=self.ovsdb,
            profiles=Profiles(self.bus),
            sysctls=Sysctls(),
            neighbours=Neighbours(),
            kernel=netlink,
            systemd=systemd,
            dns=self.dns,
            resolved=self.resolved,
            resolver_probe=ResolverProbe(),
            units=Units(self.bus, lambda: self._wake(Topic.UNIT)),
            node_dns=self._node_dns,
            service_units=self._service_units,
            redirect=RedirectTable(),
            clock=self.clock,
            boot_id=self.boot_id,
        )

    def _node_dns(self, settings: Settings) -> NodeDns:
        """Return DNS of this node: the stages of one boot share it, so that one knows what the other has found."""
        if self._dns_of_node is None or self._dns_of_node[0] is not settings:
            self._dns_of_node = settings, self._new_node_dns(settings)
        return self._dns_of_node[1]

    def _new_node_dns(self, settings: Settings) -> NodeDns:
        edges = NodeDnsEdges(
            files=files,
            host=self.host,
            kernel=self.edges.kernel,
            clock=self.clock,
            probe=self.edges.resolver_probe,
            texts=ConfigurationFiles(),
            units=self._service_units,
            dnsmasq=self._dnsmasq,
            guard=RedirectTable(table=DNS_TABLE),
            caches=self._caches,
            stacks=OtherStacks(),
            sockets=Sockets(),
        )
        return NodeDns(edges, settings)

    def _bus_changed(self, up: bool) -> None:  # noqa: FBT001  (a callback's only argument)
        if self.stopping:
            return
        if not up:
            log.warning("The system bus went away; the boot goes on without it", message=Message.BUS_LOST)
        elif self._bus_was_lost:
            log.info("The system bus is back", message=Message.BUS_BACK)
        if up and not self.bus.owns_name:
            log.warning(f"The bus name {NAME} is not ours: no program can call nodenetd", message=Message.BUS_NAMELESS)
        self._bus_was_lost = not up
        self.dns.forget()
        self.resolved.forget()
        self._wake(Topic.BUS)

    def bus_answers(self, again: bool) -> None:  # noqa: FBT001  (a callback's only argument)
        """Log that the bus, still connected, no longer answers, or does *again*."""
        if again:
            log.info("The system bus answers again", message=Message.BUS_BACK)
            self._wake(Topic.BUS)
        else:
            log.warning("The system bus does not answer; nodenetd goes on without it", message=Message.BUS_LOST)

    async def is_active(self) -> bool:
        """Return whether systemd says that nodenetd.service is active; not while systemd does not answer."""
        service = await self.edges.systemd.service(UNIT)
        return service is not None and service.active_state in ("active", "reloading", "refreshing")

    def has_node_files(self) -> bool:
        """Return whether libnmstate will be needed; a directory that cannot be read is the stage's to report."""
        try:
            return any(name.endswith(EXTENSIONS) for name in files.listing(self._node_files))
        except NodenetError:
            return False

    def explain(self, topic: str) -> str:
        """Return the document that explains *topic*. Raises UsageInvalid."""
        if topic not in ("node-ip", "reselect") or self.nodeip is None:
            raise UsageInvalid(f"nothing is known about {topic!r}", remedy="Topics are: node-ip, reselect")
        return json.dumps(explanation(self.nodeip.explain(ignore_published=topic == "reselect")))

    def settings(self) -> Settings:
        """Return the settings as they lie on the disk. Raises SettingsInvalid, Unavailable."""
        return settings_parser.parse(settings_files.read()).settings

    def node_file(self, settings: Settings, facts: Facts) -> Facts:
        """Return *facts* with the node file that *settings* lead to, where nodenetd applies it."""
        if settings.stages[StageName.NMSTATE] != "builtin":
            return facts
        return NodeFiles(files, self.nmstate, PurePath(settings.node_file_dir)).on_disk(facts)

    async def judge(self, settings: Settings, facts: Facts) -> Judged:
        """Return whether that file would be taken. Raises NodenetError when that is unknown."""
        if settings.stages[StageName.NMSTATE] != "builtin":
            return Judged(facts)
        directory = PurePath(settings.node_file_dir)
        if settings.stages[StageName.HOSTNAME] == "builtin":
            named = await HostnameStage(self.host, self.edges.leases, files, directory).name()
            facts = replace(facts, hostname=named)
        judge = NodeFiles(files, self.nmstate, directory)
        seen = judge.on_disk(facts)  # before it is judged: a change during the check is another edit
        try:
            await judge.judge(facts)
        except (NodeFileInvalid, LibnmstateMissing) as error:
            return Judged(seen, error)
        return Judged(seen)

    def build_stages(self, settings: Settings) -> StageSet:
        """Return the stages that *settings* ask for; from now on these settings are in force."""
        self.forwarding.settings = settings
        self._node_files = PurePath(settings.node_file_dir)
        files.clear_stray((self._node_files,))
        stages = {name: build(self.edges, settings) for name, build in BUILD.items()}
        nodeip = stages[StageName.NODEIP]
        if not isinstance(nodeip, NodeipStage):
            raise TypeError(f"{nodeip!r} does not publish the node IPs")
        self.nodeip = nodeip
        recovering = BridgeWiring(self.edges, settings).recovering(stages[StageName.NMSTATE], nodeip)
        stages[StageName.NMSTATE], stages[StageName.NODEIP] = recovering
        units = {StageName(name): unit_of(provider) for name, provider in settings.stages.items()}
        stages |= {name: build_unit_stage(name, unit, self.edges, settings) for name, unit in units.items() if unit}
        return StageSet(
            new_boot(dict(settings.stages), degrade=settings.on_failure is OnFailure.DEGRADE),
            stages,
            settings.network_type,
            settings.apply_timeout + ATTEMPT_MARGIN_SECONDS,
            nodeip.drift,
            nodeip.confirm if settings.stages[StageName.NODEIP] == "builtin" else nodeip.confirm_of_unit,
        )
