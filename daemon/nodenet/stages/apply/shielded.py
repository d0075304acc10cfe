"""How is a change of the network finished that must not stop half way, though nodenetd stops?"""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

import structlog

from nodenet.core.messages import Message

log = structlog.get_logger()

T = TypeVar("T")


async def shielded(work: Coroutine[Any, Any, T] | asyncio.Task[T], what: str = "Rolling back") -> T:
    """Finish *work* even if the caller is cancelled; raise CancelledError after that, and log *what* met an error."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if not cancelled:
        return task.result()
    if error := task.exception():
        log.error(f"{what} met an error: {error}", message=Message.ROLLBACK_FAILED)
    raise asyncio.CancelledError
