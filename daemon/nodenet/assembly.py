"""How are the edges of this node built and connected with the stages?

The only module that knows both edges and stages; `inputs` builds the stages of the settings. It decides nothing.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import PurePath

import structlog

from nodenet.core.boot.outcome import Topic
from nodenet.core.errors import NodenetError, UsageInvalid
from nodenet.core.history.shown import listed
from nodenet.core.hosted_services.dns import TABLE as DNS_TABLE
from nodenet.core.messages import Message
from nodenet.core.metrics import Program
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.node_file.find import EXTENSIONS
from nodenet.core.node_ip.explain import explanation
from nodenet.core.settings.model import Settings
from nodenet.core.settings.parse import parse
from nodenet.core.status.bus_interfaces import NAME
from nodenet.core.trial.trial import TrialOrder, to_entry
from nodenet.edge.bus.connection import Bus
from nodenet.edge.clock import Clock, Idle, boot_id
from nodenet.edge.files import disk
from nodenet.edge.files import settings as settings_files
from nodenet.edge.files.store import Store
from nodenet.edge.hosted_services.other_stacks import OtherStacks, Rivals, Sockets
from nodenet.edge.hosted_services.servers import Dnsmasq, NameLookup, RedirectTable
from nodenet.edge.hosted_services.state_files import ApiIntFile, CacheFiles
from nodenet.edge.hosted_services.units import ConfigurationFiles, ServiceUnits, on_switch
from nodenet.edge.hostname import Hostnamed, LeaseNames
from nodenet.edge.kernel import netlink
from nodenet.edge.kernel.link_events import LinkEvents
from nodenet.edge.kernel.neighbours import Neighbours
from nodenet.edge.kernel.netlink import Sysctls
from nodenet.edge.metrics import MetricsFile
from nodenet.edge.network_manager.profiles import Profiles
from nodenet.edge.network_manager.state import DnsManager, NetworkManager
from nodenet.edge.nmstate.client import Nmstate
from nodenet.edge.open_vswitch import Ovsdb
from nodenet.edge.probes.targets import Targets
from nodenet.edge.resolver import NameServers, Resolved, ResolverProbe
from nodenet.edge.systemd import cgroups
from nodenet.edge.systemd.units import Systemd, Units
from nodenet.inputs import NodeInputs
from nodenet.loop.uplink import UplinkEdges
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.history import History
from nodenet.stages.apply.network_manager import NetworkManagerStarter
from nodenet.stages.hosted_services.node_dns import UNIT as DNS_UNIT
from nodenet.stages.hosted_services.node_dns import Forwarding, NodeDns, NodeDnsEdges
from nodenet.stages.nmstate.known_good import KnownGood

log = structlog.get_logger()

UNIT = "nodenetd.service"


def read_settings() -> Settings:
    """Return the settings as they lie on the disk. Raises SettingsInvalid, Unavailable."""
    return parse(settings_files.read()).settings


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
        on_switch(self.bus, lambda: wake(Topic.DNS))
        self._caches = CacheFiles()
        self._dns_of_node: tuple[Settings, NodeDns] | None = None
        self.edges = self._stage_edges()
        self.forwarding = Forwarding(self.edges.sysctls)
        self.known_good = KnownGood(disk, self.clock, self.boot_id, self.edges.store)
        self.metrics_file = MetricsFile(Program.NODENETD)
        kernel = (LinkEvents(), self.edges.neighbours, self.edges.kernel)
        self.uplink_edges = UplinkEdges(*kernel, self.ovsdb, self.clock, NameServers(), Rivals())
        self._node_files: PurePath = PurePath(Settings().node_file_dir)
        self.inputs = NodeInputs(self.edges, read_settings, self._in_force)

    def _stage_edges(self) -> StageEdges:
        systemd = Systemd(self.bus)
        return StageEdges(
            host=self.host,
            leases=LeaseNames(self.bus),
            files=disk,
            store=Store(disk, KEYFILES),
            manager=self.manager,
            presence=NetworkManagerStarter(self.manager, systemd, self.clock),
            nmstate=self.nmstate,
            ovsdb=self.ovsdb,
            profiles=Profiles(self.bus),
            sysctls=Sysctls(),
            neighbours=Neighbours(),
            kernel=netlink,
            standing=netlink,
            systemd=systemd,
            dns=self.dns,
            resolved=self.resolved,
            resolver_probe=ResolverProbe(),
            targets=Targets(),
            units=Units(self.bus, lambda: self._wake(Topic.UNIT)),
            processes=cgroups,
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
            files=disk,
            host=self.host,
            kernel=self.edges.kernel,
            clock=self.clock,
            probe=self.edges.resolver_probe,
            texts=ConfigurationFiles(),
            units=self._service_units,
            dnsmasq=self._dnsmasq,
            guard=RedirectTable(table=DNS_TABLE),
            caches=self._caches,
            api_int=ApiIntFile(),
            stacks=OtherStacks(),
            sockets=Sockets(),
            names=NameLookup(),
            ovsdb=self.ovsdb,
        )
        return NodeDns(edges, settings)

    def _bus_changed(self, up: bool) -> None:  # noqa: FBT001  (a callback's only argument)
        if self.stopping:
            return
        if not up:
            log.warning("The system bus went away; the boot goes on without it", message=Message.BUS_LOST)
        elif self._bus_was_lost:
            log.info("The system bus is back", message=Message.RECOVERED)
        if up and not self.bus.owns_name:
            log.warning(f"The bus name {NAME} is not ours: no program can call nodenetd", message=Message.BUS_NAMELESS)
        self._bus_was_lost = not up
        self.dns.forget()
        self.resolved.forget()
        self._wake(Topic.BUS)

    def bus_answers(self, again: bool) -> None:  # noqa: FBT001  (a callback's only argument)
        """Log that the bus, still connected, no longer answers, or does *again*."""
        if again:
            log.info("The system bus answers again", message=Message.RECOVERED)
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
            return any(name.endswith(EXTENSIONS) for name in disk.listing(self._node_files))
        except NodenetError:
            return False

    def explain(self, topic: str) -> str:
        """Return the document that explains *topic*. Raises UsageInvalid."""
        nodeip = self.inputs.nodeip
        if topic not in ("node-ip", "reselect") or nodeip is None:
            raise UsageInvalid(f"nothing is known about {topic!r}", remedy="Topics are: node-ip, reselect")
        return json.dumps(explanation(nodeip.explain(ignore_published=topic == "reselect")))

    def history(self) -> str:
        """Return the entries of the history, the newest first, as JSON. Raises PublishFailed."""
        return json.dumps(listed(History(disk).all()))

    def to_entry(self, number: int, seconds: str, who: str, force: bool) -> TrialOrder:  # noqa: FBT001  (of the bus)
        """Return the order to go back to the entry *number*. Raises UsageInvalid, PublishFailed."""
        try:
            found = History(disk).read(number)
        except ValueError as error:
            raise UsageInvalid(f"entry {number} of the history is damaged: {error}") from error
        if found is None:
            raise UsageInvalid(f"the history has no entry {number}", remedy="Look at `nodenetctl history`")
        return to_entry(TrialOrder(found.name, found.digest, 0.0, who, number, force), seconds)

    def _in_force(self, settings: Settings) -> None:
        """Take note that stages are built for *settings* now."""
        self.forwarding.settings = self.known_good.settings = settings
        self.metrics_file.move_to(settings.metrics_dir)
        self._node_files = PurePath(settings.node_file_dir)
        metrics = (PurePath(settings.metrics_dir),) if settings.metrics_dir else ()
        disk.clear_stray((self._node_files, *metrics))
