"""What does nodenet-operator need from the Kubernetes API?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from nodenet.ports.kubernetes import Cluster

Document = Mapping[str, Any]


class Objects(Cluster, Protocol):
    """The objects of a cluster, also to be written.

    Every method raises Unavailable where the API does not answer, and Forbidden, one of these, where it refuses.
    """

    async def find(self, path: str) -> Document | None:
        """Return the object at *path*, None without one."""

    async def items(self, path: str) -> Sequence[Document]:
        """Return all objects of a list."""

    async def create(self, path: str, document: Document) -> Document:
        """Create an object in the list at *path*. Raises Conflict where the name is taken."""

    async def merge(self, path: str, change: Document) -> Document:
        """Change the object at *path* by a merge patch (RFC 7386). Raises Conflict for another resourceVersion."""
