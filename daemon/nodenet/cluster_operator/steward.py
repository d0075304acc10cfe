"""Is the status of the object HostedNetServices what the nodes report? Whatever differs is written.

The object is made where there is none. Everything is read again after a restart: nothing is kept but the status.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog

from nodenet.core.errors import Forbidden, Unavailable
from nodenet.core.hosted_cluster import cluster_status, leases, migration_steps
from nodenet.core.hosted_cluster.cluster_status import Claims, Seen, claims, lonely, remembered
from nodenet.core.hosted_cluster.leases import LOOK_SECONDS, NAMESPACE, Heartbeats
from nodenet.core.hosted_cluster.metrics import Figures
from nodenet.core.hosted_cluster.migration_steps import WAIT_SECONDS, View, first_record
from nodenet.core.hosted_cluster.node_report import members, slim_reporting_node
from nodenet.core.hosted_services import migration as record
from nodenet.core.hosted_services import resource
from nodenet.core.hosted_services.duties import why_disabled
from nodenet.core.hosted_services.migration import Migration, Phase
from nodenet.core.hosted_services.model import Options, Spec
from nodenet.core.hosted_services.nodes import Known
from nodenet.core.hosted_services.units import Budget
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.persistent_ips.model import Conflict
from nodenet.hosted.follower import LONGEST_SECONDS, Follower, Kind
from nodenet.ports.kubernetes import Objects

MIGRATION_LOOK_SECONDS = 1.0
"""How often the deadline is looked at while something moves."""
SIGHT_SECONDS = LONGEST_SECONDS + 15.0
"""So long at least the nodes can report before a deadline that has passed ends a phase: the API, or every operator, may
have been away until then, and a node asks again after ``LONGEST_SECONDS`` at most. An operator that has just begun sees
no sooner that the Lease of a dead node has expired."""


class Migrator:
    """Keeps the record in the object; nothing else is kept, so that any operator continues it."""

    def __init__(self, options: Options, clock: Callable[[], datetime]) -> None:
        """*clock* returns the time, with its zone."""
        self._options = options
        self._clock = clock
        self._watched: tuple[int, Phase] | None = None
        self._since = 0.0
        self._last: Migration | None = None
        """The last record that was heard: it goes on in an object that was deleted and made again."""
        self.pause: float | None = None
        """The seconds until the next look, None while nothing moves."""

    def lost_sight(self) -> None:
        """Note that the API does not answer: what nodes report does not arrive."""
        self._watched = None

    def heard(self, document: object) -> None:
        """Take the record of the object as the API has it, for the case that the object is deleted."""
        with suppress(ValueError):
            self._last = record.parse(document) or self._last

    def next(self, status: Mapping[str, Any], view: View) -> Migration | None:
        """Return the record after *status*, None where the cluster has none yet.

        With settings that switch hosted services off the record stays as it is: nodes are still in its phase.
        """
        self.pause = None
        try:
            before = record.parse({"status": status})
        except ValueError:
            before = None
        if why_disabled(self._options):
            return before
        if before is None:
            # Generations of another object say nothing about this one.
            return replace(self._last, failed=0) if self._last else first_record(view)
        is_due, is_late = (self._is_over(before, further) for further in (0.0, WAIT_SECONDS))
        after = migration_steps.step(before, replace(view, is_due=is_due, is_late=is_late))
        if (after.attempt, after.phase, after.outcome, after.failed) != (
            *(before.attempt, before.phase, before.outcome, before.failed),
        ):
            seconds = migration_steps.seconds(after, self._options)
            deadline = rendered(self._clock() + timedelta(seconds=seconds)) if seconds is not None else ""
            after = replace(after, deadline=deadline)
        self.pause = None if after.at_rest else MIGRATION_LOOK_SECONDS
        return after

    def _is_over(self, before: Migration, further: float) -> bool:
        """Return whether the deadline and *further* seconds are over, and the nodes could report.

        A phase that was watched for its whole length is over whatever the deadline says: the clock that it was written
        by may have been ahead.
        """
        now = asyncio.get_running_loop().time()
        if self._watched != (before.attempt, before.phase):
            self._watched, self._since = (before.attempt, before.phase), now
        longest, watched = migration_steps.seconds(before, self._options), now - self._since - further
        if longest is None:
            return False
        try:
            over = self._clock() - timedelta(seconds=further) >= datetime.fromisoformat(before.deadline)
        except (TypeError, ValueError):  # without one, or without a zone
            over = not before.at_rest
        return watched >= (min(SIGHT_SECONDS, longest) if over else longest)


def rendered(moment: datetime) -> str:
    """Return a time as the API has it (RFC 3339), in whole seconds."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


log = structlog.get_logger()

NODES = "/api/v1/nodes"
RESOURCES = f"/apis/{resource.GROUP}/{resource.VERSION}/hostednetservices"
LEASES = f"/apis/coordination.k8s.io/v1/namespaces/{NAMESPACE}/leases"
SETTLE_SECONDS = 0.5
"""Reports that come together are one status."""
BURST, PAUSE_SECONDS = 5, 20.0
"""So many statuses at once, and one more after each pause: every node of the cluster gets each of them."""
NODE_SECONDS = 0.1
"""The pause for each node, where that is longer: twice the nodes are twice the readers of a status twice as long."""
REFUSED_SECONDS = 30.0
SIGHT = frozenset({"nodes", "leases"})
"""What must be heard to know what the nodes do now."""
UNHEARD_SECONDS = 90.0
"""How long it may be unheard, while the object is heard, before a condition says so."""
NEW = {
    "apiVersion": f"{resource.GROUP}/{resource.VERSION}",
    "kind": resource.KIND,
    "metadata": {"name": resource.NAME},
    "spec": {},
}


class Steward:
    """Keeps the object and its status, while this operator leads."""

    def __init__(
        self,
        api: Objects,
        options: Options,
        leads: Callable[[], bool],
        clock: Callable[[], datetime],
        announce: Callable[[Sequence[Mapping[str, Any]]], None],
    ) -> None:
        """*leads* is asked before each write. *clock* returns the time, with its zone.

        *announce* gets the conditions whenever they were made.
        """
        self._announce = announce
        self._api = api
        self._options = options
        self._leads = leads
        self._clock = clock
        self.figures = Figures()
        self._wake = asyncio.Event()
        self._since: float | None = None
        """When something changed that no status shows yet."""
        self._held = False
        """Whether a status waits to be written."""
        self._moved = False
        """Whether the last status that was made begins another phase of a migration."""
        self._nodes: Known | None = None
        self._objects: Known | None = None
        self._beats: Heartbeats | None = None
        self._migrator = Migrator(options, clock)
        self._spec: Spec | None = None
        """The last good one."""
        self._heard: Mapping[str, Any] = {}
        """The spec of the object, as the API had it last: one that was deleted is made again."""
        self._lonely: Mapping[IPAddress, float] | None = None
        self._claims: Claims = {}
        self._problems: dict[str, str] = {}
        self._unheard_since: float | None = None

    async def follow_nodes(self) -> None:
        """Follow the Nodes with their reports. Never ends."""
        await self._follow("nodes", Kind(NODES, slim_reporting_node), self._hear_nodes)

    async def follow_resource(self) -> None:
        """Follow the object. Never ends."""
        await self._follow("resource", Kind(RESOURCES, _whole, resource.NAME), self._hear_objects)

    async def read_leases(self) -> None:
        """Read the Leases of all nodes from time to time. Never ends."""
        while True:
            if self._objects is not None:
                try:
                    found = await self._api.items(LEASES)
                    before = self._beats or leases.started(cluster_status.silent(self.status))
                    self._beats = leases.after(before, found, _now())
                    self._note("leases", None)
                except Unavailable as error:
                    self._note("leases", error.cause)
                self._changed()
            await asyncio.sleep(LOOK_SECONDS if self._objects is not None else 1.0)

    async def run(self) -> None:
        """Write what differs, until cancelled."""
        budget = Budget(BURST, PAUSE_SECONDS)
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._pause(budget)):
                    await self._wake.wait()
            await asyncio.sleep(SETTLE_SECONDS)
            self._wake.clear()
            since, self._since = self._since, None
            nodes = len(self._nodes.objects) if self._nodes else 0
            budget = replace(budget, seconds=max(PAUSE_SECONDS, NODE_SECONDS * nodes))
            try:
                if await self._bring(held=budget.wait(_now()) > 0):
                    budget = budget if self._moved else budget.used(_now())
                    self.figures.statuses.observe(_now() - (since or _now()))
                self._since = since if self._held else self._since
                self._note("write", None)
            except Conflict:  # the object was changed; what follows it wakes this
                self._since = since
            except Unavailable as error:
                self._note("write", error.cause)
                self._since = since
                await asyncio.sleep(PAUSE_SECONDS)
                self._wake.set()

    def _pause(self, budget: Budget) -> float | None:
        """Return when to look again although nothing is heard: a phase may end, or a held status may be written."""
        ends = [self._migrator.pause, budget.wait(_now()) if self._held else None]
        return min((end for end in ends if end is not None), default=None)

    async def _bring(self, *, held: bool) -> bool:
        """Write the object or its status where it differs; return whether that was so. Raises Conflict, Unavailable.

        *held*: only the next phase of a migration is written now, for which all nodes wait: it costs no budget.
        """
        if self._objects is None or not self._leads():
            return False
        found = self._objects.objects.get(resource.NAME)
        if found is None and self._nodes is None:
            return False
        if found is None:
            await self._api.create(RESOURCES, {**NEW, "spec": self._heard})
            how = "with the spec of the deleted one" if self._heard else "with every service on"
            log.info(f"The object HostedNetServices was made, {how}")
            return True
        before, wanted = self.status, self._wanted(found)
        if wanted is None:
            return False
        self._announce(wanted["conditions"])
        self._moved = cluster_status.begins_phase(before, wanted)
        differs = any(before.get(key) != value for key, value in wanted.items())
        self._held = differs and held and not self._moved
        if self._held or not differs:
            return False
        version = {"resourceVersion": found["metadata"]["resourceVersion"]}
        change = {"metadata": version, "status": wanted}
        await self._api.merge(f"{RESOURCES}/{resource.NAME}/status", change)
        await self._report(cluster_status.news(before, wanted), str(found["metadata"].get("uid") or ""))
        return True

    def _wanted(self, found: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the status. If the nodes were never read: None, and after some time that of before with the cause."""
        now = rendered(self._clock())
        if self._nodes is not None and self._beats is not None:
            return cluster_status.status(self._seen(found, self._nodes, self._beats), self.status, now)
        cause = self._unheard(_now())
        if not cause or why_disabled(self._options):
            return None
        return cluster_status.unheard(cause, self.status, _generation(found), now)

    def _seen(self, found: Mapping[str, Any], nodes: Known, beats: Heartbeats) -> Seen:
        now, problem = _now(), ""
        try:
            # The record of a migration is this operator's own: one that cannot be read is made again.
            self._spec = resource.spec_of({**found, "status": {}})
        except resource.ResourceInvalid as error:
            problem = str(error)
        listed = [nodes.objects[name] for name in sorted(nodes.objects)]
        present = members(listed, beats.alive)
        seen = Seen(
            self._options,
            self._spec or Spec(),
            _generation(found),
            present,
            problem,
            now=now,
            uid=str(found["metadata"].get("uid") or ""),
        )
        if self._problems.keys() & SIGHT:
            self._migrator.lost_sight()
        seen = replace(seen, unheard=self._unheard(now))
        view = View(self._options, self._spec, seen.generation, present, uid=seen.uid)
        migration = self._migrator.next(self.status, view)
        seen = replace(seen, migration=migration)
        known = remembered(self.status, seen) if self._lonely is None else self._lonely
        self._lonely, self._claims = lonely(known, seen), claims(self._claims, seen)
        return replace(seen, lonely=self._lonely, claims=self._claims)

    def _unheard(self, now: float) -> str:
        """Return why nothing was read about the nodes for some time, although the API answers."""
        causes = [self._problems[topic] for topic in sorted(SIGHT) if topic in self._problems]
        if not causes or "resource" in self._problems:
            self._unheard_since = None
            return ""
        self._unheard_since = now if self._unheard_since is None else self._unheard_since
        return causes[0] if now - self._unheard_since >= UNHEARD_SECONDS else ""

    @property
    def status(self) -> Mapping[str, Any]:
        """The status of the object as the API has it, empty without one."""
        found = self._objects.objects.get(resource.NAME) if self._objects else None
        status = found.get("status") if found else None
        return status if isinstance(status, Mapping) else {}

    def _hear_nodes(self, known: Known) -> None:
        self._nodes = known
        self._changed()

    def _hear_objects(self, known: Known) -> None:
        self._objects = known
        if found := known.objects.get(resource.NAME):
            self._heard = found.get("spec") or {}
            self._migrator.heard(found)
        self._changed()

    def _changed(self) -> None:
        self._since = _now() if self._since is None else self._since
        self._wake.set()

    async def _follow(self, topic: str, kind: Kind, heard: Callable[[Known], None]) -> None:
        while True:
            try:
                await Follower(self._api, kind, heard, lambda problem: self._note(topic, problem)).run()
            except Forbidden as error:  # the manifests may be applied later
                self._note(topic, str(error))
                await asyncio.sleep(REFUSED_SECONDS)

    def _note(self, topic: str, problem: str | None) -> None:
        before = self._problems.pop(topic, None)
        if problem is not None:
            self.figures.failures += 1
            self._problems[topic] = problem
            if before is None:
                log.warning(problem, message=Message.API_FAILED, cause=problem)

    async def _report(self, news: Sequence[cluster_status.News], uid: str) -> None:
        """Log the changes of a status that was written, and create an Event for each; a refused Event is lost."""
        for one in news:
            if one.failed:
                log.warning(one.text, message=one.message, cause=one.text)
            else:
                log.info(one.text, message=one.message)
        try:
            for one in news:
                await self._api.create(cluster_status.EVENTS, cluster_status.event(one, uid, rendered(self._clock())))
        except Unavailable as error:
            self._note("events", error.cause)
        else:
            self._note("events", None)


def _generation(found: Mapping[str, Any]) -> int:
    generation = found["metadata"].get("generation")
    return generation if isinstance(generation, int) else 0


def _whole(item: Mapping[str, Any]) -> Mapping[str, Any]:
    return item


def _now() -> float:
    return asyncio.get_running_loop().time()
