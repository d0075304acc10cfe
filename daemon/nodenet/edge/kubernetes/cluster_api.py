"""How does nodenet-operator read and write objects of any kind? Fits ``ports.kubernetes.Objects``."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any, Self
from urllib.parse import quote

from nodenet.core.errors import Forbidden, Postponed, Unavailable
from nodenet.core.persistent_ips.model import Conflict
from nodenet.edge.kubernetes.client import KubernetesCluster
from nodenet.edge.kubernetes.session import Answer, Session

PAGE = "500"
LONGEST_PAUSE = 300.0
"""Seconds that the API may ask for."""
MERGE_PATCH = "application/merge-patch+json"
REMEDY = "Give the ServiceAccount the roles of packaging/cluster/operator.yaml"
Document = Mapping[str, Any]


class ClusterApi:
    """The cluster that a kubeconfig names."""

    provisional = False

    def __init__(self, kubeconfig: str, weak: Callable[[tuple[str, ...]], None]) -> None:
        """*weak* gets the weaknesses of the kubeconfig whenever it is read."""
        self._session = Session(kubeconfig, weak, "nodenet-operator", table="")

    @property
    def requests(self) -> int:
        """How many requests were sent."""
        return self._session.requests

    @contextlib.asynccontextmanager
    async def connect(self) -> AsyncIterator[Self]:
        """Return this, whose connections are kept."""
        yield self

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
        """Return the JSON document at *path*. Raises Forbidden, also where there is none; Unavailable."""
        return _document(path, await self._session.request("GET", path, parameters))

    async def watch(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[Any]:
        """Yield the events of a watch until the server ends it. Raises Forbidden, Unavailable."""
        async for event in self._session.watch(path, parameters):
            yield _document(path, event) if isinstance(event, Answer) else event

    async def find(self, path: str) -> Document | None:
        """Return the object at *path*, None without one. Raises Forbidden, Unavailable."""
        answer = await self._session.request("GET", path)
        return None if answer.status == 404 else _document(path, answer)

    async def items(self, path: str) -> list[Document]:
        """Return all objects of a list. Raises Forbidden, Unavailable."""
        found: list[Document] = []
        following = ""
        while True:
            page = await self.get(path, {"limit": PAGE, **({"continue": following} if following else {})})
            listed, metadata = page.get("items"), page.get("metadata")
            if not isinstance(listed, list) or not isinstance(metadata, Mapping):
                raise Unavailable(f"The API's list of {path} has no items")
            found += [one for one in listed if isinstance(one, Mapping)]
            following = str(metadata.get("continue") or "")
            if not following:
                return found

    async def create(self, path: str, document: Document) -> Document:
        """Create an object in the list at *path*. Raises Conflict, Forbidden, Unavailable."""
        return _document(path, await self._session.request("POST", path, body=document))

    async def merge(self, path: str, change: Document) -> Document:
        """Change the object at *path* by a merge patch. Raises Conflict, Forbidden, Unavailable."""
        answer = await self._session.request("PATCH", path, body=change, kind=MERGE_PATCH)
        return _document(path, answer)

    async def close(self) -> None:
        """Close the connections."""
        await self._session.close()


def _document(path: str, answer: Answer) -> Document:
    """Return the object of a success. Raises Conflict, Forbidden, Unavailable."""
    if 200 <= answer.status < 300:
        found: Document = answer.document
        return found
    text = answer.error(f"The API refuses {path}").cause
    if answer.status == 409:
        raise Conflict(text)
    if answer.status in (401, 403, 404):
        raise Forbidden(text, remedy=REMEDY)
    if answer.pause:
        raise Postponed(text, seconds=answer.retry_after(LONGEST_PAUSE))
    raise Unavailable(text)


# How does a node read and write an annotation of its own Node object? Fits ``ports.kubernetes.OwnNode``.


class OwnNode:
    """The Node object of this node."""

    def __init__(self, cluster: KubernetesCluster, name: str) -> None:
        """*name*: its name in the cluster."""
        self._cluster = cluster
        self._path = f"/api/v1/nodes/{quote(name, safe='')}"

    async def annotation(self, key: str) -> str | None:
        """Return the annotation, None without it. Raises Forbidden, also while there is no such Node; Unavailable."""
        async with self._cluster.connect() as api:
            found = await api.get(self._path)
        metadata = found.get("metadata") if isinstance(found, Mapping) else None
        annotations = metadata.get("annotations") if isinstance(metadata, Mapping) else None
        text = annotations.get(key) if isinstance(annotations, Mapping) else None
        return text if isinstance(text, str) else None

    async def annotate(self, key: str, text: str) -> None:
        """Write the annotation; nothing else of the object changes. Raises Forbidden, Unavailable."""
        async with self._cluster.connect() as api:
            await api.merge(self._path, {"metadata": {"annotations": {key: text}}})
