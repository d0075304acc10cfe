"""What does the companion know and want now? One object, which its tasks share; each task writes its own part."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field

from nodenet.core.hosted_services.cluster import Known
from nodenet.core.hosted_services.health import Verdict
from nodenet.core.hosted_services.migration_progress import Progress
from nodenet.core.hosted_services.model import Here, Inputs, Mode, Options, Place, Service
from nodenet.core.hosted_services.plan import Plan, plan
from nodenet.core.hosted_services.report import Report, ServiceState
from nodenet.core.hosted_services.vips import Sighting, Stance
from nodenet.core.ip import Family, IPAddress


@dataclass(slots=True)
class State:
    """Everything that is known; *wake* is set after each change."""

    node: str
    options: Options
    known: Known = field(init=False)
    plan: Plan = field(init=False)
    running: dict[Service, bool] = field(default_factory=dict)
    waits: dict[Service, str] = field(default_factory=dict)
    """Why another stack keeps a service from running."""
    missing: dict[Service, str] = field(default_factory=dict)
    """The path of a service's program where it is not on this node."""
    hung: set[Service] = field(default_factory=set)
    """Services that run and do nothing: they are restarted."""
    decided: bool = False
    """Whether units, other stacks and node IPs were looked at once: before that, nothing is removed."""
    failures: dict[str, str] = field(default_factory=dict)
    """What is wrong, by topic: a sentence with the remedy."""
    sources: Mapping[Family, Place] = field(default_factory=dict)
    """The places in the configuration that keepalived has read; empty until that is known."""
    muted: frozenset[IPAddress] = frozenset()
    """VIPs that this node must not advertise now (``core.hosted_services.vips``)."""
    stances: dict[IPAddress, Stance] = field(default_factory=dict)
    sightings: dict[IPAddress, Sighting] = field(default_factory=dict)
    peers: dict[str, str] = field(default_factory=dict)
    """MAC → node, as the kernel knows its neighbours."""
    dead: frozenset[IPAddress] = frozenset()
    """The addresses at which the API does not answer, and which another one replaces for ``api-int``."""
    authority: str = ""
    """The CA of the API, in PEM; empty until it was read."""
    verdicts: dict[str, Verdict] = field(default_factory=dict)
    reachable: bool | None = None
    asked: IPAddress | None = None
    """The address that *reachable* is about: for some seconds that of before, when ``api-int`` has got another one."""
    progress: Progress | None = None
    """This node's part of a migration, None while nothing moves."""
    drained: bool = False
    wake: asyncio.Event = field(default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        """Begin with a node that has no address yet."""
        self.take(Known(Inputs(self.options, Here(self.node))))

    def take(self, known: Known, made: Plan | None = None) -> None:
        """Take other inputs, and the plan *made* of them; None: make it."""
        self.known, self.plan = known, made or plan(known.inputs)

    @property
    def here(self) -> Here:
        """This node's places."""
        return self.known.inputs.here

    def wanted(self, service: Service) -> bool:
        """Return whether a service runs here according to the plan."""
        return any(duty.wanted for duty in self.plan.duties if duty.service is service)

    def lacks_authority(self, service: Service) -> bool:
        """Return whether haproxy would end at its start, because the file with its CA is not there yet."""
        return service is Service.HAPROXY and not self.authority

    def changed(self) -> None:
        """Let what follows from the state be done."""
        self.wake.set()

    def report_failure(self, topic: str, problem: str | None) -> bool:
        """Keep or forget what is wrong with *topic*; return whether that is new."""
        before = self.failures.get(topic)
        if problem is None:
            self.failures.pop(topic, None)
        else:
            self.failures[topic] = problem
        if before != problem:
            self.changed()
        return before != problem

    def report(self) -> Report:
        """Return what is reported."""
        return Report(
            self.plan,
            self.node,
            self.options.platform,
            self._services(),
            dict(self.stances),
            dict(self.sightings),
            dict(self.peers),
            self._reachable(),
            (*self.known.problems, *self.failures.values()),
            self.known.inputs.spec,
            self.muted,
        )

    def _reachable(self) -> bool | None:
        """Return whether the API answers; a failure of the address of before says nothing about the present one."""
        is_old = self.asked is not None and self.asked not in self.plan.api_int.addresses
        return None if is_old and self.reachable is False else self.reachable

    def _services(self) -> Mapping[Service, ServiceState]:
        found = {}
        for duty in self.plan.duties:
            service = duty.service
            running = self.running.get(service, False)
            found[service] = ServiceState(
                duty.wanted, running, self._healthy(service), self._problem(service), duty.reason
            )
        return found

    def _healthy(self, service: Service) -> bool | None:
        verdict = self.verdicts.get(service) if service is Service.HAPROXY else None
        return verdict.healthy if verdict and self.running.get(service) else None

    def _problem(self, service: Service) -> str | None:
        if not self.decided or self.plan.mode is Mode.DISABLED or not self.wanted(service):
            return None
        if waits := self.waits.get(service):
            return f"waits: {waits}"
        if program := self.missing.get(service):
            return f"its program {program} is not installed: install {service}"
        if self.lacks_authority(service) and not self.running.get(service):
            return "it starts as soon as the CA of the API can be read"
        if service in (Service.KEEPALIVED, Service.HAPROXY) and not self.running.get(service) and not self.drained:
            return f"it does not run: see `systemctl status nodenet-{service}`"
        return None
