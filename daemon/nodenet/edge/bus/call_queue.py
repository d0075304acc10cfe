"""Which call is answered next, when one program makes thousands?

One from each caller in turn, so that a caller with many calls waits for itself.
"""

from __future__ import annotations

from collections import deque

from nodenet.edge.bus.frames import Frame

MOST_OF_A_CALLER = 128
"""As many calls as dbus-daemon lets a connection have open (max_replies_per_connection)."""
MOST = 16_384
"""About 8 MB."""


class CallQueue:
    """Calls that wait for their answer."""

    def __init__(self) -> None:
        """Begin empty."""
        self._callers: dict[str, deque[Frame]] = {}
        self._size = 0

    def __len__(self) -> int:
        """How many calls wait."""
        return self._size

    def put(self, call: Frame) -> bool:
        """Queue a call; return False where its caller, or all together, have too many."""
        waiting = self._callers.setdefault(call.sender, deque())
        if len(waiting) >= MOST_OF_A_CALLER or self._size >= MOST:
            if not waiting:
                del self._callers[call.sender]
            return False
        waiting.append(call)
        self._size += 1
        return True

    def take(self) -> Frame | None:
        """Return the next call, None when none waits."""
        if not self._size:
            return None
        sender = next(iter(self._callers))
        waiting = self._callers.pop(sender)
        call = waiting.popleft()
        if waiting:
            self._callers[sender] = waiting  # behind all others
        self._size -= 1
        return call
