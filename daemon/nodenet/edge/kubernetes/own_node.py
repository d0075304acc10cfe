"""How does a node read and write an annotation of its own Node object? Fits ``ports.kubernetes.OwnNode``."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from nodenet.edge.kubernetes.client import KubernetesCluster


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
