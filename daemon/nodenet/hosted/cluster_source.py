"""What is known about the cluster: from the API while it answers, and from this node's disk at any time?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import structlog

from nodenet.core.errors import Forbidden, PublishFailed
from nodenet.core.hosted_services import cluster, resource
from nodenet.core.hosted_services.cluster import Cached, CacheInvalid, Cluster
from nodenet.core.hosted_services.model import Origin
from nodenet.core.hosted_services.nodes import Known, has_control_plane, slim_node, slim_resource
from nodenet.core.hosted_services.resource import QUICK_BYTES
from nodenet.core.hosted_services.units import Budget
from nodenet.core.messages import Message
from nodenet.core.value import frozen
from nodenet.hosted.follower import REFUSED_SECONDS, Follower, Kind
from nodenet.hosted.state import QUICK_NODES
from nodenet.ports.hosted_services import CacheFiles
from nodenet.ports.kubernetes import Cluster as ApiCluster

log = structlog.get_logger()

NODES = "/api/v1/nodes"
RESOURCES = f"/apis/{resource.GROUP}/{resource.VERSION}/hostednetservices"
OWN = "own"
"""What is known about this node's own Node if the credentials may not list all Nodes."""
FILE_SECONDS = 5.0
BURST, PAUSE_SECONDS = 5, 15.0
"""So many changes of the cluster are taken at once, and one more after each pause."""
MOST_CAUSES = 8
"""Of one outage that are logged."""
RETRY_SECONDS = 900.0
"""After so long with its own Node only, the node asks for the whole list again."""


@frozen
class Identity:
    """This node's name, its cluster and its boot: a cache of another cluster is not used."""

    node: str
    cluster_domain: str
    boot_id: str


class ClusterSource:
    """The documents about the cluster, each from its sources."""

    def __init__(self, api: ApiCluster, files: CacheFiles, identity: Identity, changed: Callable[[], None]) -> None:
        """*changed* is called after each change of ``cluster`` or ``problem``."""
        self._api = api
        self._files = files
        self._node = identity.node
        self._domain = identity.cluster_domain
        self._boot_id = identity.boot_id
        self._changed = changed
        self._failures: dict[str, str] = {}
        self._logged: dict[str, set[str]] = {}
        """The causes that were logged since the API answered last: one may take the place of another."""
        self._heard: dict[str, Known] = {}
        """What the API has said since it was taken last."""
        self._wake = asyncio.Event()
        self._edited = asyncio.Event()
        """Set while the API has another spec than the one in force."""
        self._last_filed: Any = None
        self._unusable = ""
        self._led = False
        """Whether a list of nodes had one of the control plane."""
        self.cluster = Cluster()
        self._migration: Mapping[str, Any] | None = None
        """The last record of a migration."""
        self._good: Mapping[str, Any] | None = None
        """The last object that could be used, with the last record."""
        self.is_asked_for = False
        """Whether the cluster has the object HostedNetServices: without it, nothing reads what nodes report."""

    @property
    def generation(self) -> int:
        """The generation of the live object that is in force, 0 without one."""
        found = self._metadata.get("generation")
        return found if isinstance(found, int) else 0

    @property
    def uid(self) -> str:
        """The uid of the live object that is in force, empty without one."""
        return str(self._metadata.get("uid") or "")

    @property
    def _metadata(self) -> Mapping[str, Any]:
        return (self.cluster.resources.get(Origin.LIVE) or {}).get("metadata") or {}

    @property
    def problem(self) -> str | None:
        """Why the API does not answer, None while it does."""
        return next(iter(self._failures.values()), None)

    async def read_disk(self) -> None:
        """Take what the caches and the administrator's file have; what is long is read in a thread."""
        documents = {name: await self._cached(name) for name in ("cr", "nodes")}
        filed = await self._filed()
        resources = {Origin.CACHE: documents["cr"], Origin.FILE: filed}
        nodes = {Origin.CACHE: documents["nodes"]}
        self._led = has_control_plane(documents["nodes"])
        self._migration = cluster.migration_in(documents["cr"])
        self._good = documents["cr"] if cluster.is_usable(documents["cr"]) else None
        self.cluster = Cluster(_present(resources), _present(nodes))

    async def follow_file(self) -> None:
        """Take each change of the administrator's file; one that cannot be used replaces none. Never ends."""
        while True:
            await asyncio.sleep(FILE_SECONDS)
            filed, others = await self._filed(), _without(self.cluster.resources, Origin.FILE)
            if filed != self.cluster.resources.get(Origin.FILE):
                self.cluster = replace(self.cluster, resources=others | _present({Origin.FILE: filed}))
                self._changed()

    async def take(self) -> None:
        """Take what the API says and keep it on disk, with pauses while it goes on changing. Never ends.

        Each change reloads keepalived and haproxy and empties dnsmasq's cache, and Nodes are written by other hosts. An
        edited spec is an administrator's, and is taken at once.
        """
        budget = Budget(BURST, PAUSE_SECONDS)
        while True:
            await self._wake.wait()
            with suppress(TimeoutError):
                async with asyncio.timeout(budget.wait(_now())):
                    await self._edited.wait()
            self._wake.clear()
            edited = self._edited.is_set()
            self._edited.clear()
            heard, self._heard = self._heard, {}
            for name, known in heard.items():
                await self._take(name, known)
            budget = budget if edited else budget.used(_now())
            self._changed()

    async def follow_nodes(self) -> None:
        """Follow all Nodes; only this node's own where the credentials may not list them. Never ends."""
        while True:
            try:
                await self._follow("nodes", Kind(NODES, slim_node))
            except Forbidden:
                try:
                    async with asyncio.timeout(RETRY_SECONDS):
                        await self._follow("nodes", Kind(NODES, slim_node, self._node), OWN)
                except TimeoutError:
                    continue
                except Forbidden as error:
                    self._fail("nodes", str(error))
                    await asyncio.sleep(REFUSED_SECONDS)

    async def follow_resource(self) -> None:
        """Follow the HostedNetServices object; a cluster that has no such kind is asked again from time to time."""
        while True:
            try:
                await self._follow("cr", Kind(RESOURCES, slim_resource, resource.NAME))
            except Forbidden:  # an answer: the API is there, and has no such kind or keeps it to itself
                self._fail("cr", None)
                await asyncio.sleep(REFUSED_SECONDS)

    async def _follow(self, name: str, kind: Kind, heard: str = "") -> None:
        take = partial(self._hear, heard or name)
        await Follower(self._api, kind, take, lambda problem: self._fail(name, problem)).run()

    def _fail(self, name: str, problem: str | None) -> None:
        before = self._failures.get(name)
        if problem is None:
            self._failures.pop(name, None)
        else:
            self._failures[name] = problem
        known = problem in [other for topic, other in self._failures.items() if topic != name]
        logged = self._logged.setdefault(name, set())
        if problem and problem not in logged and len(logged) < MOST_CAUSES:
            logged.add(problem)
            if not known:
                log.warning(problem, message=Message.API_FAILED, cause=problem)
        if problem is None:
            logged.clear()
        if problem is None and before is not None:
            log.info(f"The API answers again ({name})")
        if problem != before:
            self._changed()

    def _hear(self, name: str, known: Known) -> None:
        self._heard.pop(name, None)  # the last word comes last
        self._heard[name] = known
        before, found = self.cluster.resources.get(Origin.LIVE), known.objects.get(resource.NAME)
        if name == "cr" and cluster.asked(found) != cluster.asked(before):
            self._edited.set()
        self._wake.set()

    async def _take(self, name: str, known: Known) -> None:
        if name == OWN:
            self.cluster = replace(self.cluster, own=known.objects.get(self._node))
        elif name == "nodes":
            items = [known.objects[one] for one in sorted(known.objects)]
            nodes = {Origin.LIVE: items, **_without(self.cluster.nodes, Origin.LIVE)}
            self.cluster = replace(self.cluster, nodes=nodes, own=None)
            self._led = self._led or has_control_plane(items)
            if has_control_plane(items) or (items and not self._led):  # an incomplete list replaces no complete one
                await self._keep("nodes", items, known.resource_version)
        else:
            await self._take_resource(known)

    async def _take_resource(self, known: Known) -> None:
        """Take the live object. One that was deleted switches and moves nothing: the last good one stays in force."""
        found, others = known.objects.get(resource.NAME), _without(self.cluster.resources, Origin.LIVE)
        self.is_asked_for = found is not None
        if found is None:
            kept = {Origin.CACHE: self._good} if self._good is not None else {}
            self.cluster = replace(self.cluster, resources={**others, **kept})
            return
        self._migration = cluster.migration_in(found) or self._migration
        if self._migration:
            # One that was made again has no status yet: nodenet-operator checks its address before nodes follow it.
            found = {**found, "status": {**found["status"], "migration": self._migration}}
        self.cluster = replace(self.cluster, resources={Origin.LIVE: found, **others})
        self._good = cluster.led_on(self._good, found)
        if self._good is not None:
            await self._keep("cr", self._good, known.resource_version, self._good["metadata"].get("generation"))
            if self._good is not found and Origin.CACHE in others:  # for a companion that has read no good one
                self.cluster = replace(self.cluster, resources={**self.cluster.resources, Origin.CACHE: self._good})

    async def _keep(self, name: str, document: Any, version: str, generation: object = 0) -> None:  # noqa: ANN401
        number = generation if isinstance(generation, int) else 0
        kept = Cached(document, self._domain, version, number, self._boot_id)
        slow = isinstance(document, list) and len(document) > QUICK_NODES
        try:
            await asyncio.to_thread(self._write, name, kept) if slow else self._write(name, kept)
        except PublishFailed as error:
            log.error(error.cause, message=Message.PUBLISH_FAILED, cause=error.cause, remedy=error.remedy)

    def _write(self, name: str, kept: Cached) -> None:
        if (old := self._files.read(name)) is None or not _same(old, kept.document, self._domain):
            self._files.write(name, cluster.render_cached(kept))

    async def _cached(self, name: str) -> Any:  # noqa: ANN401
        try:
            if (content := self._files.read(name)) is None:
                return None
            work = content, self._domain
            found = (
                await asyncio.to_thread(cluster.parse_cached, *work)
                if len(content) > QUICK_BYTES
                else cluster.parse_cached(*work)
            )
        except (CacheInvalid, PublishFailed) as error:
            cause = f"The cache {name}.json is not used: {error}"
            log.warning(cause, message=Message.HOSTED_PROBLEM, cause=cause)
            return None
        return found.document

    async def _filed(self) -> Any:  # noqa: ANN401
        """Return the object of the administrator's file; what was read last where it cannot be used now."""
        try:
            self._last_filed, self._unusable = await self._files.resource(), ""
        except (ValueError, PublishFailed) as error:
            cause = f"The file of HostedNetServices is not used: {error}"
            if cause != self._unusable:
                log.error(cause, message=Message.HOSTED_PROBLEM, cause=cause, remedy="Correct the file")
            self._unusable = cause
        return self._last_filed


def _without(documents: Mapping[Origin, Any], origin: Origin) -> dict[Origin, Any]:
    return {one: document for one, document in documents.items() if one is not origin}


def _present(documents: Mapping[Origin, Any]) -> dict[Origin, Any]:
    return {origin: document for origin, document in documents.items() if document is not None}


def _now() -> float:
    return asyncio.get_running_loop().time()


def _same(old: bytes, document: Any, domain: str) -> bool:  # noqa: ANN401
    try:
        return bool(cluster.parse_cached(old, domain).document == document)
    except CacheInvalid:
        return False
