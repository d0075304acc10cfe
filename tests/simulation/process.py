"""One process of nodenetd over the world: the parts that `nodenet.daemon` connects, with simulated edges."""

from __future__ import annotations

import marshal
from collections.abc import Callable
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

import structlog

from nodenet.core.boot.outcome import Topic
from nodenet.core.errors import NodenetError
from nodenet.core.hosted_services.model import Here, Inputs, options_of
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.settings import parse as settings_parser
from nodenet.core.settings.model import Settings
from nodenet.daemon import ServiceManager, StateFile
from nodenet.edge.files.store import Store
from nodenet.edge.systemd.notify import Notifier
from nodenet.inputs import NodeInputs
from nodenet.loop.background import Background, StoreWatch
from nodenet.loop.reconciler import Reconciler
from nodenet.loop.uplink import UplinkEdges, UplinkWatch
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.network_manager import NetworkManagerStarter
from nodenet.stages.hosted_services.node_dns import Forwarding
from nodenet.stages.nmstate.known_good import KnownGood
from simulation.edges_of_host import Clock, Files, Host, LeaseNames
from simulation.edges_of_kernel import KernelEdge, Neighbours, StandingEdge, Sysctls, UplinkLinks
from simulation.edges_of_manager import DnsManager, Manager, Profiles
from simulation.edges_of_services import (
    HostedUnits,
    NameServers,
    Ovsdb,
    Processes,
    Resolved,
    ResolverProbe,
    SystemdEdge,
    Targets,
    Units,
)
from simulation.event_loop import SimulatedLoop
from simulation.life import Life, Listeners
from simulation.nmstate import Nmstate
from simulation.world import World

SETTINGS = "/etc/nodenet/nodenet.toml"
STATE = PurePosixPath("/run/nodenet/state.json")
PERMANENT = 78
MARSHALLED = 2
"""The format of `marshal` in which equal values are equal bytes."""


class Reports(Notifier):
    """The connection to systemd."""

    def __init__(self, life: Life) -> None:
        super().__init__({"NOTIFY_SOCKET": "/run/systemd/notify", "WATCHDOG_USEC": "30000000"})
        self._life = life

    def _send(self, *lines: str) -> bool:
        self._life.step("notify")
        return self._life.world.systemd.notified(lines)


class Switch:
    """A source of events that is switched on and off."""

    def __init__(self, switch: Callable[[bool], None]) -> None:
        self._switch = switch

    def start(self) -> None:
        self._switch(True)

    def stop(self) -> None:
        self._switch(False)


@lru_cache(maxsize=4096)
def _parsed(content: bytes) -> Settings:
    return settings_parser.parse([(SETTINGS, content)]).settings


class Process:
    """nodenetd from its start to its end."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.life = world.life = Life(world)
        self.exit_code: int | None = None
        self.loop = SimulatedLoop(world.timeline, self.life)  # type: ignore[abstract]  # it has what is used
        self.life.deadlines = self.loop.deadlines
        world.rules.new_process()
        world.systemd.process_starts()
        self.reconciler: Reconciler | None = None

    def run(self) -> None:
        """Run until the process ends, by itself or by a kill. Raises Violation."""
        try:
            self.exit_code = self.loop.run_until_complete(self._main())
        finally:
            self.life.alive = False
            self.world.listeners = None
            self.loop.discard()

    async def _main(self) -> int:
        try:
            return await self._serve()
        except NodenetError as error:
            log = structlog.get_logger()
            log.error(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
            return error.exit_code

    async def _serve(self) -> int:
        from fakes import FakeRivals  # noqa: PLC0415  (no host of the world claims another one's address)

        world, life = self.world, self.life
        built = stage_edges(life)
        forwarding = Forwarding(built.sysctls)
        known_good = KnownGood(built.files, built.clock, world.boot_id, built.store)

        def in_force(settings: Settings) -> None:
            forwarding.settings = known_good.settings = settings

        inputs = NodeInputs(built, self._settings, in_force)
        notifier = Reports(life)
        manager = ServiceManager(notifier, lambda seconds: reconciler.doubts.unheard(seconds))  # noqa: PLW0108
        kernel = (UplinkLinks(life), built.neighbours, built.kernel)
        uplink_edges = UplinkEdges(*kernel, built.ovsdb, built.clock, NameServers(life), FakeRivals())
        uplink = UplinkWatch(uplink_edges, lambda *found: reconciler.report_uplink(*found))  # noqa: PLW0108
        store = StoreWatch(built.store, lambda problem: reconciler.report_records(problem))  # noqa: PLW0108
        state = StateFile(STATE, built.files, _compact)
        watches: tuple[Any, ...] = (forwarding, state, manager, uplink, known_good, store)
        reconciler = self.reconciler = Reconciler(inputs, watches, notifier, built.clock, world.boot_id)
        world.listeners = listeners = Listeners(reconciler.wake)
        background = Background()
        background.start("the confirmation of READY", lambda: manager.confirmed(lambda: _is_active(built)))
        background.start("the watch of the uplink", uplink.run)
        reconciler.listen_while_waiting(Topic.KERNEL, Switch(lambda on: setattr(listeners, "kernel", on)))
        reconciler.listen_while_waiting(Topic.OVS, Switch(lambda on: setattr(listeners, "ovs", on)))
        try:
            await reconciler.run()
        finally:
            manager.stopping()
            await background.end()
        known_good.ended()
        return 0

    def _settings(self) -> Settings:
        return _parsed(self.world.disk.content.get(SETTINGS, b""))


def _compact(status: dict[str, Any]) -> bytes:
    return marshal.dumps(status, MARSHALLED)  # a tenth of the time that JSON takes


async def _is_active(built: StageEdges) -> bool:
    service = await built.systemd.service("nodenetd.service")
    return service is not None and service.active_state == "active"


def stage_edges(life: Life) -> StageEdges:
    """Return every port, with the world behind it."""
    from fakes import FakeNodeDns, FakeTable  # noqa: PLC0415  (this node's DNS server is not a part of the world)

    manager, systemd, clock, files = Manager(life), SystemdEdge(life), Clock(life), Files(life)
    return StageEdges(
        host=Host(life),
        leases=LeaseNames(life),
        files=files,
        store=Store(files, KEYFILES),
        manager=manager,
        presence=NetworkManagerStarter(manager, systemd, clock),
        nmstate=Nmstate(life),
        ovsdb=Ovsdb(life),
        profiles=Profiles(life),
        sysctls=Sysctls(life),
        neighbours=Neighbours(life),
        kernel=KernelEdge(life),
        standing=StandingEdge(life),
        systemd=systemd,
        dns=DnsManager(life),
        resolved=Resolved(life),
        resolver_probe=ResolverProbe(life),
        targets=Targets(life),
        node_dns=lambda settings: FakeNodeDns(inputs=Inputs(options_of(settings), Here("worker-0"))),
        service_units=HostedUnits(life),
        redirect=FakeTable(),
        units=Units(life),
        processes=Processes(life),
        clock=clock,
        boot_id=life.world.boot_id,
    )
