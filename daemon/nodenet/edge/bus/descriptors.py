"""How are file descriptors closed that come with a message? nodenetd uses none of them.

Another thread than that of the event loop closes them: the sender can make close(2) block, for example with SO_LINGER
(socket(7)) or with a file of a FUSE file system.
"""

from __future__ import annotations

import array
import os
import socket
import threading
from collections import deque
from collections.abc import Iterable
from contextlib import suppress

MOST_THREADS = 8
"""Threads that may be blocked by a close at once. Only root can send descriptors where the bus has our policy."""
MOST_PER_MESSAGE = 253
"""SCM_MAX_FD of unix(7)."""
ANCILLARY_BYTES = socket.CMSG_SPACE(MOST_PER_MESSAGE * array.array("i").itemsize)

_waiting: deque[int] = deque()
_free = threading.Semaphore(MOST_THREADS)


def received(ancillary: Iterable[tuple[int, int, bytes]]) -> list[int]:
    """Return the descriptors in the ancillary data of recvmsg(2)."""
    found = array.array("i")
    for level, kind, data in ancillary:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            found.frombytes(data[: len(data) - len(data) % found.itemsize])
    return found.tolist()


def close_in_a_thread(descriptors: Iterable[int]) -> None:
    """Close *descriptors* soon, without waiting for it."""
    _waiting.extend(descriptors)
    if _waiting and _free.acquire(blocking=False):
        threading.Thread(target=_close_all, daemon=True, name="close").start()


def close(descriptors: Iterable[int]) -> None:
    """Close descriptors of our own at once."""
    for descriptor in descriptors:
        os.close(descriptor)


def _close_all() -> None:
    try:
        while True:
            with suppress(OSError):  # an error of a file of another program
                os.close(_waiting.popleft())
    except IndexError:
        pass
    finally:
        _free.release()
