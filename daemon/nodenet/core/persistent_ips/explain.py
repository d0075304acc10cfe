"""Why does a claim have its addresses, or what does it wait for? The text of ``nodenetctl claims explain``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nodenet.core.persistent_ips import moment
from nodenet.core.persistent_ips.book import Book
from nodenet.core.persistent_ips.claim import Claim, ClaimInvalid
from nodenet.core.persistent_ips.lease import name_of
from nodenet.core.persistent_ips.model import Attachment, OwnerKind, Reservation
from nodenet.core.persistent_ips.report import state_of


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
    yield f"{row.address} in network {row.network}: {state}, since {moment.text(row.since)}."
    yield f"  Reserved in the cluster by the Lease {name_of(row.network, row.address)}."


def _of_attachment(one: Attachment) -> str:
    pod = f"pod {one.pod}" if one.pod else "a sandbox without a pod"
    addresses = ", ".join(map(str, one.addresses))
    return (
        f"Attached to {pod} as {one.ifname} since {moment.text(one.since)}: {addresses} (sandbox {one.container_id})."
    )


def _is(one: Reservation | Attachment, namespace: str, name: str) -> bool:
    return (one.owner.kind, one.owner.namespace, one.owner.name) == (OwnerKind.CLAIM, namespace, name)
