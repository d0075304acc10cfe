"""An event loop for asyncio without a file descriptor: where it would sleep, the world goes on.

It has what the shipped code uses, and nothing else: a start of the daemon takes some hundred turns.
"""

from __future__ import annotations

import asyncio
import itertools
import sys
import warnings
from asyncio import events
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import contextmanager
from functools import partial
from heapq import heappop, heappush
from typing import TYPE_CHECKING, Any

from simulation.engine import Killed, Timeline, Violation

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextvars import Context

    from simulation.life import Life

MOST_TURNS = 20_000
"""Turns of the event loop without a sleep; more are a loop that spins."""
TURN_SECONDS = 1e-5
"""What one turn costs."""
MOMENT_SECONDS = 1e-6
"""No sleep is shorter, and times that differ by less are one: a sum of two times may be rounded to the earlier one."""
NEVER = float("inf")
MOST_TASKS = 200
"""Before those that are done are forgotten."""


class Due:
    """A call that is due, or will be, unless it is cancelled."""

    __slots__ = ("args", "call", "cancelled")

    def __init__(self, call: Callable[..., object], args: tuple[Any, ...]) -> None:
        self.call, self.args, self.cancelled = call, args, False

    def cancel(self) -> None:
        self.cancelled = True


class SimulatedLoop(asyncio.AbstractEventLoop):
    """The loop of one process: it ends with its *life*."""

    def __init__(self, timeline: Timeline, life: Life) -> None:
        self._timeline = timeline
        self._life = life
        self._ready: deque[Due] = deque()
        self._timers: list[tuple[float, int, Due]] = []
        self._numbers = itertools.count()
        self._tasks: list[asyncio.Task[Any]] = []
        self._turns = 0
        self._stopping = self._closed = False

    # -- what asyncio asks of a loop

    def time(self) -> float:
        return self._timeline.now

    def get_debug(self) -> bool:
        return False

    def is_closed(self) -> bool:
        return self._closed

    def call_soon(  # type: ignore[override]
        self,
        callback: Callable[..., object],
        *args: Any,
        context: Context | None = None,  # noqa: ARG002
    ) -> Due:
        due = Due(callback, args)  # without a context of its own: nothing in nodenet has context variables
        self._ready.append(due)
        return due

    def call_later(self, delay: float, callback: Callable[..., object], *args: Any) -> Due:  # type: ignore[override]
        due = Due(callback, args)
        heappush(self._timers, (self._timeline.now + delay, next(self._numbers), due))
        return due

    def call_at(self, when: float, callback: Callable[..., object], *args: Any) -> Due:  # type: ignore[override]
        due = Due(callback, args)
        heappush(self._timers, (when, next(self._numbers), due))
        return due

    def create_future(self) -> asyncio.Future[Any]:
        return asyncio.Future(loop=self)

    def create_task(self, coro: Coroutine[Any, Any, Any], **more: Any) -> asyncio.Task[Any]:  # type: ignore[override]
        task: asyncio.Task[Any] = asyncio.Task(coro, loop=self, **more)
        if len(self._tasks) > MOST_TASKS:
            self._tasks = [one for one in self._tasks if not one.done()]
        self._tasks.append(task)
        return task

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        """Pass over what asyncio would log: an error that matters is one of a task that is awaited."""

    def run_in_executor(self, executor: object, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]  # noqa: ARG002
        """Do at once what another thread would do."""
        future = self.create_future()
        try:
            future.set_result(_remembered(func, args))
        except Exception as error:  # noqa: BLE001  (it is the caller's)
            future.set_exception(error)
        return future

    def deadlines(self) -> list[float]:
        """Return when timers end."""
        return [when for when, _, due in self._timers if not due.cancelled]

    # -- turns

    def run_until_complete(self, future: Coroutine[Any, Any, Any]) -> Any:  # type: ignore[override]
        """Run *future* to its end. Raises Killed, Violation."""
        with _running(self):
            task = self.create_task(future)
            task.add_done_callback(self._stop)
            while not self._stopping:
                self._turn()
        return task.result()

    def _stop(self, _: object) -> None:
        self._stopping = True

    def _turn(self) -> None:
        """Let time pass until something is due, and do all that is due then."""
        timers, ready, timeline = self._timers, self._ready, self._timeline
        while timers and timers[0][2].cancelled:
            heappop(timers)
        left = timers[0][0] - timeline.now if timers else NEVER
        if ready or left <= 0:
            self._pass_a_moment()
        else:
            self._turns = 0
            self._sleep(timeline.now + max(left, MOMENT_SECONDS))
        until = timeline.now + MOMENT_SECONDS
        while timers and timers[0][0] < until:
            ready.append(heappop(timers)[2])
        try:
            for _ in range(len(ready)):
                due = ready.popleft()
                if not due.cancelled:
                    due.call(*due.args)
        except Exception as error:
            raise Violation("P7", f"an error in a callback of the event loop: {error!r}") from error

    def _pass_a_moment(self) -> None:
        self._turns += 1
        if self._turns > MOST_TURNS:
            raise Violation("P4", "the loop spins: it never sleeps")
        timeline = self._timeline
        timeline.now += TURN_SECONDS
        while timeline.events and timeline.events[0][0] <= timeline.now:
            self._let_happen()

    def _sleep(self, until: float) -> None:
        """Let the world go on until the loop has something to do, or it is *until*."""
        timeline, ready = self._timeline, self._ready
        while not ready:
            if not timeline.events and until == NEVER:
                raise Violation("P10", "the daemon sleeps and nothing will ever wake it")
            if not timeline.events or timeline.events[0][0] > until:
                timeline.now = until
                return
            self._let_happen()

    def _let_happen(self) -> None:
        self._timeline.run_next()
        if not self._life.alive:
            raise Killed

    # -- the end

    def discard(self) -> None:
        """Throw away the tasks of a process that has ended; nothing that they do on the way out has an effect."""
        asyncio.set_event_loop(None)  # else asyncio makes one for a task that begins on the way out, and it never ends
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a coroutine that is made on the way out is not awaited
            while self._tasks:  # the end of one may begin another one
                task = self._tasks.pop()
                if not task.done():
                    _throw_away(task)
        self._ready.clear()
        self._timers.clear()
        self._closed = True


def _throw_away(task: asyncio.Task[Any]) -> None:
    task._log_destroy_pending = False  # type: ignore[attr-defined]
    coroutine: Any = task.get_coro()
    for _ in range(10):  # a `finally` that awaits is no end yet
        try:
            coroutine.close()
        except RuntimeError as error:
            if "ignored GeneratorExit" in str(error):
                continue
        except (Exception, Killed):  # noqa: BLE001, S110  (a dead process has no errors)
            pass
        break


@contextmanager
def _running(loop: SimulatedLoop) -> Iterator[None]:
    """Let asyncio know that *loop* runs; nothing ends an asynchronous generator that a dead process has left."""
    before = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(finalizer=lambda _: None)
    events._set_running_loop(loop)
    try:
        yield
    finally:
        events._set_running_loop(None)
        sys.set_asyncgen_hooks(*before)


_KNOWN: dict[Any, Any] = {}
"""Results of pure work that is given to threads because it takes long: parsing a node file takes 5 ms."""


def _remembered(func: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    if not (isinstance(func, partial) and func.args and not func.keywords):
        return func(*args)
    if any(isinstance(each, dict) for each in func.args):  # a network, which is another one each time
        return func(*args)
    key = func.args
    if key not in _KNOWN:
        _KNOWN[key] = func(*args)
    return _KNOWN[key]
