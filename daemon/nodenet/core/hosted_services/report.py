"""What do hosted services do on this node? One document for the bus, the file and ``nodenetctl hosted``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from enum import StrEnum
from typing import Any

from nodenet.core.hosted_services import migration
from nodenet.core.hosted_services.duties import VipDuty
from nodenet.core.hosted_services.holders import REMEDY, Sighting, holders, with_macs
from nodenet.core.hosted_services.model import Mode, Service, Spec
from nodenet.core.hosted_services.plan import Plan
from nodenet.core.hosted_services.stance import Stance
from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

SCHEMA_VERSION = 1
WITHOUT_SOURCE = "VRRP needs the node IP, which is not on the link that keepalived uses: see `nodenetctl status`"


class HostedHealth(StrEnum):
    """Hosted services of this node in one word."""

    OK = "ok"
    DEGRADED = "degraded"
    PROGRESSING = "progressing"
    DISABLED = "disabled"


@frozen
class ServiceState:
    """How one service is: wanted, running, healthy (None: not checked), and what is wrong."""

    wanted: bool
    running: bool
    healthy: bool | None = None
    problem: str | None = None
    reason: str = ""


@frozen
class Report:
    """Everything that is reported of this node."""

    plan: Plan
    node: str
    platform: str = "none"
    services: Mapping[Service, ServiceState] = field(default_factory=dict)
    stances: Mapping[IPAddress, Stance] = field(default_factory=dict)
    sightings: Mapping[IPAddress, Sighting] = field(default_factory=dict)
    peers: Mapping[str, str] = field(default_factory=dict)
    """MAC → node."""
    reachable: bool | None = None
    """Whether the API answers through its VIP, verified by the cluster's CA; None: not asked yet."""
    problems: tuple[str, ...] = ()
    spec: Spec = field(default_factory=Spec)
    """What the resource asks for, and how far a migration of the API is."""
    muted: frozenset[IPAddress] = frozenset()
    """VIPs that this node does not advertise at present (``exchange``)."""

    @property
    def all_problems(self) -> tuple[str, ...]:
        """Every problem, each a sentence with its remedy."""
        found = [*self.plan.problems, *self.problems]
        found += [f"{service}: {state.problem}" for service, state in self.services.items() if state.problem]
        for address, sighting in self.sightings.items():
            if sighting.count > 1:
                names = with_macs(sighting, self.node, self.peers)
                found.append(f"The VIP {address} has {sighting.count} holders, {names}: {REMEDY}")
        if self.reachable is False:
            addresses = " and ".join(map(str, self.plan.api_int.addresses))
            external = f"The API does not answer at the external load balancer {addresses}: see to the load balancer"
            vip = "The API does not answer through its VIP: see `nodenetctl explain vip`"
            found.append(external if self.plan.mode is Mode.EXTERNAL else vip)
        return tuple(dict.fromkeys(found))

    @property
    def health(self) -> HostedHealth:
        """Disabled, degraded with a problem, progressing until every VIP was seen on the wire, else ok."""
        if self.plan.mode is Mode.DISABLED:
            return HostedHealth.DISABLED
        if self.all_problems:
            return HostedHealth.DEGRADED
        unseen = [duty for duty in self.plan.vips if duty.wanted and not self._count(duty.address)]
        return HostedHealth.PROGRESSING if unseen else HostedHealth.OK

    def _count(self, address: IPAddress) -> int:
        sighting = self.sightings.get(address)
        return sighting.count if sighting else 0

    @property
    def phase(self) -> str:
        """What this node is doing for the VIPs or in a migration, in one word."""
        if any(state.problem and state.problem.startswith("waits") for state in self.services.values()):
            return "WaitingForPeerStack"
        stances = set(self.stances.values())
        for stance, name in _PHASES.items():
            if stance in stances:
                return name
        if self.spec.migration and not self.spec.migration.at_rest:
            return self.spec.migration.phase.value
        return {Mode.SELF_HOSTED: "SelfHosted", Mode.EXTERNAL: "External", Mode.DISABLED: "Disabled"}[self.plan.mode]


_PHASES = {
    Stance.DRAINING: "Draining",
    Stance.STAYING_OUT: "StayingOut",
    Stance.PROBING: "Probing",
}


def document(report: Report) -> dict[str, Any]:
    """Return the document, as JSON-ready values."""
    plan = report.plan
    first = next(iter(plan.api_int.addresses), None)
    return {
        "schema_version": SCHEMA_VERSION,
        "node": report.node,
        "platform": report.platform,
        "role": plan.role.value if plan.role else None,
        "mode": plan.mode.value,
        "phase": report.phase,
        "api_int": {
            "address": str(first) if first else None,
            "addresses": [str(address) for address in plan.api_int.addresses],
            "source": plan.api_int.origin.value,
        },
        "api_reachable": report.reachable,
        "switched_off": list(report.spec.switched_off),
        "migration": _migration(report.spec),
        "vips": [_vip(report, duty) for duty in plan.vips],
        "services": [_service(service, state) for service, state in report.services.items()],
        "health": report.health.value,
        "problems": list(report.all_problems),
    }


def _migration(spec: Spec) -> dict[str, Any] | None:
    if spec.migration is None:
        return None
    return {**migration.render(spec.migration), "asked": [str(address) for address in spec.api_int_addresses]}


def _vip(report: Report, duty: VipDuty) -> dict[str, Any]:
    sighting = report.sightings.get(duty.address)
    stance = report.stances.get(duty.address)
    gone = duty.wanted and duty.address in report.muted
    candidate = duty.wanted and not gone
    return {
        "address": str(duty.address),
        "purpose": duty.purpose.value,
        "candidate": candidate,
        "reason": WITHOUT_SOURCE if gone else duty.reason,
        "stance": stance.value if stance and candidate else None,
        "here": sighting is not None and sighting.here,
        "holders": list(holders(sighting, report.node, report.peers)) if sighting else [],
    }


def _service(service: Service, state: ServiceState) -> dict[str, Any]:
    return {
        "name": service.value,
        "wanted": state.wanted,
        "running": state.running,
        "healthy": state.healthy,
        "problem": state.problem,
        "reason": state.reason,
    }
