"""What is done beside the verbs, each once it is due, and again later while it fails?"""

from __future__ import annotations

import asyncio
import heapq
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from nodenet.core.backoff import backoff
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.persistent_ips.api import ApiAway

log = structlog.get_logger()

FIRST_SECONDS, LONGEST_SECONDS = 0.5, 60.0
AT_ONCE = 8
Work = Callable[[], Awaitable[object]]


@dataclass
class Chore:
    """One thing to do."""

    work: Work
    due: float
    failures: int = 0


class Chores:
    """Things to do by name: one that is added again before it began is done once."""

    def __init__(self) -> None:
        """Begin with none."""
        self._chores: dict[tuple[str, ...], Chore] = {}
        self._order: list[tuple[float, tuple[str, ...]]] = []
        self._changed = asyncio.Event()
        self._working: set[asyncio.Task[None]] = set()

    def add(self, name: tuple[str, ...], work: Work, seconds: float = 0.0) -> None:
        """Do *work* in *seconds*; earlier, if it was to be done earlier."""
        due = asyncio.get_running_loop().time() + seconds
        old = self._chores.get(name)
        failures = old.failures if old is not None else 0
        if old is not None and old.due <= due:
            due = old.due
        self._chores[name] = Chore(work, due, failures)
        heapq.heappush(self._order, (due, name))
        self._changed.set()

    def hurry(self) -> None:
        """Do what has failed now: the reason may have passed."""
        for name, chore in list(self._chores.items()):
            if chore.failures:
                chore.failures = 0
                self.add(name, chore.work)

    @property
    def rested(self) -> bool:
        """Whether nothing is being done, and nothing is due."""
        now = asyncio.get_running_loop().time()
        return not self._working and all(chore.due > now for chore in self._chores.values())

    async def run(self) -> None:
        """Work until cancelled."""
        try:
            while True:
                await self._wait()
                while len(self._working) < AT_ONCE and (due := self._next()) is not None:
                    task = asyncio.ensure_future(self._do(*due))
                    self._working.add(task)
                    task.add_done_callback(self._ended)
        finally:
            for task in self._working:
                task.cancel()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._working.discard(task)
        self._changed.set()

    async def _wait(self) -> None:
        """Wait until something is due and there is room for it."""
        pause = None
        if self._order and len(self._working) < AT_ONCE:
            pause = max(self._order[0][0] - asyncio.get_running_loop().time(), 0.0)
        if pause == 0.0:
            return
        self._changed.clear()
        try:
            async with asyncio.timeout(pause):
                await self._changed.wait()
        except TimeoutError:
            return

    def _next(self) -> tuple[tuple[str, ...], Chore] | None:
        now = asyncio.get_running_loop().time()
        while self._order and self._order[0][0] <= now:
            due, name = heapq.heappop(self._order)
            chore = self._chores.get(name)
            if chore is not None and chore.due == due:
                del self._chores[name]
                return name, chore
        return None

    async def _do(self, name: tuple[str, ...], chore: Chore) -> None:
        try:
            await chore.work()
        except NodenetError as error:
            chore.failures += 1
            if not isinstance(error, ApiAway) and chore.failures == 1:  # that the API is away is said elsewhere
                log.warning(error.cause, message=Message.CLAIM_REJECTED, cause=error.cause, remedy=error.remedy)
            self._again(name, chore)
        except Exception as error:  # whatever it is, the service goes on and the chore comes back
            chore.failures += 1
            log.exception(f"{name[0]} failed: {error!r}", message=Message.WATCHER_FAILED)  # noqa: TRY401
            self._again(name, chore)

    def _again(self, name: tuple[str, ...], chore: Chore) -> None:
        if name in self._chores:
            self._chores[name].failures = chore.failures
            return
        due = asyncio.get_running_loop().time() + backoff(chore.failures, FIRST_SECONDS, LONGEST_SECONDS)
        self._chores[name] = Chore(chore.work, due, chore.failures)
        heapq.heappush(self._order, (due, name))
