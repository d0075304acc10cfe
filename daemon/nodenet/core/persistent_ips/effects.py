"""Which steps does a verb consist of? Each is a value that the caller carries out, and whose answer it sends back.

The verbs are generators: they yield effects and receive answers, or errors, which are thrown in. They decide and touch
nothing themselves: the service carries their effects out against the API and the disk, tests against a model. A
process that is killed is a generator that is dropped.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any, Generic, TypeVar

from nodenet.core.persistent_ips.book import Book, Change
from nodenet.core.persistent_ips.claim import Claim
from nodenet.core.persistent_ips.lease import Lease
from nodenet.core.persistent_ips.model import PodName, moment_text
from nodenet.core.persistent_ips.pod import Pod
from nodenet.core.value import frozen

T = TypeVar("T")


@frozen
class Here:
    """Where and when a verb runs."""

    book: Book
    node: str
    boot_id: str
    now: float
    """Seconds since 1970; only people read it."""
    uptime: float = 0.0
    """Seconds that no clock change moves."""
    held: str = ""
    """Why no new address may be given now, empty while one may: other nodes may have addresses without a Lease."""
    ignore_not_allowed: bool = False
    """A reference on a network without allowPersistentIPs is ignored (``[ipam] claim_not_allowed``)."""


class Ask(Generic[T]):
    """A request to the API whose answer is of this type."""

    __slots__ = ()


@frozen
class Hold:
    """→ None, once no other verb has this key; it is held until the generator ends."""

    key: tuple[str, ...]


@frozen
class ReadPod(Ask[Pod]):
    """→ Pod. NotFound."""

    namespace: str
    name: str


@frozen
class ReadDefinition(Ask[str]):
    """→ the text of a NetworkAttachmentDefinition's configuration. NotFound."""

    namespace: str
    name: str


@frozen
class ReadClaim(Ask[Claim]):
    """→ Claim as it is now. NotFound."""

    namespace: str
    name: str


@frozen
class AwaitClaim(Ask[Claim | None]):
    """→ Claim, or None when it does not come within the time that a runtime waits."""

    namespace: str
    name: str


@frozen
class CreateLease(Ask[Lease]):
    """→ Lease with UID and version. Conflict: the address is taken."""

    lease: Lease


@frozen
class ReadLease(Ask[Lease]):
    """→ Lease. NotFound."""

    name: str


@frozen
class ListLeases(Ask[tuple[Lease, ...]]):
    """→ tuple of Leases."""

    selector: str


@frozen
class MoveLease(Ask[Lease]):
    """→ Lease, for which this node is responsible now. Conflict: it is of another owner. NotFound."""

    lease: Lease


@frozen
class DeleteLease:
    """→ None. NotFound; Conflict: it is another one, or was changed since *version*."""

    name: str
    uid: str
    version: str


@frozen
class WriteStatus(Ask[Claim]):
    """→ Claim as it is then. Conflict: it was changed. NotFound."""

    claim: Claim
    patch: Mapping[str, Any]


@frozen
class Save:
    """→ None. The records are durable and in the book then; PublishFailed: neither.

    Without *wait* they are in the book at once, and durable with the next write; with *soon*, they are written while
    the verb goes on.
    """

    changes: tuple[Change, ...]
    wait: bool = True
    soon: bool = False


@frozen
class Sync:
    """→ None, once everything that this verb saved with *soon* is durable. PublishFailed."""


@frozen
class Announce:
    """→ None. An Event for people, and a line in the journal."""

    reason: str
    text: str
    claim: Claim | None = None
    pod: PodName | None = None


ApiEffect = (
    ReadPod
    | ReadDefinition
    | ReadClaim
    | AwaitClaim
    | CreateLease
    | ReadLease
    | ListLeases
    | MoveLease
    | DeleteLease
    | WriteStatus
)
Effect = ApiEffect | Hold | Save | Sync | Announce
Steps = Generator[Effect, Any, T]


def ask(effect: Ask[T]) -> Steps[T]:
    """Return the answer to *effect*. Raises what it says."""
    found: T = yield effect  # type: ignore[misc]  # each Ask is an Effect
    return found


# How is something shown to people at a claim or a pod: as an Event (v1)?

MOST_MESSAGE = 1024
MOST_NAME = 200
REPORTER = "nodenet-ipam"


def event_document(announced: Announce, node: str, now: float) -> tuple[str, dict[str, Any]] | None:
    """Return the namespace and the Event; None where there is no object to show it at."""
    if announced.claim is not None:
        claim = announced.claim
        involved = {
            "apiVersion": "k8s.cni.cncf.io/v1alpha1",
            "kind": "IPAMClaim",
            "namespace": claim.namespace,
            "name": claim.name,
            "uid": claim.uid,
        }
    elif announced.pod is not None:
        pod = announced.pod
        involved = {"apiVersion": "v1", "kind": "Pod", "namespace": pod.namespace, "name": pod.name, "uid": pod.uid}
    else:
        return None
    return involved["namespace"], {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"generateName": f"{involved['name'][:MOST_NAME]}.", "namespace": involved["namespace"]},
        "involvedObject": involved,
        "type": "Warning",
        "reason": announced.reason,
        "message": announced.text[:MOST_MESSAGE],
        "source": {"component": REPORTER, "host": node},
        "reportingComponent": REPORTER,
        "reportingInstance": node,
        "firstTimestamp": moment_text(now),
        "lastTimestamp": moment_text(now),
        "count": 1,
    }
