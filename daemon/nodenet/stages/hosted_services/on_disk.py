"""What does this node know about its cluster without the API: from the caches and from its administrator's file?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from nodenet.core.boot.facts import Facts
from nodenet.core.errors import PublishFailed
from nodenet.core.hosted_services.cache import CacheInvalid, parse
from nodenet.core.hosted_services.cluster import Cluster, Known, known
from nodenet.core.hosted_services.here import here
from nodenet.core.hosted_services.model import Options, Origin
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.ports.vips import CacheFiles

CACHES = {"cr": "The cached HostedNetServices", "nodes": "The cached list of nodes"}


class OnDisk:
    """The look at the disk; what was read there is judged once, however often it is looked at."""

    def __init__(self, files: CacheFiles, options: Options) -> None:
        """*options* name the cluster: what belongs to another one is not used."""
        self._files = files
        self._options = options
        self._seen: tuple[object, Cluster, tuple[str, ...]] = (None, Cluster(), ())
        self._version = 0
        self._judged: tuple[object, Known] | None = None

    def known(self, name: str, facts: Facts, snapshot: Snapshot) -> Known:
        """Return the inputs of this node's plan from its disk, and which files cannot be used."""
        selection = facts.selection
        place = here(
            name,
            selection.node_ips if selection else (),
            snapshot,
            remote_worker=selection is not None and selection.remote_worker,
        )
        cluster, problems = self._cluster()
        if self._judged is None or self._judged[0] != (self._version, place):
            found = known(cluster, self._options, place)
            self._judged = (self._version, place), replace(found, problems=(*problems, *found.problems))
        return self._judged[1]

    def _cluster(self) -> tuple[Cluster, tuple[str, ...]]:
        """Return the documents; ten thousand Nodes are read again only when their file is another one."""
        problems: list[str] = []
        contents = {cache: self._read(cache, problems) for cache in CACHES}
        filed = dict(_filed(self._files, problems))
        key = contents, filed, tuple(problems)
        if self._seen[0] != key:
            cached = {cache: dict(self._parsed(cache, contents[cache], problems)) for cache in CACHES}
            self._version += 1
            self._seen = key, Cluster(cached["cr"] | filed, cached["nodes"]), tuple(problems)
        return self._seen[1], self._seen[2]

    def _read(self, cache: str, problems: list[str]) -> bytes | None:
        try:
            return self._files.read(cache)
        except PublishFailed as error:
            problems.append(f"{CACHES[cache]} is not used: {error}")
            return None

    def _parsed(self, cache: str, content: bytes | None, problems: list[str]) -> Iterator[tuple[Origin, Any]]:
        if content is None:
            return
        try:
            yield Origin.CACHE, parse(content, self._options.cluster_domain).document
        except CacheInvalid as error:
            problems.append(f"{CACHES[cache]} is not used: {error}")


def _filed(files: CacheFiles, problems: list[str]) -> Iterator[tuple[Origin, Any]]:
    try:
        if (document := files.resource()) is not None:
            yield Origin.FILE, document
    except (ValueError, PublishFailed) as error:
        problems.append(f"The HostedNetServices of the administrator is not used: {error}")
