"""Which ports can a stage use? Every port once; the assembly puts edges in, tests put fakes in."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nodenet import ports
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.settings.model import Settings
from nodenet.core.value import frozen
from nodenet.ports.hosted_services import NodeDns, RedirectTable, ServiceUnits


class Presence(Protocol):
    """NetworkManager's presence on the bus; one for the whole run, so that a reload adds no starts."""

    async def look(self) -> tuple[ManagerState, str]:
        """Return how far NetworkManager is, and the words of the wait for it; never raises."""

    @property
    def starts_endlessly(self) -> bool:
        """Whether NetworkManager was starting at the last look, for so long that this may never end."""


@frozen
class StageEdges:
    """Every edge of the daemon that a stage may want."""

    host: ports.Host
    leases: ports.LeaseNames
    files: ports.Files
    store: ports.Store
    manager: ports.Manager
    presence: Presence
    nmstate: ports.Nmstate
    ovsdb: ports.Ovsdb
    profiles: ports.Profiles
    sysctls: ports.Sysctls
    neighbours: ports.Neighbours
    kernel: ports.Kernel
    standing: ports.Standing
    systemd: ports.Systemd
    dns: ports.DnsManager
    resolved: ports.Resolved
    resolver_probe: ports.ResolverProbe
    targets: ports.Targets
    node_dns: Callable[[Settings], NodeDns]
    """Makes DNS of this node, for the settings in force."""
    service_units: ServiceUnits
    redirect: RedirectTable
    units: ports.Units
    processes: ports.Processes
    clock: ports.Clock
    boot_id: str


class Build(Protocol):
    """The function ``build`` of a stage's module."""

    def __call__(self, edges: StageEdges, settings: Settings) -> ports.Stage:
        """Return the stage for *settings*."""
