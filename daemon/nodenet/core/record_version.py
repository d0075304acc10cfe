"""Can this release read a record that it finds on the disk? Every record has the version of its format."""

from __future__ import annotations

import json
from typing import Any


def fields(content: bytes, known: int) -> dict[str, Any]:
    """Return the fields of a record but its version, which must be *known*. Raises ValueError, which says why not."""
    if not content.strip(b"\0"):  # a power cut may leave zero bytes in the place of the data
        raise ValueError("it is empty")
    try:
        found = json.loads(content.decode())
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    version = found.pop("version", None) if isinstance(found, dict) else None
    if why := refusal(version, known):
        raise ValueError(why)
    return dict(found)


def refusal(found: object, known: int) -> str | None:
    """Return why a record whose version is *found* is not read, where *known* is the version of this release.

    None: it is read. After a downgrade the record may be of a later release.
    """
    if type(found) is int and found > known:
        return f"it has version {found}, of a later release of nodenet; this release reads version {known}"
    return None if type(found) is int and found == known else f"it does not have version {known}"
