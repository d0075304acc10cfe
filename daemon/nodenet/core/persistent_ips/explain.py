"""Why does a claim have its addresses, or what does it wait for? The text of ``nodenetctl claims explain``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from nodenet.core.persistent_ips.book import Book
from nodenet.core.persistent_ips.claim import Claim, ClaimInvalid
from nodenet.core.persistent_ips.lease import name_of
from nodenet.core.persistent_ips.model import Attachment, Interface, Owner, OwnerKind, Reservation, State, moment_text

# Which addresses does this node know, in which state, and whose are they? The document of ``nodenetctl claims``.


SCHEMA_VERSION = 1
ATTACHED, HELD = "attached", "held"
"""States that follow from the attachments: an address that a sandbox of this node has, and one that none has."""


def document(book: Book, node: str, problems: Sequence[str]) -> dict[str, Any]:
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
