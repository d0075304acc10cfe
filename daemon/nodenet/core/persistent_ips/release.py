"""How does an address become free again: in which order are record and Lease removed?

The record says *releasing* before the Lease is deleted, and is removed after it. A process that dies in between finds
the record and continues. A Lease is deleted only as it was seen (UID and version): never one that another owner has by
now.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from nodenet.core.errors import PublishFailed
from nodenet.core.persistent_ips.api import ApiAway, Conflict, Forbidden, NotFound
from nodenet.core.persistent_ips.book import Change, Drop, Put
from nodenet.core.persistent_ips.effects import DeleteLease, Here, Hold, ReadClaim, ReadLease, Save, Steps, ask
from nodenet.core.persistent_ips.lease import name_of
from nodenet.core.persistent_ips.model import Attachment, Owner, OwnerKind, Reservation, State
from nodenet.core.persistent_ips.succession import living_pods


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
