"""What a run found, and the fewest faults that still violate the same property."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

import structlog

from simulation import kinds  # noqa: F401 -- a run looks its faults up by name
from simulation.engine import Violation
from simulation.rules import Spoken
from simulation.run import Run, Triple
from simulation.scenario import Scenario


@dataclass(frozen=True, slots=True)
class Result:
    """What a run found; *points* are those that the daemon passed."""

    scenario: Scenario
    rule: str = ""
    text: str = ""
    boots: int = 0
    processes: int = 0
    seconds: float = 0.0
    struck: Counter[str] = field(default_factory=Counter)
    checked: Counter[str] = field(default_factory=Counter)
    covered: Counter[Triple] = field(default_factory=Counter)
    lines: tuple[Spoken, ...] = ()
    points: Counter[str] = field(default_factory=Counter)
    calls: Counter[str] = field(default_factory=Counter)
    """The points passed until all was well for a while, before the daemon was started again."""

    @property
    def journal(self) -> list[str]:
        """What was logged."""
        return [f"{line.now:10.3f} {line.level:8} {line.text}" for line in self.lines]

    @property
    def failed(self) -> bool:
        return bool(self.rule)


def run(scenario: Scenario) -> Result:
    """Return what a run of *scenario* finds."""
    going = Run(scenario)
    rule = text = ""
    with journal_of(going):
        try:
            going.go()
        except Violation as found:
            rule, text = found.rule, str(found)
        finally:
            if going.process is not None and not going.process.loop.is_closed():
                going.process.life.alive = False
                going.process.loop.discard()
    return Result(
        scenario,
        rule,
        text,
        going.world.boots,
        going.processes,
        going.world.now,
        going.struck,
        going.world.rules.checked,
        going.covered,
        tuple(going.world.rules.journal),
        going.world.points,
        going.calls,
    )


class Logger:
    """Takes each line into the journal of a run; the processors of structlog would cost more than the line."""

    def __init__(self, going: Run) -> None:
        self._going = going

    def bind(self) -> Logger:
        return self

    def _said(self, level: str, event: str, fields: dict[str, Any]) -> None:
        world = self._going.world
        if world.life.alive:
            world.rules.said(level, event, fields)

    def debug(self, event: str, **fields: Any) -> None:
        self._said("debug", event, fields)

    def info(self, event: str, **fields: Any) -> None:
        self._said("info", event, fields)

    def warning(self, event: str, **fields: Any) -> None:
        self._said("warning", event, fields)

    def error(self, event: str, **fields: Any) -> None:
        self._said("error", event, fields)


@contextmanager
def journal_of(going: Run) -> Iterator[None]:
    """Let what is logged go into the run."""
    before, logger = structlog.get_config(), Logger(going)
    structlog.configure(
        wrapper_class=lambda *_, **__: logger,  # type: ignore[arg-type]  # one for all lines of the run
        logger_factory=lambda *_: logger,
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.configure(**before)


def smallest(scenario: Scenario, rule: str) -> Scenario:
    """Return *scenario* with as few faults as still violate *rule*."""
    changed = True
    while changed:
        changed = False
        for index in range(len(scenario.faults)):
            fewer = replace(scenario, faults=scenario.faults[:index] + scenario.faults[index + 1 :])
            if run(fewer).rule == rule:
                scenario, changed = fewer, True
                break
    return scenario
