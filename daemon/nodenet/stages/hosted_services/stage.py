"""The hosted-services stage: do this node's DNS and its VIPs work as the cluster needs them?

It starts nodenet-hosted, which decides about VIPs and the load balancer and then sends READY to systemd. The stage is
over when that has happened and DNS answers on the node IP. Both waits are bounded: kubelet runs the API servers, so it
is never held back for ever.
"""

from __future__ import annotations

import asyncio
import hashlib

from nodenet.core.boot.outcome import Again, Done, Facts, Outcome, Problem, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.errors import PublishFailed, Unavailable, UnitFailed
from nodenet.core.hosted_services import dns
from nodenet.core.hosted_services.dns import LOOK_SECONDS, PATIENCE_SECONDS, UNWELL_SECONDS, WELL_SECONDS, verdict
from nodenet.core.hosted_services.duties import why_disabled
from nodenet.core.hosted_services.model import COMPANION, STARTED, UNITS, Here, Service, options_of
from nodenet.core.hosted_services.units import Restarts, Running
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.open_vswitch import OvsBridge
from nodenet.core.settings.model import HostedMode, Settings
from nodenet.core.since import NEVER, backoff
from nodenet.core.stage_name import StageName
from nodenet.core.value import frozen
from nodenet.ports import Clock, Files, Ovsdb, ResolverProbe
from nodenet.ports.hosted_services import NodeDns, RedirectTable, ServiceUnits
from nodenet.stage_edges import StageEdges

# By which links do other hosts reach this node's DNS? Open vSwitch's database knows it of its own links.

ANSWER_SECONDS, RETRY_SECONDS = 1.0, 60.0
"""The start of dnsmasq waits for the answer."""


class OutsideLinks:
    """The links that lead to other hosts; the database is asked only where its links have changed."""

    def __init__(self, ovsdb: Ovsdb, clock: Clock) -> None:
        """Know of no bridge yet."""
        self._ovsdb = ovsdb
        self._clock = clock
        self._bridges: tuple[OvsBridge, ...] = ()
        self._asked: frozenset[str] = frozenset()
        self._due = 0.0

    async def look(self, here: Here, snapshot: Snapshot) -> tuple[str, ...]:
        """Return them by name. While the database does not answer, its last answer counts."""
        wanted, now = dns.open_questions(here, snapshot), self._clock.boottime()
        if wanted != self._asked and now >= self._due:
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    self._bridges = await self._ovsdb.bridges() if wanted else ()
                self._asked = wanted
            except (TimeoutError, Unavailable):
                self._due = now + RETRY_SECONDS
        return dns.outside(here, snapshot, self._bridges)


# Has nodenet-hosted decided, and does DNS answer?

TOPICS = frozenset({Topic.NODE_IP, Topic.DNS, Topic.UNIT, Topic.BUS})
NOT_NOW = "Hosted services cannot be decided"
STOPPED = (COMPANION, UNITS[Service.KEEPALIVED], UNITS[Service.HAPROXY])
"""In this order: the companion would start the others again."""


@frozen
class HostedEdges:
    """Everything outside that hosted services are seen by."""

    units: ServiceUnits
    dns: NodeDns
    probe: ResolverProbe
    redirect: RedirectTable
    files: Files
    clock: Clock


class HostedServicesStage:
    """Starts the companion and waits, for a bounded time, until DNS and VIPs are decided."""

    def __init__(self, outside: HostedEdges, settings: Settings) -> None:
        """*settings* say whether this node has hosted services."""
        self._outside = outside
        self._settings = settings
        self._waits = NEVER
        self._started: bytes | None = None
        """The mark with which this nodenetd started the companion. The file with the mark may not be writable."""
        self._restarts = Restarts()
        self._down: Problem | None = None
        """Why the companion did not run when it was last seen to have ended."""
        self._failures = 0
        """Looks in a row that found no companion."""
        self._due = 0.0
        """When the next one of them is due (CLOCK_BOOTTIME)."""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002  (no request is for it)
        """Return Done when all is decided or the time for it is over, Waiting before, Skipped where nothing runs."""
        if why := why_disabled(options_of(self._settings)):
            return await self._disabled(why, facts)
        if facts.selection is None or not facts.selection.node_ips:
            # nodeip has failed, which has its own reason; READY waits for it, and nothing else has to.
            return Skipped("there is no node IP", facts, again=Again(TOPICS))
        now = self._outside.clock.boottime()
        self._waits = self._waits.holds(now)
        try:
            given = await self._outside.dns.judged(facts)
            companion = await self._companion(now, facts)
            silent = await self._silent(facts)
        except (PublishFailed, Unavailable, UnitFailed) as error:
            problem = Problem(
                Message.HOSTED_FAILED, f"{NOT_NOW}: {error.cause}", error.remedy or "See `nodenetctl status`"
            )
            return Done(NOT_NOW, facts, Message.HOSTED_CHANGED, problem, Again(TOPICS, self._pause(now)))
        found = verdict(given.plan, given.problems, companion, silent=silent, stuck=self._outside.dns.stuck)
        left = self._waits.left(now, PATIENCE_SECONDS)
        if found.awaited and left > 0:
            return Waiting(found.awaited, TOPICS, min(left, LOOK_SECONDS))
        if companion is None or not companion.is_up:
            seconds = self._pause(now)
        else:
            self._failures, self._due, seconds = 0, 0.0, found.seconds
        shown = self._same_while_it_starts(companion, found.problem)
        return Done(found.detail, facts, Message.HOSTED_CHANGED, shown, Again(TOPICS, seconds))

    def _same_while_it_starts(self, companion: Running | None, problem: Problem | None) -> Problem | None:
        """Return *problem*, or the one from before while a companion that has failed starts: that is no news yet."""
        if companion and companion.is_settling:
            return self._down or problem
        self._down = problem if companion and not companion.is_up else None
        return problem

    def _pause(self, now: float) -> float:
        """Return the seconds until the next look at what is missing; looks in between, for an event, do not count."""
        if now >= self._due:
            self._failures += 1
            self._due = now + backoff(self._failures, UNWELL_SECONDS, WELL_SECONDS)
        return self._due - now

    async def _companion(self, now: float, facts: Facts) -> Running | None:
        """Make nodenet-hosted run with the present settings; return its state, None while systemd does not answer."""
        units, files = self._outside.units, self._outside.files
        try:
            running = await units.state(COMPANION)
        except Unavailable:
            return None
        wanted = self._mark(facts)
        if wanted not in (self._started, files.read(STARTED)):
            await (units.restart if running.is_up or running.is_settling else units.start)(COMPANION)
            self._started = wanted
        elif running.is_up:
            self._restarts = Restarts()
        elif not running.is_settling and self._restarts.left(now) <= 0:
            self._restarts = self._restarts.after_start(now)
            await units.start(COMPANION)
        files.write(STARTED, wanted)
        return running

    def _mark(self, facts: Facts) -> bytes:
        """Return what the companion was started with: other settings, and another host name, are read by a start."""
        kubernetes = self._settings.kubernetes
        name = kubernetes.node_name or facts.hostname
        settings = repr((options_of(self._settings), self._settings.hosted, kubernetes, name))
        return hashlib.sha256(settings.encode()).hexdigest().encode()

    async def _silent(self, facts: Facts) -> tuple[IPAddress, ...] | None:
        """Return the node IPs, one a family, that answer no DNS; None where it is not nodenet's to see to it."""
        ours = self._settings.stages[StageName.RESOLV_PREPENDER] == "builtin"
        rendered = self._settings.hosted.mode is HostedMode.RENDER
        if not ours or rendered or facts.selection is None or await self._outside.dns.waits(facts):
            return None
        name = f"api.{self._settings.cluster_domain}"  # from disk, whatever the resource says and no server answers
        first: dict[Family, IPAddress] = {}
        for address in facts.selection.node_ips:
            first.setdefault(family_of(address), address)  # dnsmasq listens on it
        answers = await asyncio.gather(*(self._outside.probe.answers(one, name) for one in first.values()))
        return tuple(one for one, answered in zip(first.values(), answers, strict=True) if not answered)

    async def _disabled(self, why: str, facts: Facts) -> Outcome:
        """Stop what earlier settings of this boot started; where nothing was, systemd is not asked."""
        if self._outside.files.read(STARTED) is None:
            return Skipped(why, facts)
        try:
            for unit in STOPPED:
                await self._outside.units.stop(unit)
            await self._outside.redirect.remove()
            self._outside.files.remove(STARTED)
        except (PublishFailed, Unavailable, UnitFailed) as error:
            problem = Problem(Message.HOSTED_FAILED, f"Hosted services are not stopped: {error.cause}", error.remedy)
            return Done(why, facts, Message.HOSTED_CHANGED, problem, Again(TOPICS, UNWELL_SECONDS))
        return Skipped(why, facts)


def build(edges: StageEdges, settings: Settings) -> HostedServicesStage:
    """Return the stage for *settings*."""
    own = HostedEdges(
        edges.service_units,
        edges.node_dns(settings),
        edges.resolver_probe,
        edges.redirect,
        edges.files,
        edges.clock,
    )
    return HostedServicesStage(own, settings)
