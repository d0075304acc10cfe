"""What is known about the cluster: from the API while it answers, and from this node's disk at any time?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import structlog

from nodenet.core.errors import Forbidden, PublishFailed
from nodenet.core.hosted_services import cache, resource
from nodenet.core.hosted_services.cache import Cached, CacheInvalid
from nodenet.core.hosted_services.cluster import Cluster
from nodenet.core.hosted_services.model import Origin
from nodenet.core.hosted_services.watching import Known, slim_node, slim_resource
from nodenet.core.messages import Message
from nodenet.hosted.follower import REFUSED_SECONDS, Follower, Kind
from nodenet.ports.kubernetes import Cluster as ApiCluster
from nodenet.ports.vips import CacheFiles

log = structlog.get_logger()

NODES = "/api/v1/nodes"
RESOURCES = f"/apis/{resource.GROUP}/{resource.VERSION}/hostednetservices"
RETRY_SECONDS = 900.0
"""After so long with its own Node only, the node asks for the whole list again."""


@dataclass(frozen=True, slots=True)
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
        self.cluster = Cluster()

    @property
    def problem(self) -> str | None:
        """Why the API is not heard, None while it is."""
        return next(iter(self._failures.values()), None)

    def read_disk(self) -> None:
        """Take what the caches and the administrator's file have."""
        resources, nodes = {}, {}
        if (found := self._cached("cr")) is not None:
            resources[Origin.CACHE] = found
        if (filed := self._filed()) is not None:
            resources[Origin.FILE] = filed
        if (found := self._cached("nodes")) is not None:
            nodes[Origin.CACHE] = found
        self.cluster = Cluster(resources, nodes)

    async def follow_nodes(self) -> None:
        """Follow all Nodes; only this node's own where the credentials may not list them. Never ends."""
        while True:
            try:
                await self._follow("nodes", Kind(NODES, slim_node), self._take_nodes)
            except Forbidden:
                try:
                    async with asyncio.timeout(RETRY_SECONDS):
                        await self._follow("nodes", Kind(NODES, slim_node, self._node), self._take_own)
                except TimeoutError:
                    continue
                except Forbidden as error:
                    self._fail("nodes", str(error))
                    await asyncio.sleep(REFUSED_SECONDS)

    async def follow_resource(self) -> None:
        """Follow the HostedNetServices object; a cluster that has no such kind is asked again from time to time."""
        while True:
            try:
                await self._follow("cr", Kind(RESOURCES, slim_resource, resource.NAME), self._take_resource)
            except Forbidden:  # an answer: the API is there, and has no such kind or keeps it to itself
                self._fail("cr", None)
                await asyncio.sleep(REFUSED_SECONDS)

    async def _follow(self, name: str, kind: Kind, take: Callable[[Known], None]) -> None:
        await Follower(self._api, kind, take, lambda problem: self._fail(name, problem)).run()

    def _fail(self, name: str, problem: str | None) -> None:
        before = self._failures.get(name)
        if problem is None:
            self._failures.pop(name, None)
        else:
            self._failures[name] = problem
        known = problem in [other for topic, other in self._failures.items() if topic != name]
        if problem and before is None and not known:
            log.warning(problem, message=Message.CLUSTER_UNREADABLE, cause=problem)
        if problem is None and before is not None:
            log.info(f"The API answers again ({name})", message=Message.CLUSTER_READ)
        if problem != before:
            self._changed()

    def _take_nodes(self, known: Known) -> None:
        items = [known.objects[name] for name in sorted(known.objects)]
        self.cluster = replace(self.cluster, nodes={Origin.LIVE: items, **_without_live(self.cluster.nodes)}, own=None)
        if items:
            self._keep("nodes", items, known.resource_version)
        self._changed()

    def _take_own(self, known: Known) -> None:
        self.cluster = replace(self.cluster, own=known.objects.get(self._node))
        self._changed()

    def _take_resource(self, known: Known) -> None:
        """Take the live object; a list without it means that the administrator removed it, and its cache goes."""
        found, others = known.objects.get(resource.NAME), _without_live(self.cluster.resources)
        if found is not None:
            self.cluster = replace(self.cluster, resources={Origin.LIVE: found, **others})
            self._keep("cr", found, known.resource_version, found["metadata"].get("generation"))
        else:
            self.cluster = replace(self.cluster, resources={key: others[key] for key in others if key is Origin.FILE})
            self._forget("cr")
        self._changed()

    def _keep(self, name: str, document: Any, version: str, generation: object = 0) -> None:  # noqa: ANN401
        number = generation if isinstance(generation, int) else 0
        content = cache.render(Cached(document, self._domain, version, number, self._boot_id))
        try:
            if (old := self._files.read(name)) is None or not _same(old, document, self._domain):
                self._files.write(name, content)
        except PublishFailed as error:
            log.error(error.cause, message=Message.PUBLISH_FAILED, cause=error.cause, remedy=error.remedy)

    def _forget(self, name: str) -> None:
        try:
            self._files.remove(name)
        except PublishFailed as error:
            log.error(error.cause, message=Message.PUBLISH_FAILED, cause=error.cause, remedy=error.remedy)

    def _cached(self, name: str) -> Any:  # noqa: ANN401
        try:
            content = self._files.read(name)
            return None if content is None else cache.parse(content, self._domain).document
        except (CacheInvalid, PublishFailed) as error:
            cause = f"The cache {name}.json is not used: {error}"
            log.warning(cause, message=Message.HOSTED_INPUT_INVALID, cause=cause)
            return None

    def _filed(self) -> Any:  # noqa: ANN401
        try:
            return self._files.resource()
        except (ValueError, PublishFailed) as error:
            cause = f"The file of HostedNetServices is not used: {error}"
            log.error(cause, message=Message.HOSTED_INPUT_INVALID, cause=cause, remedy="Correct the file")
            return None


def _without_live(documents: Mapping[Origin, Any]) -> dict[Origin, Any]:
    return {origin: document for origin, document in documents.items() if origin is not Origin.LIVE}


def _same(old: bytes, document: Any, domain: str) -> bool:  # noqa: ANN401
    try:
        return bool(cache.parse(old, domain).document == document)
    except CacheInvalid:
        return False
