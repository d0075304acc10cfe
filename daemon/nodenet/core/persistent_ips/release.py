"""How does an address become free again: in which order are record and Lease removed?

The record says *releasing* before the Lease is deleted, and is removed after it. A process that dies in between finds
the record and continues. A Lease is deleted only as it was seen (UID and version): never one that another owner has by
now.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from nodenet.core.errors import PublishFailed
from nodenet.core.persistent_ips.book import Book, Change, Drop, Put
from nodenet.core.persistent_ips.effects import (
    DeleteLease,
    Here,
    Hold,
    MoveLease,
    ReadClaim,
    ReadLease,
    ReadPod,
    Save,
    Steps,
    ask,
)
from nodenet.core.persistent_ips.lease import Lease, name_of
from nodenet.core.persistent_ips.model import (
    ApiAway,
    Attachment,
    Conflict,
    Forbidden,
    NotFound,
    Owner,
    OwnerKind,
    PodName,
    Reservation,
    Sandbox,
    State,
)

# Which sandboxes have an address: one after the other, and in a migration at the same time?
#
# The Lease names them: the one that had the address last, and those before it whose pods may have it still. Without
# the earlier ones, an address could be free, or given to another workload, while the source of a migration has it:
# when the target's node has lost its store, or is gone, or the claim is deleted by force.

ROUNDS = 3
MOST_EARLIER = 4
"""So many earlier sandboxes are kept while a pod waits for its ADD, without asking for their pods."""


def succeed(here: Here, lease: Lease, most_earlier: int = MOST_EARLIER) -> Steps[Lease]:
    """Make the sandbox of *lease* the one that has the address; return the Lease as it is then.

    One of another owner is returned as it was found. Raises NotFound, ApiAway, Forbidden.
    """
    for _ in range(ROUNDS):
        found = yield from ask(ReadLease(lease.name))
        if found.owner.uid != lease.owner.uid:
            return found
        wanted = found.taken_by(lease.sandbox)
        if len(wanted.earlier) > most_earlier:
            living = yield from living_pods(here, wanted.network, wanted.earlier)
            wanted = replace(wanted, earlier=tuple(one for one in wanted.earlier if one.pod in living))
        if wanted == found:
            return found
        with suppress(Conflict):
            return (yield from ask(MoveLease(wanted)))
    raise ApiAway(f"The Lease {lease.name} changes too often")


def living_pods(here: Here, network: str, sandboxes: Iterable[Sandbox]) -> Steps[tuple[PodName, ...]]:
    """Return the pods of *sandboxes* that may have their address still. Raises ApiAway, Forbidden."""
    found: list[PodName] = []
    for one in sandboxes:
        found += yield from _living_pod(here, network, one)
    return tuple(found)


def _living_pod(here: Here, network: str, sandbox: Sandbox) -> Steps[tuple[PodName, ...]]:
    pod = sandbox.pod
    if pod is None:
        return ()
    if sandbox.node == here.node:
        if here.book.attachment(sandbox.key) is not None:
            return (pod,)
        if here.book.pod_reference((pod.uid, sandbox.ifname, network)) is not None:
            return ()  # it was attached here, and is not any more
    return () if (yield from pod_is_gone(pod)) else (pod,)


def pod_is_gone(name: PodName) -> Steps[bool]:
    """Return whether this pod (its UID, where it is known) is gone or has ended. Raises ApiAway, Forbidden."""
    try:
        pod = yield from ask(ReadPod(name.namespace, name.name))
    except NotFound:
        return True
    return pod.finished or bool(name.uid and name.uid not in (pod.name.uid, pod.static_uid))


def take_over(here: Here, attachment: Attachment) -> Steps[None]:
    """Make this node responsible for the Leases of what was attached here. Raises ApiAway, Forbidden."""
    if attachment.owner.kind is not OwnerKind.CLAIM:
        return
    yield Hold(attachment.owner.hold)
    if here.book.attachment(attachment.key) is None:
        return  # it was detached before the API answered: another node may have taken over since
    for row in here.book.held_by(attachment.owner, attachment.network):
        if row.address not in attachment.addresses:
            continue
        sandbox = (attachment.pod, *attachment.key, here.boot_id)
        try:
            found = yield from succeed(here, Lease(row.network, row.address, row.owner, here.node, *sandbox), 0)
        except NotFound:
            continue  # the repair of missing Leases says more
        if found.uid == row.lease_uid and found.version != row.lease_version:
            yield Save((Put(row.moved(found.uid, found.version)),), wait=False)


def unnamed(book: Book, leases: Iterable[Lease]) -> Iterator[Attachment]:
    """Yield the attachments of claims that their Lease does not name yet: the service was killed before."""
    for lease in leases:
        if lease.owner.kind is OwnerKind.CLAIM:
            named = [one.key for one in lease.sandboxes]
            for one in book.attachments_of(lease.owner):
                if one.network == lease.network and lease.address in one.addresses and one.key not in named:
                    yield one


def detach(here: Here, attachment: Attachment) -> Steps[bool]:
    """Forget an attachment; return whether its owner's addresses may be free now. Raises PublishFailed.

    What a claim has is kept. What a pod had with its last sandbox is on its way back when this returns.
    """
    owner = attachment.owner
    yield Hold(owner.hold)
    if here.book.attachment(attachment.key) != attachment:
        return False
    changes: list[Change] = [Drop(attachment)]
    last = here.book.attachments_of(owner) == (attachment,)
    if owner.kind is OwnerKind.POD and last:
        changes += [Put(replace(one, state=State.RELEASING)) for one in here.book.reservations_of(owner)]
    yield Save(tuple(changes))
    return last


# In which order are record and Lease removed?


def release(here: Here, owner: Owner) -> Steps[bool]:
    """Free everything that *owner* has here; it is gone. Return False while a pod, of any node, may have an address.

    Raises ApiAway, Forbidden, PublishFailed: the records stay, and it is done again later.
    """
    yield Hold(owner.hold)
    if here.book.attachments_of(owner):
        return False
    rows = here.book.reservations_of(owner)
    for row in rows:
        if owner.kind is OwnerKind.CLAIM and row.state is not State.RELEASING and (yield from _is_used(here, row)):
            return False
    marks = [Put(replace(row, state=State.RELEASING)) for row in rows if row.state is not State.RELEASING]
    if marks:
        yield Save(tuple(marks))
    for row in rows:
        yield from delete_lease(here, row)
        yield Save((Drop(row),), wait=False)
        here.book.note_free(*row.place)
    return True


def _is_used(here: Here, row: Reservation) -> Steps[bool]:
    """Return whether the Lease of *row* is this node's, and a pod may have its address: the source of a migration."""
    try:
        lease = yield from ask(ReadLease(name_of(row.network, row.address)))
    except NotFound:
        return False
    ours = lease.uid == row.lease_uid and lease.node == here.node
    return ours and bool((yield from living_pods(here, lease.network, lease.sandboxes)))


def release_pending(here: Here, owner: Owner) -> Steps[None]:
    """Free what is on its way back already, and no more. Raises ApiAway, Forbidden, PublishFailed."""
    yield Hold(owner.hold)
    for row in here.book.reservations_of(owner):
        if row.state is State.RELEASING:
            yield from delete_lease(here, row)
            yield Save((Drop(row),), wait=False)
            here.book.note_free(*row.place)


def delete_lease(here: Here, row: Reservation) -> Steps[None]:
    """Delete the Lease of *row*, unless another node has become responsible for it, or its pod has the address.

    Raises ApiAway, Forbidden.
    """
    name = name_of(row.network, row.address)
    try:
        yield DeleteLease(name, row.lease_uid, row.lease_version)
    except NotFound:
        return
    except Conflict:
        with suppress(NotFound, Conflict):
            found = yield from ask(ReadLease(name))
            used = row.owner.kind is OwnerKind.CLAIM and (yield from _is_used(here, row))
            if found.uid == row.lease_uid and found.node == here.node and not used:
                yield DeleteLease(name, found.uid, found.version)


def give_back(here: Here, rows: Iterable[Reservation]) -> Steps[None]:
    """Undo fresh reservations, the newest first. What cannot be undone now stays recorded as *releasing*."""
    undone = tuple(reversed(tuple(rows)))
    if not undone:
        return
    with suppress(PublishFailed):
        yield Save(tuple(Put(replace(row, state=State.RELEASING)) for row in undone))
    for row in undone:
        with suppress(ApiAway, Forbidden):
            yield from delete_lease(here, row)
            yield Save((Drop(row),), wait=False)


def is_gone(owner: Owner) -> Steps[bool]:
    """Return whether the claim *owner* was deleted; another one may have its name. Raises ApiAway, Forbidden."""
    try:
        found = yield from ask(ReadClaim(owner.namespace, owner.name))
    except NotFound:
        return True
    return found.uid != owner.uid


# Which Leases of claims have no owner any more, and may be deleted by any node?
#
# A node deletes the Leases that it is responsible for. A node that does not come back leaves them. A Lease is an
# orphan when the API says that its claim was deleted and that the pods that had the address are gone. The Lease of a
# pod is its node's alone: the cluster lets no other node change it.

ORPHAN_SECONDS = 600.0
"""A pod that was deleted by force may still run on a node that is cut off: its address stays taken for so long."""
MOST_AT_ONCE = 32
"""So many Leases are looked at while a pod waits for an address."""


def suspects(here: Here, leases: Iterable[Lease]) -> tuple[Lease, ...]:
    """Return the Leases of other nodes that may be orphans, by what the watch of the claims knows."""
    found = []
    for lease in leases:
        if lease.node == here.node or lease.owner.kind is not OwnerKind.CLAIM:
            continue  # the records of this node say more
        claim = here.book.claims.get(lease.owner.namespace, lease.owner.name)
        if here.book.claims.complete and (claim is None or claim.uid != lease.owner.uid):
            found.append(lease)
    return tuple(found)


def sweep(here: Here, lease: Lease) -> Steps[bool]:
    """Delete *lease* if it has been an orphan for long enough; return whether it is gone. Raises ApiAway, Forbidden."""
    if not (yield from is_gone(lease.owner)) or (yield from living_pods(here, lease.network, lease.sandboxes)):
        here.book.orphans.pop(lease.uid, None)
        return False
    if here.uptime - here.book.orphans.setdefault(lease.uid, here.uptime) < ORPHAN_SECONDS:
        return False
    try:
        own = yield from ask(MoveLease(replace(lease, node=here.node)))  # the cluster lets a node delete only its own
        yield DeleteLease(own.name, own.uid, own.version)
    except NotFound:
        pass
    except Conflict:
        return False
    here.book.orphans.pop(lease.uid, None)
    here.book.note_free(lease.network, lease.address.ip)
    return True


def reclaim(here: Here, leases: Iterable[Lease]) -> Steps[None]:
    """Delete orphans among *leases* until one address is free.

    What was an orphan for long enough comes first, then others: each time from another one on, so that all have a turn.
    """
    found, orphans = suspects(here, leases), here.book.orphans
    old = [one for one in found if here.uptime - orphans.get(one.uid, here.uptime) >= ORPHAN_SECONDS]
    new = [one for one in found if one.uid not in orphans]
    start = int(here.uptime * 1000) % max(len(new), 1)
    for lease in [*old, *new[start:], *new[:start]][:MOST_AT_ONCE]:
        with suppress(ApiAway, Forbidden):
            if (yield from sweep(here, lease)):
                return
