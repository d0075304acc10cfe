"""Which sandboxes have an address: one after the other, and in a migration at the same time?

The Lease names them: the one that had the address last, and those before it whose pods may have it still. Without the
earlier ones, an address could be free, or given to another workload, while the source of a migration has it: when the
target's node has lost its store, or is gone, or the claim is deleted by force.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace

from nodenet.core.persistent_ips.api import ApiAway, Conflict, NotFound
from nodenet.core.persistent_ips.book import Book, Put
from nodenet.core.persistent_ips.effects import Here, Hold, MoveLease, ReadLease, ReadPod, Save, Steps, ask
from nodenet.core.persistent_ips.lease import Lease
from nodenet.core.persistent_ips.model import Attachment, OwnerKind, PodName, Sandbox

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
