"""What does nodenet-hosted need from the Kubernetes API?"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol


class Api(Protocol):
    """One connection to the API."""

    @property
    def provisional(self) -> bool:
        """Whether it should be given up between two watches: ``connect`` may lead to a better server by then."""

    async def get(self, path: str, parameters: Mapping[str, str] | None = None) -> Any:  # noqa: ANN401
        """Return the JSON document at *path*. Raises Forbidden, Unavailable."""

    def watch(self, path: str, parameters: Mapping[str, str]) -> AsyncIterator[Any]:
        """Yield the events of a watch until the server ends it. Raises Forbidden, Unavailable."""


class Cluster(Protocol):
    """The cluster's API, with this node's credentials."""

    def connect(self) -> AbstractAsyncContextManager[Api]:
        """Return a connection with the credentials as they are now. Raises Unavailable."""


class OwnNode(Protocol):
    """This node's own Node object."""

    async def annotation(self, key: str) -> str | None:
        """Return an annotation, None without it. Raises Forbidden, also while there is no such Node; Unavailable."""

    async def annotate(self, key: str, text: str) -> None:
        """Write an annotation. Raises Forbidden, Unavailable."""
