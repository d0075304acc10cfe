"""Which call is answered next, when one program makes thousands?

One from each caller in turn, so that a caller with many calls delays only its own.
"""

from __future__ import annotations

import sys
from collections import deque
from dataclasses import dataclass, field

from nodenet.edge.bus.frames import Frame

MOST_OF_A_CALLER = 128
"""As many calls as dbus-daemon lets a connection have open (max_replies_per_connection)."""
MOST = 16_384
BYTES_OF_A_CALLER = 128 * 1024
"""128 usual calls fit. Any program may send calls of 20 KB, most of which is the path; a few of these fit."""
BYTES = MOST // MOST_OF_A_CALLER * BYTES_OF_A_CALLER
"""16 MB. As many callers fill it as fill the queue with usual calls."""


class CallQueue:
    """Calls that wait for their answer."""

    def __init__(self) -> None:
        """Begin empty."""
        self._callers: dict[str, _Caller] = {}
        self._size = 0
        self._bytes = 0

    def __len__(self) -> int:
        """How many calls wait."""
        return self._size

    def put(self, call: Frame) -> bool:
        """Queue a call; return False where its caller, or all together, have too many or too large ones."""
        size = _bytes_of(call)
        caller = self._callers.get(call.sender) or _Caller()
        if self._size >= MOST or self._bytes + size > BYTES or not caller.has_room(size):
            return False
        self._callers[call.sender] = caller
        caller.calls.append(call)
        caller.bytes += size
        self._size += 1
        self._bytes += size
        return True

    def take(self) -> Frame | None:
        """Return the next call, None when none waits."""
        if not self._size:
            return None
        sender = next(iter(self._callers))
        caller = self._callers.pop(sender)
        call = caller.calls.popleft()
        size = _bytes_of(call)
        caller.bytes -= size
        if caller.calls:
            self._callers[sender] = caller  # behind all others
        self._size -= 1
        self._bytes -= size
        return call


@dataclass(slots=True)
class _Caller:
    """The calls of one program that wait."""

    calls: deque[Frame] = field(default_factory=deque)
    bytes: int = 0

    def has_room(self, size: int) -> bool:
        return len(self.calls) < MOST_OF_A_CALLER and self.bytes + size <= BYTES_OF_A_CALLER


def _bytes_of(call: Frame) -> int:
    """Return how much memory a call takes: the message, and its texts, which its caller chose."""
    return sys.getsizeof(call) + sum(sys.getsizeof(part) for part in call)
