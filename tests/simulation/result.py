"""What a run found, and the fewest faults that still violate the same property."""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn

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


@contextmanager
def journal_of(going: Run) -> Iterator[None]:
    """Let what is logged go into the run."""
    before = structlog.get_config()

    def take(_: object, level: str, event: MutableMapping[str, Any]) -> NoReturn:
        if going.world.life.alive:
            going.world.rules.said(level, str(event.pop("event")), dict(event))
        raise structlog.DropEvent

    structlog.configure(
        processors=[take],
        wrapper_class=structlog.make_filtering_bound_logger(logging.NOTSET),
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
