"""Was the store of addresses lost in this boot? Then it is not known which addresses of the node's slices are in use.

Addresses of a slice that have no Lease yet are in the store alone. A file in /run says that a service of this boot had
a store; a new store beside it has lost something. At the next boot no sandbox is left, and the file is gone too.
"""

from __future__ import annotations

from pathlib import PurePath

import structlog

from nodenet.core.errors import PublishFailed
from nodenet.core.messages import Message
from nodenet.edge.files import disk

log = structlog.get_logger()

MOST_BYTES = 200
CAUSE = "The store of addresses was lost in this boot: no address of this node's slices is given until the next one"


def was_lost(marker: PurePath, boot_id: str, *, fresh: bool) -> bool:
    """Return whether the store was lost since the boot *boot_id*; *fresh*: it was made just now.

    Where *marker* cannot be used, it may have been.
    """
    had, lost = boot_id.encode(), f"{boot_id} lost".encode()
    try:
        known = disk.read(marker, MOST_BYTES)
        found = known == lost or (fresh and known == had)
        disk.write(marker, lost if found else had)
    except PublishFailed as error:
        log.warning(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        return True
    if found:
        log.warning(CAUSE, message=Message.IPAM_STORE_REBUILT)
    return found
