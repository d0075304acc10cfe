"""Which tasks run beside the loop and wake it? A supervised task that raises is started again with a back-off."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine

import structlog

from nodenet.core.boot.outcome import Problem
from nodenet.core.errors import PublishFailed
from nodenet.core.messages import Message
from nodenet.core.since import backoff
from nodenet.core.status.document import BootStatus
from nodenet.ports import Store

log = structlog.get_logger()

FIRST_SECONDS, LONGEST_SECONDS = 1.0, 60.0
"""How long after an error a task is started again."""
Work = Callable[[], Coroutine[None, None, None]]


class Background:
    """The tasks beside the loop."""

    def __init__(self) -> None:
        """Start with none."""
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, name: str, work: Work, restarted: Callable[[], None] = lambda: None) -> asyncio.Task[None]:
        """Run *work* until it ends or is cancelled, again after each error; *restarted* is called before that.

        What changed while it did not run was missed: *restarted* is where to say that something may have.
        """
        task = asyncio.ensure_future(_supervised(name, work, restarted))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def end(self) -> None:
        """Cancel everything and wait for it."""
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _supervised(name: str, work: Work, restarted: Callable[[], None]) -> None:
    failures, time = 0, asyncio.get_running_loop().time
    while True:
        began = time()
        try:
            if failures:
                restarted()
            await work()
        except Exception as error:  # whatever it is, the boot continues and the task is started again
            failures = failures + 1 if time() - began < LONGEST_SECONDS else 1
            pause = backoff(failures, FIRST_SECONDS, LONGEST_SECONDS)
            text = f"{name} failed: {error!r}; restart {failures} in {pause:.0f} s"
            log.error(text, message=Message.WATCHER_FAILED, exc_info=error)
            await asyncio.sleep(pause)
        else:
            return


class Events:
    """The events of something outside, while they are listened to."""

    def __init__(
        self,
        background: Background,
        name: str,
        watch: Callable[[Callable[[], None]], Coroutine[None, None, None]],
        changed: Callable[[], None],
    ) -> None:
        """*watch* calls *changed* until it is cancelled."""
        self._background = background
        self._name = name
        self._watch = watch
        self._changed = changed
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Listen, if it does not yet."""
        if self._task is None or self._task.done():
            self._task = self._background.start(self._name, lambda: self._watch(self._changed), self._changed)

    def stop(self) -> None:
        """Listen no longer."""
        if self._task is not None:
            self._task.cancel()
            self._task = None


AGAIN_SECONDS = 15.0


class StoreWatch:
    """Writes the records that the disk has not taken yet, and reports one problem while it takes none."""

    def __init__(self, store: Store, report: Callable[[Problem | None], None]) -> None:
        """*report* gets the problem, and None once there is none any more."""
        self._store = store
        self._report = report
        self._failing = False

    def show(self, _status: BootStatus) -> float | None:
        """Write what is owed; return after how many seconds to do so again."""
        error = self._store.pay()
        if self._failing is not (error is not None):
            self._failing = error is not None
            self._report(_problem(error) if error else None)
        return AGAIN_SECONDS if error else None


def _problem(error: PublishFailed) -> Problem:
    cause = f"{error.cause}; what nodenet did is remembered until a reboot only"
    return Problem.of(error, cause)
