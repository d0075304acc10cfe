"""Which requests came to the loop from outside, how are the callers answered, and how does the loop sleep meanwhile?"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Protocol, TypeVar

from nodenet.core.boot.outcome import Topic
from nodenet.core.boot.stage_state import EDIT
from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.since import until_common
from nodenet.core.stage_name import StageName
from nodenet.ports import Clock

Callers = list[asyncio.Future[None]]


class Order(Enum):
    """What a caller can ask for and wait for; the value is the first stage that runs again."""

    RELOAD = StageName.HOSTNAME
    RESELECT = StageName.NODEIP
    REMOVE_BRIDGE = StageName.CONFIGURE_OVS

    @property
    def not_concerned(self) -> frozenset[StageName]:
        """The stages whose failure is none of the order: br-ex is removed whether the stages behind succeed or not."""
        return frozenset(StageName) - {self.value} if self is Order.REMOVE_BRIDGE else frozenset()


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """The callers whose order was taken at one time; none where an edit gave it."""

    callers: Callers
    answer_by: float
    """When they are answered with what the loop waits for; seconds of CLOCK_BOOTTIME."""
    who: str
    """Who gave it: of several, the first; an edit only where there is no other."""


@dataclass(slots=True)
class Requests:
    """Everything that waits for its turn, and the callers whose turn it is."""

    asked: dict[Order, Callers] = field(default_factory=dict)
    who: dict[Order, str] = field(default_factory=dict)
    """Who gave each order that was asked for."""
    reruns: dict[StageName, str] = field(default_factory=dict)
    """The stages that are to run again, and who asks for that."""
    topics: dict[Topic, float] = field(default_factory=dict)
    """When the last event of each came; seconds of CLOCK_BOOTTIME."""
    stop: bool = False
    prune: bool = False
    """Whether a reload is to remove what earlier node files have left over."""
    trial: bool = False
    """Whether a trial of a node file was asked for (``loop.trials``)."""
    wakened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by every request and every event."""
    begun: dict[Order, list[Taken]] = field(default_factory=dict)
    """What is under way, and who waits for its end."""

    @property
    def pending(self) -> bool:
        """Whether anything waits for its turn."""
        return bool(self.stop or self.asked or self.reruns or self.trial)

    def note(self, order: Order, who: str) -> None:
        """Give *order* for *who*, who waits for no answer."""
        self.asked.setdefault(order, [])
        if self.who.get(order, EDIT) == EDIT:
            self.who[order] = who

    async def ask(self, order: Order, who: str) -> None:
        """Give *order* for *who* and wait until the loop has answered. Raises the error of the answer."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.note(order, who)
        self.asked[order].append(answer)
        self.wakened.set()
        await answer

    def ask_for_trial(self) -> None:
        """Let the loop begin the trial that was asked for."""
        self.trial = True
        self.wakened.set()

    def take(self, order: Order, answer_by: float) -> Taken | None:
        """Begin *order* if it was given; return its callers."""
        if not self.asked or order not in self.asked:
            return None
        taken = Taken(self.asked.pop(order), answer_by, self.who.pop(order))
        self.begun.setdefault(order, []).append(taken)
        return taken

    def answer(self, order: Order, error: NodenetError | None, only: Taken | None = None) -> None:
        """End *order* and answer its callers (with *only*: these alone); *error* None: it succeeded."""
        begun = self.begun.pop(order, [])
        ended = [only] if only else begun
        if left := [taken for taken in begun if taken not in ended]:
            self.begun[order] = left
        for answer in (caller for taken in ended for caller in taken.callers if not caller.done()):
            if error is None:
                answer.set_result(None)
            else:
                answer.set_exception(error)

    def answer_late(self, now: float, error: NodenetError) -> None:
        """Answer the callers who have waited long enough."""
        for order, begun in tuple(self.begun.items()):
            for taken in begun:
                if now > taken.answer_by:
                    self.answer(order, error, taken)

    def answer_all(self, error: NodenetError) -> None:
        """Answer every caller with *error*."""
        for order in tuple(self.asked):
            self.take(order, 0.0)
        for order in tuple(self.begun):
            self.answer(order, error)


ROUNDING_SECONDS = 1e-6
STOP_SECONDS = 120.0
"""How long a stop extends systemd's timeout for work that was cancelled: a rollback may take 90 s."""
BURST_SECONDS = 0.01
"""Events that follow one another so closely are one."""
T = TypeVar("T")


def nothing() -> None:
    """Do nothing with a beat."""


class Watchdog(Protocol):
    """The service manager's view of a loop that is alive."""

    @property
    def seconds(self) -> float:
        """How often ``beat`` wants to be called."""

    def beat(self, *, starting: bool) -> None:
        """Feed the watchdog; extend the start timeout while *starting*."""


class WatchdogLoop:
    """Works and sleeps without a timeout of systemd's watchdog: beats meanwhile, and wakes on requests."""

    def __init__(self, requests: Requests, watchdog: Watchdog, clock: Clock, starting: Callable[[], bool]) -> None:
        """*starting* returns whether systemd's start timeout is to be extended."""
        self._requests = requests
        self._watchdog = watchdog
        self._clock = clock
        self._starting = starting

    async def beat_during(
        self, work: Coroutine[Any, Any, T], seconds: float = math.inf, each: Callable[[], None] = nothing
    ) -> T | None:
        """Return what *work* returns, None when the daemon stops first; after *seconds* nothing beats.

        *each* is called with each beat.
        """
        task = asyncio.ensure_future(work)
        hung = self._clock.boottime() + seconds
        while not task.done():
            if self._requests.stop:
                await self._cancelled(task)
                return None
            self._requests.wakened.clear()
            waker = asyncio.ensure_future(self._requests.wakened.wait())
            await asyncio.wait({task, waker}, timeout=self._watchdog.seconds, return_when=asyncio.FIRST_COMPLETED)
            waker.cancel()
            if self._clock.boottime() < hung:  # what hangs is left to systemd's watchdog
                self._beat()
                each()
        if task.cancelled():
            raise Unavailable("the work was cancelled from within", remedy="Look at `journalctl -b -u nodenetd`")
        return task.result()

    async def _cancelled(self, task: asyncio.Future[Any]) -> None:
        """Wait for the end of *task*, which cleans up; systemd's stop timeout is extended for STOP_SECONDS at most."""
        until = self._clock.boottime() + STOP_SECONDS
        task.cancel()
        while not task.done():
            if self._clock.boottime() < until:
                self._watchdog.beat(starting=True)
            await asyncio.wait({task}, timeout=self._watchdog.seconds)
        if not task.cancelled():
            task.result()

    async def sleep(self, topics: frozenset[Topic], seconds: float) -> None:
        """Sleep until a request, an event of *topics*, or *seconds* have passed."""
        until = self._clock.boottime() + seconds
        while True:
            if self._requests.topics.keys() & topics:
                await asyncio.sleep(BURST_SECONDS)
                return
            if self._requests.pending:
                return
            left = until - self._clock.boottime()
            if left < ROUNDING_SECONDS:
                return
            self._beat()
            wakened = self._requests.wakened
            wakened.clear()
            timer = asyncio.get_running_loop().call_later(min(left, self.until_beat()), wakened.set)
            try:
                await wakened.wait()
            finally:
                timer.cancel()

    def until_beat(self) -> float:
        """Return the seconds until the next beat of a loop that sleeps."""
        return until_common(asyncio.get_running_loop().time(), self._watchdog.seconds)

    def _beat(self) -> None:
        self._watchdog.beat(starting=self._starting())
