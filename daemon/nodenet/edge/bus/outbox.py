"""How are signals sent to a bus that may not read? Few at a time, and only the newest value of each property."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dbus_next.message import Message

LIMIT = 64
WINDOW = 16
"""Messages sent before the bus must have answered."""


class Outbox:
    """Signals that wait to be sent."""

    def __init__(self) -> None:
        """Begin empty."""
        self._waiting: dict[object, Callable[[], Message | None]] = {}

    def __bool__(self) -> bool:
        """Whether any waits."""
        return bool(self._waiting)

    def put(self, key: object, make: Callable[[], Message | None]) -> None:
        """Queue what *make* returns when it is sent; a later one with the same *key* replaces it."""
        self._waiting.pop(key, None)
        while len(self._waiting) >= LIMIT:
            self._waiting.pop(next(iter(self._waiting)))
        self._waiting[key] = make

    def window(self) -> list[Callable[[], Message | None]]:
        """Take the next ones to be sent."""
        return [self._waiting.pop(key) for key in list(self._waiting)[:WINDOW]]
