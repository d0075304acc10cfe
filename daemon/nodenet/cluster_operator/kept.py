"""Does the API keep what nodenet-operator writes? One whose kind HostedNetServices is older drops fields silently."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from nodenet.core.hosted_cluster.conditions import UPDATE_KIND, outdated
from nodenet.core.hosted_services import migration
from nodenet.core.messages import Message

log = structlog.get_logger()

AGAIN_SECONDS = 60.0
"""So long no status is written for the sake of fields that the API has dropped."""


class Kept:
    """What the API has kept of the last status."""

    def __init__(self) -> None:
        """Begin with an API that keeps everything."""
        self.lost: tuple[str, ...] = ()
        """The fields that it has dropped."""
        self._until = 0.0

    def skipped(self, now: float) -> tuple[str, ...]:
        """Return the parts of a status that are not compared *now*: they were written, and are not there."""
        return ("migration",) if self.lost and now < self._until else ()

    def read_back(self, written: Mapping[str, Any], answer: Mapping[str, Any], now: float) -> bool:
        """Take what the API has answered to a status that was *written*; return whether other fields are lost.

        A status without a record does not show what is kept of one.
        """
        if written.get("migration") is None:
            return False
        status = answer.get("status")
        found = status.get("migration") if isinstance(status, Mapping) else None
        before, self.lost = self.lost, migration.lost_fields(written.get("migration"), found)
        self._until = now + AGAIN_SECONDS
        if self.lost and not before:
            cause = outdated(self.lost)
            log.error(cause, message=Message.KIND_OUTDATED, cause=cause, remedy=UPDATE_KIND)
        return self.lost != before
