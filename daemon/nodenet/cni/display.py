"""How do changes reach the bus and the file with the figures? Many changes in one moment are shown once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePath
from typing import Any, Protocol

import structlog

from nodenet.core.errors import PublishFailed
from nodenet.core.persistent_ips import metrics
from nodenet.edge.files import disk

log = structlog.get_logger()

PAUSE_SECONDS = 1.0


class Known(Protocol):
    """What is shown."""

    def document(self) -> Mapping[str, Any]:
        """Return the claims document."""

    def figures(self) -> metrics.Figures:
        """Return what is counted and measured since the service started."""


class Display:
    """Shows what the service knows."""

    def __init__(self, known: Known, shows: Sequence[Callable[[Mapping[str, Any]], object]], figures: PurePath) -> None:
        """*shows* get the document after each change. *figures*: the file for a monitoring system."""
        self._known = known
        self._shows = shows
        self._figures = figures
        self._changed = asyncio.Event()
        self._failed = False

    def changed(self) -> None:
        """Show what is known soon."""
        self._changed.set()

    async def run(self) -> None:
        """Show now, and after each change. Never ends."""
        while True:
            self._changed.clear()
            self._show()
            await self._changed.wait()
            await asyncio.sleep(PAUSE_SECONDS)

    def _show(self) -> None:
        document = self._known.document()
        for show in self._shows:
            show(document)
        try:
            disk.write(self._figures, metrics.text(document, self._known.figures()).encode())
        except PublishFailed as error:
            if not self._failed:
                log.warning(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
            self._failed = True
        else:
            self._failed = False
