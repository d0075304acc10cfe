"""What do persistent IPs need from outside: pods, claims, Leases and Events of the cluster, and a store on this node?

Objects are JSON documents as the API sends them; ``core/persistent_ips`` reads and makes them. Every call is bounded in
time. Every call of the API raises ApiAway or Forbidden (``core/persistent_ips/api.py``) beside what is listed.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from typing import Any, Protocol

from nodenet.core.persistent_ips.api import Page

Document = Mapping[str, Any]


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
