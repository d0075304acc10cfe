"""How do changes reach the bus and the file with the figures? Many changes in one moment are shown once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from nodenet.core.persistent_ips import metrics
from nodenet.edge.metrics.file import MetricsFile

PAUSE_SECONDS = 1.0


class Known(Protocol):
    """What is shown."""

    def document(self) -> Mapping[str, Any]:
        """Return the claims document."""

    def figures(self) -> metrics.Figures:
        """Return what is counted and measured since the service started."""


class Display:
    """Shows what the service knows."""

    def __init__(
        self, known: Known, shows: Sequence[Callable[[Mapping[str, Any]], object]], figures: MetricsFile
    ) -> None:
        """*shows* get the document after each change. *figures*: the file for a monitoring system."""
        self._known = known
        self._shows = shows
        self._figures = figures
        self._changed = asyncio.Event()

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

    def end(self) -> None:
        """Write the figures of a service that has stopped."""
        figures = self._known.figures()
        figures.program.running = False
        self._figures.put(metrics.text(self._known.document(), figures))

    def _show(self) -> None:
        document = self._known.document()
        for show in self._shows:
            show(document)
        self._figures.put(metrics.text(document, self._known.figures()))
