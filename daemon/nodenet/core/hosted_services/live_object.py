"""What does a node take of the object HostedNetServices as the API has it?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodenet.core.hosted_services import resource


def asked(document: Mapping[str, Any] | None) -> object:
    """Return what an administrator edits, and the phase of a migration: these are taken at once."""
    return (document.get("spec"), migration_in(document)) if document else None


def migration_in(document: Any) -> Mapping[str, Any] | None:  # noqa: ANN401
    """Return the record of a migration, None without one; its fields are not checked."""
    status = document.get("status") if isinstance(document, Mapping) else None
    found = status.get("migration") if isinstance(status, Mapping) else None
    return found if isinstance(found, Mapping) else None


def led_on(good: Mapping[str, Any] | None, found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what is kept of the object that was *found*: the last *good* one where it cannot be used.

    The record goes on all the same: nodenetd reads it from the disk, and writes the same names as nodenet-hosted.
    """
    if is_usable(found):
        return found
    later = {**good, "status": found.get("status")} if good is not None else None
    return later if later is not None and is_usable(later) else good


def is_usable(document: object) -> bool:
    """Return whether an object can be used as a whole."""
    try:
        resource.spec_of(document)
    except resource.ResourceInvalid:
        return False
    return True
