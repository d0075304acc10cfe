"""What was asked of the loop from outside, and how is whoever waits for the end of it answered?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field
from enum import Enum

from nodenet.core.boot import StageName
from nodenet.core.errors import NodenetError
from nodenet.core.outcome import Topic

Callers = list[asyncio.Future[None]]


class Order(Enum):
    """What somebody may wait for the end of; the value is the stage that it begins with."""

    RELOAD = StageName.HOSTNAME
    RESELECT = StageName.NODEIP
    REMOVE_BRIDGE = StageName.CONFIGURE_OVS


@dataclass(slots=True)
class Requests:
    """Everything that waits for its turn, and the callers whose turn it is."""

    asked: dict[Order, Callers] = field(default_factory=dict)
    reruns: set[StageName] = field(default_factory=set)
    topics: set[Topic] = field(default_factory=set)
    stop: bool = False
    wakened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by every request and every event."""
    begun: dict[Order, Callers] = field(default_factory=dict)
    """What is under way, and who waits for its end."""
    answer_by: float = 0.0
    """When they are told what the loop waits for; seconds of CLOCK_BOOTTIME."""

    @property
    def pending(self) -> bool:
        """Whether anything waits for its turn."""
        return bool(self.stop or self.asked or self.reruns)

    async def ask(self, order: Order) -> None:
        """Give *order* and wait until the loop has answered. Raises what it was answered with."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.asked.setdefault(order, []).append(answer)
        self.wakened.set()
        await answer

    def take(self, order: Order, answer_by: float) -> bool:
        """Begin *order* if anybody gave it; tell whether."""
        if order not in self.asked:
            return False
        self.begun.setdefault(order, []).extend(self.asked.pop(order))
        self.answer_by = answer_by
        return True

    def answer(self, order: Order, error: NodenetError | None) -> None:
        """End *order*, and tell those who wait for it; None: it went well."""
        for answer in self.begun.pop(order, ()):
            if answer.done():
                continue
            if error is None:
                answer.set_result(None)
            else:
                answer.set_exception(error)

    def answer_all(self, error: NodenetError) -> None:
        """Tell everybody that nothing comes of it any more."""
        for order, callers in self.asked.items():
            self.begun.setdefault(order, []).extend(callers)
        self.asked.clear()
        for order in tuple(self.begun):
            self.answer(order, error)
