"""What was asked of the loop from outside, and how is whoever waits for the end of it answered?"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from nodenet import story
from nodenet.core.boot import StageName
from nodenet.core.errors import NodenetError
from nodenet.core.outcome import Topic

Callers = list[asyncio.Future[None]]


@dataclass(slots=True)
class Requests:
    """Everything that waits for its turn, and the callers whose turn it is."""

    reloads: Callers = field(default_factory=list)
    reselects: Callers = field(default_factory=list)
    removals: Callers = field(default_factory=list)
    """Of the bridges."""
    reruns: set[StageName] = field(default_factory=set)
    topics: set[Topic] = field(default_factory=set)
    stop: bool = False
    wakened: asyncio.Event = field(default_factory=asyncio.Event)
    """Set by every request and every event."""
    answering: Callers = field(default_factory=list)
    first: StageName = StageName.HOSTNAME
    """The stage that what they asked for began with: what failed before it is no answer to them."""
    answer_by: float = 0.0
    """When they are told what the loop waits for; seconds of CLOCK_BOOTTIME."""

    @property
    def pending(self) -> bool:
        """Whether anything waits for its turn."""
        return bool(self.stop or self.reloads or self.reselects or self.removals or self.reruns)

    async def ask(self, callers: Callers) -> None:
        """Wait among *callers* until the loop has answered. Raises what it was answered with."""
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        callers.append(answer)
        self.wakened.set()
        await answer

    def take(self, callers: Callers, first: StageName, answer_by: float) -> None:
        """Begin what *callers* asked for, with the stage *first*."""
        self.first = min(first, self.first, key=list(StageName).index) if self.answering else first
        self.answering += callers
        self.answer_by = answer_by
        callers.clear()

    def answer(self, error: NodenetError | None) -> None:
        """Answer those whose turn it was; None: it went well."""
        answers, self.answering = self.answering, []
        if not answers:
            return
        story.reloaded(error)
        for answer in answers:
            if answer.done():
                continue
            if error is None:
                answer.set_result(None)
            else:
                answer.set_exception(error)
