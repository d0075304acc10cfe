"""What a node may know: a claim with its address, two sandboxes, and a pod without a claim."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_interface
from typing import TypeVar

from nodenet.core.persistent_ips.book import Book
from nodenet.core.persistent_ips.claim import Claim
from nodenet.core.persistent_ips.effects import (
    Announce,
    CreateLease,
    DeleteLease,
    Here,
    Hold,
    ListLeases,
    MoveLease,
    ReadClaim,
    ReadLease,
    ReadPod,
    Save,
    Steps,
)
from nodenet.core.persistent_ips.lease import Lease
from nodenet.core.persistent_ips.model import (
    Attachment,
    Conflict,
    NetworkSeen,
    NotFound,
    Owner,
    OwnerKind,
    PodName,
    PodReference,
    Record,
    Reservation,
    State,
    Workload,
)

T = TypeVar("T")
NOW = 1795338000.0
"""2026-11-22T09:00:00Z."""
SINCE = "2026-11-22T09:00:00Z"
NODE, BOOT = "worker-0", "b1"
ADDRESS, OTHER = ip_interface("192.0.2.7/24"), ip_interface("192.0.2.8/24")
CLAIM = Claim(
    *("team", "vm.blue", "u1", "7", "blue"),
    deleting=False,
    ips=("192.0.2.7/24",),
    owner_pod="a",
    conditions=(("IPsAllocated", "True", "SuccessfulAllocation"),),
)
POD_OWNER = Owner(OwnerKind.POD, "team", "plain", "p9/net1")
POD = PodName("team", "a", "p1")
RESERVED = Reservation("blue", ADDRESS, CLAIM.owner, State.REPORTED, "l1", "1", NOW)
ORDINARY = Reservation("blue", OTHER, POD_OWNER, State.REPORTED, "l2", "1", NOW)
ATTACHED = Attachment("c1", "net1", "blue", CLAIM.owner, (ADDRESS,), POD, "/run/netns/a", BOOT, NOW)
SEEN = NetworkSeen("blue", "d", "team/blue")
REFERENCE = PodReference(POD, "net1", "blue", "vm.blue", Workload(), "team/blue")


def book(*records: Record, claims: tuple[Claim, ...] = (CLAIM,), complete: bool = True) -> Book:
    """Return a book with these records and claims."""
    made = Book(records)
    for claim in claims:
        made.claims.put(claim)
    made.claims.complete = complete
    return made


def here(*records: Record, claims: tuple[Claim, ...] = (CLAIM,)) -> Here:
    """Return where a verb runs that knows these."""
    return Here(book(*records, claims=claims), NODE, BOOT, NOW)


def lease_of(row: Reservation, node: str = NODE, pod: PodName | None = None) -> Lease:
    """Return the Lease of a reservation."""
    return Lease(row.network, row.address, row.owner, node, pod, boot_id=BOOT, uid=row.lease_uid, version="1")


class Cluster:
    """Carries out steps against these Leases, with no claim and no pod in the API; *changes*: what was changed."""

    def __init__(self, *leases: Lease, claims: tuple[Claim, ...] = ()) -> None:
        self.leases = {lease.name: lease for lease in leases}
        self.claims = {(claim.namespace, claim.name): claim for claim in claims}
        self.changes: list[object] = []

    def carry_out(self, where: Here, steps: Steps[T]) -> T:
        """Return what the steps return."""
        try:
            effect = next(steps)
            while True:
                try:
                    answer = self._answer(where, effect)
                except (Conflict, NotFound) as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(answer)
        except StopIteration as end:
            found: T = end.value
            return found

    def _answer(self, where: Here, effect: object) -> object:
        match effect:
            case Hold() | Announce():
                return None
            case ListLeases():
                return tuple(self.leases.values())
            case ReadLease(name) if name in self.leases:
                return self.leases[name]
            case ReadClaim(namespace, name) if (namespace, name) in self.claims:
                return self.claims[namespace, name]
            case ReadLease() | ReadClaim() | ReadPod():
                raise NotFound("gone")
            case CreateLease(lease) if lease.name in self.leases:
                raise Conflict("taken")
        return self._changed(where, effect)

    def _changed(self, where: Here, effect: object) -> object:
        self.changes.append(effect)
        match effect:
            case CreateLease(lease):
                self.leases[lease.name] = replace(lease, uid="l9", version="1")
                return self.leases[lease.name]
            case MoveLease(lease):
                self.leases[lease.name] = replace(lease, version="2")
                return self.leases[lease.name]
            case DeleteLease(name):
                del self.leases[name]
                return None
            case Save(changes):
                where.book.take(changes)
                return None
        raise AssertionError(effect)
