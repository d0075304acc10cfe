"""Can this release read a record that it finds on the disk? Every record has the version of its format."""

from __future__ import annotations


def refusal(found: object, known: int) -> str | None:
    """Return why a record whose version is *found* is not read, where *known* is the version of this release.

    None: it is read. After a downgrade the record may be of a later release.
    """
    if type(found) is int and found > known:
        return f"it has version {found}, of a later release of nodenet; this release reads version {known}"
    return None if type(found) is int and found == known else f"it does not have version {known}"
