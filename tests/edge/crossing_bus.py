"""A bus on which a signal comes right behind an answer: its handler runs before the caller sees the answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nodenet.edge.bus.connection import Bus, Handler, Signal


class CrossingBus(Bus):
    """Answers each call with the next of *answers*; while *crosses* a signal follows the answer at once."""

    def __init__(self, answers: Sequence[Any]) -> None:
        super().__init__(changed=lambda _: None)
        self.answers = list(answers)
        self.crosses = True
        self.handlers: list[Handler] = []

    def subscribe(self, signal: Signal, handler: Handler) -> None:  # noqa: ARG002
        self.handlers.append(handler)

    async def call(self, *_: Any, **__: Any) -> list[Any]:
        answer = self.answers.pop(0)
        if self.crosses:
            self.handlers[0]([])
        return [answer]
