"""The ports of the Kubernetes API, for hosted services, persistent IPs and the operator.

Objects are JSON documents as the API sends them. Every call is bounded in time. The calls for persistent
IPs raise ApiAway or Forbidden beside what is listed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, Protocol

from nodenet.core.persistent_ips.model import Page


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


class Pods(Protocol):
    """The pods, each by its name."""

    async def pod(self, namespace: str, name: str) -> Document:
        """Return a pod. Raises NotFound."""


class Definitions(Protocol):
    """The NetworkAttachmentDefinitions (k8s.cni.cncf.io/v1)."""

    async def definition(self, namespace: str, name: str) -> Document:
        """Return a NetworkAttachmentDefinition. Raises NotFound."""


class Claims(Protocol):
    """The IPAMClaims (k8s.cni.cncf.io/v1alpha1)."""

    async def claim(self, namespace: str, name: str) -> Document:
        """Return a claim as it is now (no cache). Raises NotFound."""

    async def list_claims(self, following: str = "") -> Page:
        """Return a page of the claims of all namespaces. Raises Expired for a token that is too old."""

    def watch_claims(self, resource_version: str) -> AsyncIterator[Document]:
        """Yield the events since *resource_version*, bookmarks too, until the server ends the watch.

        Raises Expired, for an event ERROR with code 410 too.
        """

    async def patch_claim_status(self, namespace: str, name: str, patch: Document) -> Document:
        """Merge *patch* into the status subresource (RFC 7386); return the claim as it is then.

        The patch has ``metadata.uid`` and ``metadata.resourceVersion``. Raises Conflict for another one, NotFound.
        """


class Leases(Protocol):
    """The Leases (coordination.k8s.io/v1) of the namespace that the settings name."""

    async def create_lease(self, lease: Document) -> Document:
        """Create a Lease and return it. Raises Conflict when the name is taken."""

    async def lease(self, name: str) -> Document:
        """Return a Lease as it is now. Raises NotFound."""

    async def list_leases(self, selector: str, following: str = "") -> Page:
        """Return a page of the Leases with these labels. Raises Expired for a token that is too old."""

    async def patch_lease(self, name: str, operations: Sequence[Document]) -> Document:
        """Apply a JSON patch (RFC 6902) and return the Lease. Raises Conflict when a ``test`` fails, NotFound."""

    async def delete_lease(self, name: str, uid: str, resource_version: str | None = None) -> None:
        """Delete a Lease, if it has this UID and version (preconditions). Raises Conflict, NotFound."""


class Events(Protocol):
    """The Events (v1) that people see with ``kubectl describe``."""

    async def create_event(self, namespace: str, event: Document) -> None:
        """Create an Event in the namespace of its object."""


class IpamApi(Pods, Definitions, Claims, Leases, Events, Protocol):
    """The cluster, with the credentials of the service as they are at each call."""

    async def close(self) -> None:
        """Close the connections."""


class Store(Protocol):
    """The records on this node's disk: (kind, key) → JSON text."""

    def load(self) -> Sequence[tuple[str, str, str]]:
        """Return all records as (kind, key, text). Raises PublishFailed."""

    @property
    def fresh(self) -> bool:
        """Whether the store was made by this process: there was none, or it was unreadable and set aside."""

    def save(self, changes: Sequence[tuple[str, str, str | None]], *, later: bool = False) -> Awaitable[None]:
        """Write these records in one transaction, None removes; durable when it is awaited. Raises PublishFailed.

        Transactions are in the order of the calls, not of the awaits. *later*: the write may wait for the next one.
        """

    def close(self) -> None:
        """Write what is pending and close."""
