"""One thread, virtual time: the world's events and the daemon's event loop in one order that a seed decides."""

from __future__ import annotations

import asyncio
import functools
import heapq
import itertools
import selectors
from collections.abc import Callable
from typing import Any, NoReturn

MOST_TURNS = 20_000
"""Turns of the event loop without a sleep; more are a loop that spins."""
TURN_SECONDS = 1e-5
"""What one turn costs."""

MOMENT_SECONDS = 1e-6
"""No sleep is shorter: a sum of two times may be rounded to the earlier one."""


class Killed(SystemExit):
    """The process of the daemon has ended at this point: nothing of it runs any more.

    asyncio lets a SystemExit of a task through instead of keeping it as the task's result.
    """


class Violation(SystemExit):
    """A property does not hold: the run ends here, whatever the daemon is doing."""

    def __init__(self, rule: str, text: str) -> None:
        super().__init__(f"{rule}: {text}")
        self.rule = rule


class Timeline:
    """What happens in the world, in order."""

    def __init__(self, now: float = 0.0) -> None:
        self.now = now
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = itertools.count()

    def after(self, seconds: float, work: Callable[[], None]) -> None:
        heapq.heappush(self._events, (self.now + seconds, next(self._number), work))

    @property
    def next(self) -> float:
        return self._events[0][0] if self._events else float("inf")

    def run_next(self) -> None:
        when, _, work = heapq.heappop(self._events)
        self.now = max(self.now, when)
        work()

    def run_until(self, until: float) -> None:
        """Let time pass while no daemon runs."""
        while self.next <= until:
            self.run_next()
        self.now = max(self.now, until)


class SimulatedLoop(asyncio.BaseEventLoop):
    """An event loop of asyncio without a file descriptor: where it would sleep, the world goes on."""

    def __init__(self, timeline: Timeline, is_alive: Callable[[], bool]) -> None:
        super().__init__()
        self._timeline = timeline
        self._is_alive = is_alive
        self._clock_resolution = 1e-6
        self._selector = self
        self._turns = 0
        self.failures: list[str] = []
        """What asyncio would have logged as an error nobody handled."""

    def time(self) -> float:
        return self._timeline.now

    def select(self, timeout: float | None) -> list[tuple[selectors.SelectorKey, int]]:
        """Let the world go on until the loop has something to do."""
        timeline, ready = self._timeline, self._ready  # type: ignore[attr-defined]
        if timeout == 0:
            self._turns += 1
            if self._turns > MOST_TURNS:
                raise Violation("P4", "the loop spins: it never sleeps")
            timeline.now += TURN_SECONDS
            while timeline.next <= timeline.now:
                self._let_happen()
            return []
        self._turns = 0
        until = float("inf") if timeout is None else timeline.now + max(timeout, MOMENT_SECONDS)
        while not ready:
            if timeline.next > until:
                timeline.now = until
                return []
            if timeline.next == until == float("inf"):
                raise Violation("P10", "the daemon sleeps and nothing will ever wake it")
            self._let_happen()
        return []

    def _let_happen(self) -> None:
        self._timeline.run_next()
        if not self._is_alive():
            raise Killed

    def _process_events(self, event_list: list[Any]) -> None:
        pass

    def _write_to_self(self) -> None:
        pass

    def _asyncgen_finalizer_hook(self, agen: object) -> None:
        pass

    def call_exception_handler(self, context: dict[str, Any]) -> None:
        self.failures.append(f"{context.get('message')}: {context.get('exception')!r}")

    def run_in_executor(self, executor: object, func: Callable[..., Any], *args: Any) -> asyncio.Future[Any]:  # type: ignore[override]  # noqa: ARG002
        """Do at once what another thread would do."""
        future = self.create_future()
        try:
            future.set_result(_remembered(func, args))
        except Exception as error:  # noqa: BLE001  (it is the caller's)
            future.set_exception(error)
        return future

    def discard(self) -> None:
        """Throw away the tasks of a process that was killed; nothing that they do on the way out has an effect."""
        for task in asyncio.all_tasks(self):
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
        self._ready.clear()  # type: ignore[attr-defined]
        self._scheduled.clear()  # type: ignore[attr-defined]
        self.close()


_KNOWN: dict[Any, Any] = {}
"""Results of pure work that is given to threads because it takes long: parsing a node file takes 5 ms."""


def _remembered(func: Callable[..., Any], args: tuple[Any, ...]) -> Any:
    if not (isinstance(func, functools.partial) and func.args and not func.keywords):
        return func(*args)
    key = func.args
    if key not in _KNOWN:
        _KNOWN[key] = func(*args)
    return _KNOWN[key]


def impossible(what: object) -> NoReturn:
    raise AssertionError(f"the world has no law for {what!r}")
