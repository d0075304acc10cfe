"""Which Leases of claims have no owner any more, and may be deleted by any node?

A node deletes the Leases that it is responsible for. A node that does not come back leaves them. A Lease is an orphan
when the API says that its claim was deleted and that the pods that had the address are gone. The Lease of a pod is its
node's alone: the cluster lets no other node change it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from nodenet.core.persistent_ips.api import ApiAway, Conflict, Forbidden, NotFound
from nodenet.core.persistent_ips.effects import DeleteLease, Here, MoveLease, Steps, ask
from nodenet.core.persistent_ips.lease import Lease
from nodenet.core.persistent_ips.model import OwnerKind
from nodenet.core.persistent_ips.release import is_gone
from nodenet.core.persistent_ips.succession import living_pods

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
