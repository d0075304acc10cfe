"""What do CHECK, GC and STATUS find in the book?"""

from __future__ import annotations

from collections.abc import Collection

from nodenet.core.persistent_ips.book import Book
from nodenet.core.persistent_ips.cni import CniError, Code, Request, previous_addresses
from nodenet.core.persistent_ips.model import Attachment
from nodenet.core.persistent_ips.network import Network, Pool


def check(book: Book, request: Request) -> None:
    """Compare an attachment with what its ADD answered. Raises CniError."""
    attachment = book.attachment((request.container_id, request.ifname))
    if attachment is None:
        text = f"Interface {request.ifname} of container {request.container_id} is not attached"
        raise CniError(Code.UNKNOWN_CONTAINER, text)
    held = {row.address for row in book.held_by(attachment.owner, attachment.network)}
    if lost := [one for one in attachment.addresses if one not in held]:
        raise CniError(Code.UNKNOWN_CONTAINER, f"{lost[0]} is not reserved for {attachment.owner} any more")
    before = previous_addresses(request.configuration)
    # The prefix length may be that of a subnet that has grown.
    if before is not None and (missing := [one for one in attachment.addresses if one.ip not in before]):
        raise CniError(Code.CONFIGURATION, f"prevResult has not {missing[0]}, which {attachment.owner} has")


def doomed(book: Book, network: str, kept: Collection[tuple[str, str]]) -> tuple[Attachment, ...]:
    """Return the attachments of *network* that are not in *kept*."""
    return tuple(one for one in book.attachments() if one.network == network and one.key not in kept)


def full(book: Book, network: Network) -> Pool | None:
    """Return the first pool without a free address, as far as this node knows; None where each has one."""
    for pool in network.pools:
        if not any(not book.taken(network.name, ip) for ip in pool.candidates("")):
            return pool
    return None
