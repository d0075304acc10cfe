"""Which addresses does this node know, in which state, and whose are they? The document of ``nodenetctl claims``."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from nodenet.core.persistent_ips import moment
from nodenet.core.persistent_ips.book import Book
from nodenet.core.persistent_ips.model import Attachment, Interface, Owner, OwnerKind, Reservation, State

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
        "since": moment.text(row.since),
    }


def _attached(attachment: Attachment, address: Interface, node: str) -> dict[str, Any]:
    return {
        "network": attachment.network,
        "address": str(address),
        "state": ATTACHED,
        "claim": _claim(attachment.owner),
        "pod": str(attachment.pod) if attachment.pod else None,
        "node": node,
        "since": moment.text(attachment.since),
    }


def _has(attachment: Attachment, network: str, address: Interface) -> bool:
    return attachment.network == network and address in attachment.addresses


def _claim(owner: Owner) -> str | None:
    return f"{owner.namespace}/{owner.name}" if owner.kind is OwnerKind.CLAIM else None


def _pod(owner: Owner) -> str | None:
    return f"{owner.namespace}/{owner.name}" if owner.kind is OwnerKind.POD and owner.namespace else None
