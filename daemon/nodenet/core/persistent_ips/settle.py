"""What has to follow when a claim changed, was attached or was detached?

The claim's status names the pod that has its addresses, the Lease names the node that deletes it, and this node keeps
no address beside those of the status. The ADD is answered by then, so this may happen later, twice, or on another node.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from nodenet.core.persistent_ips.api import Conflict, NotFound
from nodenet.core.persistent_ips.book import Book, Put
from nodenet.core.persistent_ips.claim import Claim, allocated_patch
from nodenet.core.persistent_ips.effects import (
    Announce,
    Here,
    Hold,
    MoveLease,
    ReadLease,
    ReadPod,
    Save,
    Steps,
    WriteStatus,
    ask,
)
from nodenet.core.persistent_ips.lease import name_of
from nodenet.core.persistent_ips.model import Attachment, Interface, Reservation, State
from nodenet.core.persistent_ips.release import give_back, living_pods

LOST = "StatusLost"


def owner_pod(book: Book, claim: Claim) -> str:
    """Return the pod that the status should name as far as this node knows; empty for none.

    A pod of another node stays; one of this node that has no sandbox any more gives way.
    """
    attached = attached_pods(book, claim)
    if claim.owner_pod in attached:
        return claim.owner_pod
    ours = not claim.owner_pod or claim.owner_pod in {pod.name for pod in book.pods_of_claim(*claim.key)}
    if not ours:
        return claim.owner_pod
    return attached[-1] if attached else ""


def attached_pods(book: Book, claim: Claim) -> list[str]:
    """Return the names of the pods of this node that have the claim's addresses, the newest last."""
    found = sorted(book.attachments_of(claim.owner), key=lambda one: one.since)
    return [one.pod.name for one in found if one.pod is not None]


def is_settled(book: Book, claim: Claim) -> bool:
    """Return whether status and records agree already."""
    rows = _rows(book, claim)
    named = all(row.state is State.REPORTED and claim.has(row.address) for row in rows)
    return named and (not rows or owner_pod(book, claim) == claim.owner_pod)


def settle(here: Here, claim: Claim) -> Steps[None]:
    """Make status and records agree. Raises ApiAway, Forbidden, PublishFailed: it is done again later.

    A claim that changed meanwhile (Conflict) comes again with its next event.
    """
    yield Hold(claim.owner.hold)
    rows = _rows(here.book, claim)
    if not rows:
        return
    attachments = here.book.attachments_of(claim.owner)
    if claim.ips:
        rows = yield from _agree(here, claim, rows, attachments)
    elif not attachments and all(row.state is State.RESERVED for row in rows):
        return  # an ADD was interrupted: its repetition reports the address
    else:
        rows = here.book.one_of_each_subnet(rows)
    pod = owner_pod(here.book, claim)
    if claim.owner_pod not in ("", pod) and not (yield from _was_ours(here, claim)):
        pod = claim.owner_pod
    elif claim.owner_pod and not pod:
        pod = yield from _handed_over(here, claim)
    if claim.ips and pod == claim.owner_pod:
        return
    addresses: Iterable[Interface] = (row.address for row in rows)
    try:
        yield from ask(WriteStatus(claim, allocated_patch(claim, addresses, pod, here.now)))
    except (Conflict, NotFound):
        return
    if not claim.ips and not all(row.is_fresh for row in rows):
        yield Announce(LOST, f"The status of {claim.owner} had lost its addresses; they are written again", claim=claim)


def _was_ours(here: Here, claim: Claim) -> Steps[bool]:
    """Return whether the pod that the status names is one of this node, and not a later one of its name elsewhere.

    Else two nodes would correct each other for ever: the pods of a StatefulSet have their names again.
    """
    known = {pod.uid for pod in here.book.pods_of_claim(*claim.key) if pod.name == claim.owner_pod}
    try:
        pod = yield from ask(ReadPod(claim.namespace, claim.owner_pod))
    except NotFound:
        return True
    return not known.isdisjoint((pod.name.uid, pod.static_uid))


def _handed_over(here: Here, claim: Claim) -> Steps[str]:
    """Return the pod of another node that has the claim still, empty for none: a migration to this node failed.

    The Leases do not name the pods of this node any more, so that the other node does not name one of them again.

    While the status names no pod, a pod of another workload could get the claim on a third node.
    """
    name = ""
    for row in _rows(here.book, claim):
        with suppress(NotFound, Conflict):  # the other node has taken over already
            lease = yield from ask(ReadLease(name_of(row.network, row.address)))
            living = yield from living_pods(here, row.network, lease.sandboxes)
            if lease.owner.uid == claim.uid and living:
                name = living[0].name
                left = lease.held_by(*(one for one in lease.sandboxes if one.pod in living))
                if left != lease:
                    yield from ask(MoveLease(left))
    return name


def _rows(book: Book, claim: Claim) -> tuple[Reservation, ...]:
    if claim.network:
        return book.held_by(claim.owner, claim.network)
    return tuple(row for row in book.reservations_of(claim.owner) if row.state is not State.RELEASING)


def _agree(
    here: Here, claim: Claim, rows: tuple[Reservation, ...], attachments: tuple[Attachment, ...]
) -> Steps[tuple[Reservation, ...]]:
    """Follow what the status says; return the rows that it names.

    What it does not name goes only if no pod can have it: a person may have edited the status.
    """
    used = {address for one in attachments for address in one.addresses}
    named = tuple(row for row in rows if claim.has(row.address))
    reported = tuple(replace(row, state=State.REPORTED) for row in named if row.state is State.RESERVED)
    if reported:
        yield Save(tuple(Put(row) for row in reported))
    surplus = [row for row in rows if row not in named and row.is_fresh]
    yield from give_back(here, [row for row in surplus if row.address not in used])
    return named
