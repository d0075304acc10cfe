"""What does this node know about its cluster without the API: from the caches and from its administrator's file?

A list of ten thousand nodes takes a good part of a second to read and to judge, so that it is done in a thread, and
once: nodenetd hears events and answers on the bus meanwhile. A file that was good in this run and is not any more is
named, and what it said stays in force.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from nodenet.core.boot.outcome import Facts
from nodenet.core.errors import PublishFailed
from nodenet.core.hosted_services import api_int
from nodenet.core.hosted_services.cluster import CacheInvalid, Cluster, known, parse_cached
from nodenet.core.hosted_services.model import Here, Options, Origin, Spec, here
from nodenet.core.hosted_services.plan import NodePlan, plan
from nodenet.core.hosted_services.resource import QUICK_BYTES
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.ports.hosted_services import ApiIntFile, CacheFiles

CACHES = {"cr": "The cached HostedNetServices", "nodes": "The cached list of nodes"}

FILED = "file"


class OnDisk:
    """The look at the disk; what was read there is judged once, however often it is looked at."""

    def __init__(self, files: CacheFiles, api_int: ApiIntFile, options: Options) -> None:
        """*options* name the cluster: what belongs to another one is not used. *api_int*: what nodenet-hosted found."""
        self._files = files
        self._api_int = api_int
        self._options = options
        self._good: dict[str, Any] = {}
        """The last content of each cache, and the last object of the file, that could be used."""
        self._specs: Mapping[Origin, Spec] = {}
        self._judged: tuple[object, NodePlan] | None = None
        self._one_look = asyncio.Lock()

    async def judged(self, name: str, facts: Facts, snapshot: Snapshot) -> NodePlan:
        """Return this node's plan as its disk gives it."""
        selection = facts.selection
        place = here(
            name,
            selection.node_ips if selection else (),
            snapshot,
            remote_worker=selection is not None and selection.remote_worker,
        )
        return await self.judged_at(place)

    async def judged_at(self, place: Here) -> NodePlan:
        """Return the plan of this node at *place*."""
        async with self._one_look:
            problems: list[str] = []
            contents = {cache: self._read(cache, problems) for cache in CACHES}
            filed = await self._filed(problems)
            dead = api_int.dead(self._api_int.read())
            key = contents, filed, tuple(problems), place, dead
            if self._judged is None or self._judged[0] != key:
                slow = filed is not None or sum(map(len, filter(None, contents.values()))) > QUICK_BYTES
                work = contents, filed, tuple(problems), place, dead
                self._judged = key, await asyncio.to_thread(self._judge, *work) if slow else self._judge(*work)
            return self._judged[1]

    def _judge(
        self,
        contents: Mapping[str, bytes | None],
        filed: object,
        problems: tuple[str, ...],
        place: Here,
        dead: frozenset[IPAddress],
    ) -> NodePlan:
        found: list[str] = [*problems]
        cached = {cache: dict(self._parsed(cache, contents[cache], found)) for cache in CACHES}
        administrators = {} if filed is None else {Origin.FILE: filed}
        cluster = Cluster(cached["cr"] | administrators, cached["nodes"])
        given = known(cluster, self._options, place, self._specs)
        self._specs = given.specs
        inputs = replace(given.inputs, dead=dead)
        return NodePlan(plan(inputs), inputs, (*found, *given.problems))

    def _read(self, cache: str, problems: list[str]) -> Any:  # noqa: ANN401
        try:
            return self._files.read(cache)
        except PublishFailed as error:
            problems.append(f"{CACHES[cache]} is not used: {error}")
            return self._good.get(cache)

    def _parsed(self, cache: str, content: bytes | None, problems: list[str]) -> Iterator[tuple[Origin, Any]]:
        for tried in (content, self._good.get(cache)):
            try:
                found = parse_cached(tried, self._options.cluster_domain) if tried is not None else None
            except CacheInvalid as error:
                problems.append(f"{CACHES[cache]} is not used: {error}")
                continue
            if found is not None:
                self._good[cache] = tried
                yield Origin.CACHE, found.document
            return

    async def _filed(self, problems: list[str]) -> object | None:
        try:
            self._good[FILED] = await self._files.resource()
        except (ValueError, PublishFailed) as error:
            problems.append(f"The HostedNetServices of the administrator is not used: {error}")
        return self._good.get(FILED)
