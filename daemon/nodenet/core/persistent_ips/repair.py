"""What does a restart have to repair: Leases without a record, records without a Lease, sandboxes of another boot?

A process that was killed between Lease and record leaves a Lease whose address no pod was given. A store that was lost
leaves Leases whose addresses are in use. Both look alike, so an address is kept as long as its pod may have it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import replace

from nodenet.core.persistent_ips.book import Book, Change, Drop, Put
from nodenet.core.persistent_ips.claim import Claim, allocated_patch
from nodenet.core.persistent_ips.effects import (
    Announce,
    CreateLease,
    DeleteLease,
    Here,
    Hold,
    MoveLease,
    ReadClaim,
    ReadLease,
    ReadPod,
    Save,
    Steps,
    WriteStatus,
    ask,
)
from nodenet.core.persistent_ips.lease import Lease, name_of
from nodenet.core.persistent_ips.model import (
    Attachment,
    Conflict,
    Interface,
    NotFound,
    Owner,
    OwnerKind,
    PodName,
    Reservation,
    Sandbox,
    State,
)
from nodenet.core.persistent_ips.release import give_back, living_pods, pod_is_gone, take_over, unnamed

CONFLICT, LEASE_LOST = "IPAddressConflict", "LeaseLost"


def dead_sandboxes(book: Book, boot_id: str) -> tuple[Attachment, ...]:
    """Return the attachments of an earlier boot: a reboot ends every sandbox."""
    return tuple(one for one in book.attachments() if one.boot_id != boot_id)


def pending_owners(book: Book) -> tuple[Owner, ...]:
    """Return the owners with a reservation on its way back."""
    found = {(one.owner.kind, one.owner.uid): one.owner for one in book.reservations() if one.state is State.RELEASING}
    return tuple(found.values())


def idle_pods(book: Book) -> tuple[Owner, ...]:
    """Return the pods that have an address here and no sandbox: the last DEL was interrupted."""
    found = {one.owner.uid: one.owner for one in book.reservations() if one.owner.kind is OwnerKind.POD}
    return tuple(owner for owner in found.values() if not book.attachments_of(owner))


def absent_claims(book: Book) -> tuple[Owner, ...]:
    """Return the claims with a reservation here that the watch does not know; the API has to confirm it."""
    if not book.claims.complete:
        return ()
    found = []
    for owner in book.claim_owners():
        claim = book.claims.get(owner.namespace, owner.name)
        if claim is None or claim.uid != owner.uid:
            found.append(owner)
    return tuple(found)


def unknown_leases(book: Book, leases: Iterable[Lease]) -> tuple[Lease, ...]:
    """Return the Leases of this node that no record has."""
    known = {row.lease_uid for row in book.reservations()}
    return tuple(lease for lease in leases if lease.uid not in known)


def changed_leases(book: Book, leases: Iterable[Lease], boot_id: str) -> tuple[Lease, ...]:
    """Return the Leases that this node has moved in this boot, and whose records are older: a backup was restored."""
    versions = {row.lease_uid: row.lease_version for row in book.reservations()}
    return tuple(one for one in leases if one.boot_id == boot_id and versions.get(one.uid, one.version) != one.version)


def of_a_namesake(book: Book, leases: Iterable[Lease], before: Collection[str], boot_id: str) -> tuple[Lease, ...]:
    """Return the Leases of this node that another machine with its name has made; *before*: UIDs of an earlier list.

    Since then, this node has made Leases in this boot only.
    """
    return tuple(one for one in unknown_leases(book, leases) if one.uid not in before and one.boot_id != boot_id)


def lost_leases(book: Book, leases: Iterable[Lease]) -> tuple[Reservation, ...]:
    """Return the reservations whose Lease is not among those of this node: another node's, or lost."""
    listed = {lease.uid for lease in leases}
    return tuple(row for row in book.reservations() if row.state is not State.RELEASING and row.lease_uid not in listed)


def adopt(here: Here, listed: Lease) -> Steps[None]:
    """Record a Lease of this node that no record has as it is, or delete it. Raises ApiAway, Forbidden, PublishFailed.

    The store may have been lost, so a pod that is still there is taken as attached: in this boot, or on another
    machine that has the same node name by mistake. Without Kubernetes only a sandbox of this boot is.
    """
    yield Hold(listed.owner.hold)
    known = {row.lease_uid: row for row in here.book.reservations_of(listed.owner)}.get(listed.uid)
    if known is not None and known.lease_version == listed.version:
        return
    try:
        lease = yield from ask(ReadLease(listed.name))  # the list is older than what this node did meanwhile
    except NotFound:
        return
    if lease.node != here.node or lease.uid != listed.uid:
        return
    if known is not None:  # and then, what was read of a pod that has ended here is known as well
        living = yield from living_pods(here, lease.network, lease.sandboxes)
        attached = yield from _attached(here, lease, [one for one in lease.sandboxes if one.pod in living])
        yield Save((Put(known.moved(lease.uid, lease.version)), *attached))
        return
    attached = yield from _attached(here, lease, lease.sandboxes)
    claim = (yield from _claim(lease.owner)) if lease.owner.kind is OwnerKind.CLAIM else None
    # A status without addresses: an ADD was interrupted before it wrote them. With others: a person may have edited it
    # while a pod, of any node, has this one, which is free with the claim.
    named = claim is None or claim.has(lease.address)
    state = State.REPORTED if named else State.RESERVED
    row = Reservation(lease.network, lease.address, lease.owner, state, lease.uid, lease.version, here.now)
    if attached or claim is not None or (yield from _is_of_another_node(here, lease)):
        yield Save((Put(row), *attached))
        return
    try:
        yield DeleteLease(lease.name, lease.uid, lease.version)
    except (NotFound, Conflict):
        return


def _is_of_another_node(here: Here, lease: Lease) -> Steps[bool]:
    """Return whether a pod of another node may have the address: its migration to this node failed."""
    others = [one for one in lease.earlier if one.node != here.node]
    return bool((yield from living_pods(here, lease.network, others)))


def _attached(here: Here, lease: Lease, sandboxes: Iterable[Sandbox]) -> Steps[list[Change]]:
    """Return the attachments of this node that follow from *sandboxes* of a Lease, of a claim too.

    Without them, the address would be free with the claim though a pod has it.
    """
    found: list[Change] = []
    for one in sandboxes:
        if one.node == here.node and (yield from _may_be_attached(here, lease, one)):
            found += (Put(_attachment(here, lease, one)),)
    return found


def _may_be_attached(here: Here, lease: Lease, sandbox: Sandbox) -> Steps[bool]:
    """Return whether a sandbox of a Lease may have its address."""
    if not sandbox.container_id:
        return False  # it was made again while no sandbox had the address
    other = here.book.attachment(sandbox.key)
    given = other.addresses if other is not None and other.netns else ()  # recorded by its ADD, not by a repair
    if lease.address not in given and any(one.network == lease.address.network for one in given):
        return False  # it was given another one: no answer came when this Lease was created
    if sandbox.pod is None:
        return sandbox.boot_id == here.boot_id
    return not (yield from pod_is_gone(sandbox.pod))


def _attachment(here: Here, lease: Lease, one: Sandbox) -> Attachment:
    other = here.book.attachment(one.key)
    if other is None:
        addresses = (lease.address,)
        return Attachment(*one.key, lease.network, lease.owner, addresses, one.pod, "", here.boot_id, here.now)
    return other if lease.address in other.addresses else replace(other, addresses=(*other.addresses, lease.address))


def _claim(owner: Owner) -> Steps[Claim | None]:
    try:
        found = yield from ask(ReadClaim(owner.namespace, owner.name))
    except NotFound:
        return None
    return found if found.uid == owner.uid else None


def restore(here: Here, row: Reservation) -> Steps[None]:
    """Make the Lease of *row* again if it is lost. Raises ApiAway, Forbidden, PublishFailed."""
    yield Hold(row.owner.hold)
    if row not in here.book.reservations_of(row.owner) or row.state is State.RELEASING:
        return
    name = name_of(row.network, row.address)
    used = bool(here.book.attachments_of(row.owner))
    if row.owner.kind is OwnerKind.CLAIM and not used and (yield from _claim(row.owner)) is None:
        return  # its release is on the way
    try:
        found = yield from ask(ReadLease(name))
    except NotFound:
        try:
            found = yield from ask(CreateLease(_lease(here, row)))
        except Conflict:
            return  # it is made by another node: the next repair reads it
        yield Announce(LEASE_LOST, f"The Lease {name} of {row.owner} was lost; it is made again")
    if found.owner.uid != row.owner.uid:
        text = f"{row.address} of {row.owner} is reserved for {found.owner}: its Lease {name} was lost"
        if not any(row.address in one.addresses for one in here.book.attachments_of(row.owner)):
            yield Save((Drop(row),))  # else it stays taken here as long as its sandbox runs
        yield Announce(CONFLICT, text, pod=found.pod)
        return
    if found.uid != row.lease_uid:
        # With the version of another node's Lease, a release would delete it without a look at its sandboxes.
        version = found.version if found.node == here.node else row.lease_version
        yield Save((Put(row.moved(found.uid, version)), Drop(row)))
    for attachment in unnamed(here.book, (found,)):
        yield from take_over(here, attachment)


def _lease(here: Here, row: Reservation) -> Lease:
    """Return the Lease of *row*, with the sandboxes of this node that have it."""
    made = Lease(row.network, row.address, row.owner, here.node, None, boot_id=here.boot_id)
    for one in here.book.attachments_of(row.owner):
        if row.address in one.addresses:
            made = made.taken_by(Sandbox(here.node, here.boot_id, *one.key, one.pod))
    return made


def gone_pods(book: Book) -> tuple[PodName, ...]:
    """Return the pods that were read, and have no sandbox here: they may be gone."""
    attached = {one.pod.uid for one in book.attachments() if one.pod is not None}
    return tuple({one.pod.uid: one.pod for one in book.pod_references() if one.pod.uid not in attached}.values())


STATUS_LOST = "StatusLost"


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
        yield Announce(
            STATUS_LOST, f"The status of {claim.owner} had lost its addresses; they are written again", claim=claim
        )


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
