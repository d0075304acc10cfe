"""Does everything agree about the addresses, and why has a workload this one?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.persistent_ips.book import Book, Put
from nodenet.core.persistent_ips.claim import Claim, ClaimInvalid, known_addresses
from nodenet.core.persistent_ips.effects import CreateLease, Here, Hold, Save, Steps, ask
from nodenet.core.persistent_ips.lease import Lease, name_of
from nodenet.core.persistent_ips.model import (
    Attachment,
    Conflict,
    Interface,
    Owner,
    OwnerKind,
    Reservation,
    State,
    moment_text,
)
from nodenet.core.persistent_ips.release import ORPHAN_SECONDS, suspects, sweep
from nodenet.core.persistent_ips.repair import restore
from nodenet.core.value import frozen

REMEDY = "Run `nodenetctl claims check --repair`"
LATER = f"{REMEDY} twice, {ORPHAN_SECONDS / 60:g} minutes apart: its pod may still run on a node that is cut off"
Place = tuple[str, IPAddress]


@frozen
class Difference:
    """Something that does not agree; *missing* and *orphan* are what can be repaired."""

    network: str
    address: str
    cause: str
    remedy: str
    missing: Lease | None = None
    row: Reservation | None = None
    """The reservation of this node whose Lease is missing."""
    orphan: Lease | None = None


def differences(here: Here, leases: Iterable[Lease]) -> Iterator[Difference]:
    """Yield what does not agree between the book and the *leases* of the cluster."""
    leases = tuple(leases)
    by_place = {(lease.network, lease.address.ip): lease for lease in leases}
    yield from _of_reservations(here, by_place)
    yield from _of_claims(here, by_place)
    yield from _of_gateways(here)
    for lease in suspects(here, leases):
        text = f"its Lease is of {lease.owner}, which is gone"
        yield Difference(lease.network, str(lease.address), text, LATER, orphan=lease)
    own = {row.lease_uid for row in here.book.reservations()}
    for lease in leases:
        if lease.node == here.node and lease.uid not in own:
            text = f"its Lease of {lease.owner} names this node, whose store does not have it yet"
            remedy = "Check again; where it stays, run `systemctl restart nodenet-ipam`"
            yield Difference(lease.network, str(lease.address), text, remedy)


def _of_reservations(here: Here, leases: Mapping[Place, Lease]) -> Iterator[Difference]:
    for row in here.book.reservations():
        lease = leases.get(row.place)
        if row.state is State.RELEASING:
            continue  # the service deletes its Lease at this moment, or when the API answers
        if lease is None:
            missing = _lease(here, row.network, row.address, row.owner)
            text = f"it is reserved here for {row.owner} and has no Lease"
            yield Difference(row.network, str(row.address), text, REMEDY, missing, row)
        elif lease.owner.uid != row.owner.uid:
            text = f"it is reserved here for {row.owner}, and its Lease is of {lease.owner}"
            yield Difference(row.network, str(row.address), text, "Delete one of both, then its pod")


def _of_claims(here: Here, leases: Mapping[Place, Lease]) -> Iterator[Difference]:
    """Yield what does not agree with claims; of networks that this node has never used, nothing is known."""
    first: dict[Place, Owner] = {}
    reserved = {row.place for row in here.book.reservations()}
    for claim in here.book.claims.all():
        if here.book.network(claim.network) is None:
            continue
        for address in known_addresses(claim):
            place = (claim.network, address.ip)
            other, lease = first.setdefault(place, claim.owner), leases.get(place)
            if other != claim.owner:
                text = f"it is in the status of {claim.owner} and of {other}"
                yield Difference(claim.network, str(address), text, "Delete one of both claims")
            elif lease is None and place not in reserved:
                missing = _lease(here, claim.network, address, claim.owner)
                text = f"it is in the status of {claim.owner} and has no Lease"
                yield Difference(claim.network, str(address), text, REMEDY, missing=missing)
            elif lease is not None and lease.owner.uid != claim.uid and place not in reserved:
                text = f"it is in the status of {claim.owner}, and its Lease is of {lease.owner}"
                yield Difference(claim.network, str(address), text, "Delete one of both")


def _of_gateways(here: Here) -> Iterator[Difference]:
    """Yield addresses that are in use and that the configuration gives to nothing any more."""
    places = [(row.network, row.address, row.owner) for row in here.book.reservations()]
    places += [(one.network, address, one.owner) for one in here.book.claims.all() for address in known_addresses(one)]
    for network, address, owner in dict.fromkeys(places):
        seen = here.book.network(network)
        if seen is not None and any(address.ip in one for one in seen.never_given):
            text = f"{owner} has it, and it is a gateway or excluded in the configuration of the network"
            yield Difference(
                network, str(address), text, "Correct the configuration, or give its owner another address"
            )


def repair(here: Here, difference: Difference) -> Steps[bool]:
    """Repair a difference; return whether it is repaired. Raises ApiAway, Forbidden, PublishFailed."""
    if difference.row is not None:
        yield from restore(here, difference.row)
        return difference.row not in here.book.reservations_of(difference.row.owner)
    if difference.missing is not None:
        return (yield from _reserve(here, difference.missing))
    if difference.orphan is not None:
        return (yield from sweep(here, difference.orphan))
    return False


def _reserve(here: Here, wanted: Lease) -> Steps[bool]:
    """Reserve an address that a claim's status has; this node is responsible for it until another one uses it."""
    yield Hold(wanted.owner.hold)
    try:
        lease = yield from ask(CreateLease(wanted))
    except Conflict:
        return False  # another node was faster: the next check sees whose it is
    made = Reservation(lease.network, lease.address, lease.owner, State.REPORTED, lease.uid, lease.version, here.now)
    yield Save((Put(made),))
    return True


def _lease(here: Here, network: str, address: Interface, owner: Owner) -> Lease:
    return Lease(network, address, owner, here.node, None, boot_id=here.boot_id)


def check_document(book: Book, leases: Iterable[Lease], found: Iterable[tuple[Difference, bool]]) -> dict[str, Any]:
    """Return the document of a check; *found*: each difference, and whether it was repaired."""
    places = {row.place for row in book.reservations()} | {(lease.network, lease.address.ip) for lease in leases}
    entries = [
        {
            "network": difference.network,
            "address": difference.address,
            "cause": difference.cause,
            "remedy": difference.remedy,
            "repaired": repaired,
        }
        for difference, repaired in found
    ]
    return {"addresses": len(places), "differences": entries}


# Which addresses does this node know, in which state, and whose are they? The document of ``nodenetctl claims``.

SCHEMA_VERSION = 1
ATTACHED, HELD = "attached", "held"
"""States that follow from the attachments: an address that a sandbox of this node has, and one that none has."""


def explanation(book: Book, node: str, problems: Sequence[str]) -> dict[str, Any]:
    """Return the document; ``address`` has the prefix length, ``since`` is UTC (RFC 3339)."""
    attachments = list(book.attachments())
    entries = [_reserved(row, book.attachments_of(row.owner), node) for row in book.reservations()]
    reserved = {(entry["network"], entry["address"]) for entry in entries}
    for attachment in attachments:  # of a claim whose Lease another node looks after
        for address in attachment.addresses:
            if (attachment.network, str(address)) not in reserved:
                reserved.add((attachment.network, str(address)))
                entries.append(_attached(attachment, address, node))
    return {"schema_version": SCHEMA_VERSION, "node": node, "problems": list(problems), "addresses": entries}


def state_of(row: Reservation, attachments: Iterable[Attachment]) -> str:
    """Return the state that people see."""
    if row.state is not State.REPORTED:
        return str(row.state)
    return ATTACHED if any(_has(one, row.network, row.address) for one in attachments) else HELD


def _reserved(row: Reservation, attachments: Sequence[Attachment], node: str) -> dict[str, Any]:
    here = [one for one in attachments if _has(one, row.network, row.address)]
    pod = max(here, key=lambda one: one.since).pod if here else None
    return {
        "network": row.network,
        "address": str(row.address),
        "state": state_of(row, here),
        "claim": _claim(row.owner),
        "pod": str(pod) if pod else _pod(row.owner),
        "node": node,
        "since": moment_text(row.since),
    }


def _attached(attachment: Attachment, address: Interface, node: str) -> dict[str, Any]:
    return {
        "network": attachment.network,
        "address": str(address),
        "state": ATTACHED,
        "claim": _claim(attachment.owner),
        "pod": str(attachment.pod) if attachment.pod else None,
        "node": node,
        "since": moment_text(attachment.since),
    }


def _has(attachment: Attachment, network: str, address: Interface) -> bool:
    return attachment.network == network and address in attachment.addresses


def _claim(owner: Owner) -> str | None:
    return f"{owner.namespace}/{owner.name}" if owner.kind is OwnerKind.CLAIM else None


def _pod(owner: Owner) -> str | None:
    return f"{owner.namespace}/{owner.name}" if owner.kind is OwnerKind.POD and owner.namespace else None


def explain(book: Book, namespace: str, name: str, refusals: Mapping[str, str]) -> str:
    """Return the text; *refusals*: NAMESPACE/NAME of a pod → why it got no address last."""
    return "\n".join(_lines(book, namespace, name, refusals))


def _lines(book: Book, namespace: str, name: str, refusals: Mapping[str, str]) -> Iterator[str]:
    claim = book.claims.get(namespace, name)
    rows = [one for one in book.reservations() if _is(one, namespace, name)]
    attachments = [one for one in book.attachments() if _is(one, namespace, name)]
    if claim is None:
        yield _absent(book, namespace, name)
    else:
        yield from _of_claim(claim)
    uids = {one.owner.uid for one in rows} | {one.owner.uid for one in attachments}
    if claim is not None and uids - {claim.uid}:
        yield "An earlier claim of this name was deleted; its addresses are released when its last pod has ended."
    for row in rows:
        yield from _of_reservation(row, attachments)
    for attachment in attachments:
        yield _of_attachment(attachment)
    if claim is not None and not rows:
        yield "This node has nothing reserved for it: no pod of this node has used it."
    pods = sorted({pod.name for pod in book.pods_of_claim(namespace, name)})
    if pods:
        yield f"Pods of this node that reference it: {', '.join(pods)}."
    for pod, cause in refusals.items():
        if pod.partition("/")[0] == namespace and (
            pod.partition("/")[2] in pods or f"{namespace}/{name} " in f"{cause} "
        ):
            yield f"Pod {pod} got no address when it asked last: {cause}"


def _absent(book: Book, namespace: str, name: str) -> str:
    if book.claims.complete:
        return f"There is no claim {namespace}/{name}. A pod that references it waits until it is made."
    return f"Claim {namespace}/{name} is not known: the API has not answered since the service started."


def _of_claim(claim: Claim) -> Iterator[str]:
    yield f"Claim {claim.namespace}/{claim.name} (UID {claim.uid}) of network {claim.network or 'without a name'}."
    if claim.deleting:
        yield "It is being deleted: no pod gets its addresses any more, and they are free when it is gone."
    try:
        addresses = claim.addresses()
    except ClaimInvalid as error:
        yield f"Its status cannot be used: {error}."
        return
    if addresses:
        yield f"Its status has {', '.join(map(str, addresses))}. This is written once and stays until it is deleted."
    else:
        yield "Its status has no addresses: it gets them when a pod first uses it."
    if claim.owner_pod:
        yield f"Its status names the pod {claim.owner_pod}."
    for kind, status, reason in claim.conditions:
        yield f"Condition {kind}: {status} ({reason})."


def _of_reservation(row: Reservation, attachments: list[Attachment]) -> Iterator[str]:
    state = state_of(row, attachments)
    yield f"{row.address} in network {row.network}: {state}, since {moment_text(row.since)}."
    yield f"  Reserved in the cluster by the Lease {name_of(row.network, row.address)}."


def _of_attachment(one: Attachment) -> str:
    pod = f"pod {one.pod}" if one.pod else "a sandbox without a pod"
    addresses = ", ".join(map(str, one.addresses))
    return (
        f"Attached to {pod} as {one.ifname} since {moment_text(one.since)}: {addresses} (sandbox {one.container_id})."
    )


def _is(one: Reservation | Attachment, namespace: str, name: str) -> bool:
    return (one.owner.kind, one.owner.namespace, one.owner.name) == (OwnerKind.CLAIM, namespace, name)
