"""What does nodenet-hosted know of the node and its cluster?"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from typing import Any

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.cluster import Cluster, Known, known
from nodenet.core.hosted_services.health import Verdict
from nodenet.core.hosted_services.migration_progress import Progress
from nodenet.core.hosted_services.model import Here, Inputs, Mode, Options, Place, Service, here
from nodenet.core.hosted_services.plan import Plan, plan
from nodenet.core.hosted_services.report import Report, ServiceState
from nodenet.core.hosted_services.vips import Sighting, Stance
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.value import frozen


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


log = structlog.get_logger()

AUTHORITY = "authority"
HOLD_SECONDS = 5.0
"""How long a node IP may be on no link before this node gives up the VIPs of its family."""
QUICK_NODES = 200
"""More are judged in a thread: ten thousand take a good part of a second."""


@frozen
class Sources:
    """What the inputs are made of: each is asked at every look."""

    status: Callable[[], Mapping[str, Any] | None]
    """nodenetd's status document, None while there is none."""
    snapshot: Callable[[], Snapshot]
    cluster: Callable[[], Cluster]
    remote_worker: Callable[[], bool]
    authority: Callable[[], str]
    """The CA of the API in PEM. Raises Unavailable."""


class Gather:
    """Makes the inputs of the plan; a look that fails changes nothing."""

    def __init__(self, state: State, sources: Sources) -> None:
        """Look at nothing yet."""
        self._state = state
        self._sources = sources
        self._last: tuple[Cluster, Here, frozenset[IPAddress], str] | None = None
        self._missed: dict[Family, float] = {}
        """Families whose node IP was last seen at another time, and since when it is on no link."""

    async def __call__(self) -> None:
        """Look, and take what is new into the state."""
        document = self._sources.status()
        node_ips = _node_ips(document) if document else ()
        try:
            places = here(
                self._state.node, node_ips, self._sources.snapshot(), remote_worker=self._sources.remote_worker()
            )
        except Unavailable as error:
            self._state.report_failure("kernel", str(error))
            return
        self._state.report_failure("kernel", None)
        if not places.places and self._state.here.places:
            return  # the node IP is gone for a moment, as while it moves to a bridge: the last plan stays
        places = replace(places, places=self._with_held(node_ips, places.places))
        self._look_at_authority()
        digest = hashlib.sha256(self._state.authority.encode()).hexdigest()[:16] if self._state.authority else ""
        cluster, dead, before = self._sources.cluster(), self._state.dead, self._last
        if before is not None and before[0] is cluster and before[1:] == (places, dead, digest):
            return  # what the same inputs mean is known
        slow = max((len(nodes) for nodes in cluster.nodes.values()), default=0) > QUICK_NODES
        self._state.take(
            *(
                await asyncio.to_thread(self._judge, cluster, places, dead, digest)
                if slow
                else self._judge(cluster, places, dead, digest)
            )
        )
        self._last = cluster, places, dead, digest

    def _look_at_authority(self) -> None:
        """Take the CA as it is on the disk; one that cannot be used, as half a file, leaves the one of before."""
        try:
            found = self._sources.authority()
        except Unavailable as error:
            if self._state.wanted(Service.HAPROXY) and self._state.report_failure(AUTHORITY, str(error)):
                log.error(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause, remedy=error.remedy)
            return
        self._state.report_failure(AUTHORITY, None)
        self._state.authority = found

    def _with_held(self, node_ips: tuple[IPAddress, ...], now: Mapping[Family, Place]) -> Mapping[Family, Place]:
        """Return the places of *now*, and those of published node IPs that are on no link for a moment."""
        time = asyncio.get_running_loop().time()
        gone = {
            family: place
            for family, place in self._state.here.places.items()
            if family not in now and place.address in node_ips
        }
        for family in gone.keys() - self._missed.keys():
            asyncio.get_running_loop().call_later(HOLD_SECONDS, self._state.changed)
            self._missed[family] = time
        self._missed = {family: since for family, since in self._missed.items() if family in gone}
        held = {family: place for family, place in gone.items() if time - self._missed[family] < HOLD_SECONDS}
        found = {**held, **now}
        return {family: found[family] for family in map(family_of, node_ips) if family in found}

    def _judge(self, cluster: Cluster, places: Here, dead: frozenset[IPAddress], authority: str) -> tuple[Known, Plan]:
        found = known(cluster, self._state.options, places, self._state.known.specs)
        found = replace(found, inputs=replace(found.inputs, dead=dead, authority=authority))
        return found, plan(found.inputs)


def _node_ips(document: Mapping[str, Any]) -> tuple[IPAddress, ...]:
    """Return the published node IPs; a document of another shape has none."""
    found = document.get("node_ips")
    try:
        return tuple(ip_address(text) for text in found) if isinstance(found, list) else ()
    except ValueError:
        return ()
