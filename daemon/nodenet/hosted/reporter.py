"""When does this node report about itself to the cluster? When its report has changed, at most once a minute.

The report of before stays in the API meanwhile. What changes in a migration of the API is reported at once. After a
start, and after the API was away, it is asked what it has: a restart writes nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress

import structlog

from nodenet.core.errors import Postponed, Unavailable
from nodenet.core.hosted_cluster.node_report import ANNOTATION, NodeReport, render
from nodenet.core.hosted_services.migration import Phase
from nodenet.core.hosted_services.units import Budget
from nodenet.core.messages import Message
from nodenet.hosted.follower import pause
from nodenet.ports.kubernetes import OwnNode

log = structlog.get_logger()

SETTLE_SECONDS = 2.0
"""Changes that come together are one report."""
WRITE_SECONDS = 60.0
MIGRATION_BURST, MIGRATION_SECONDS = 10, 5.0
"""So many urgent reports of one phase at once, and one more after each pause."""
LOOK_SECONDS = 900.0
"""How often the API is asked what it has: a Node object may have been made again."""
REMEDY = "See `[kubernetes] kubeconfig`: kubelet's credentials may annotate the node's own Node object"


class Reporter:
    """Keeps the annotation of this node's Node object."""

    def __init__(self, node: OwnNode, report: Callable[[], NodeReport | None]) -> None:
        """*report* returns the present report, None while the cluster has no use for one."""
        self._node = node
        self._report = report
        self._changed = asyncio.Event()
        self._there: str | None = None
        """What the API has, None while that is not known."""
        self._looked = 0.0
        self._budget = Budget(1, WRITE_SECONDS)
        self._urgent = asyncio.Event()
        self._urgent_budget = Budget(MIGRATION_BURST, MIGRATION_SECONDS)
        self._step: tuple[int, Phase] | None = None
        """The phase that the last urgent report was about."""
        self._problem = ""

    def changed(self) -> None:
        """Look at the report again; this is cheap."""
        self._changed.set()

    def look_again(self) -> None:
        """Ask the API what it has: it was away, and may have come back with an older database."""
        self._there = None
        self._changed.set()

    def changed_in_migration(self) -> None:
        """Report at once: a whole cluster may wait for it."""
        self._urgent.set()
        self._changed.set()

    async def run(self) -> None:
        """Report until cancelled."""
        failures = 0
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._changed.wait()
            await self._wait(SETTLE_SECONDS)
            self._changed.clear()
            try:
                await self._bring()
                failures = 0
                self._log("")
            except Unavailable as error:
                failures += 1
                self._there = None
                self._log(error.cause)
                await asyncio.sleep(pause(failures, error.seconds if isinstance(error, Postponed) else 0.0))
                self._changed.set()

    async def _bring(self) -> None:
        """Write the report if the API has another one. Raises Unavailable."""
        if self._report() is None:
            return
        if self._there is None or _now() - self._looked >= LOOK_SECONDS:
            self._there = await self._node.annotation(ANNOTATION) or ""
            self._looked = _now()
        if (report := self._report()) is not None and render(report) == self._there:
            self._urgent.clear()
            return
        await self._wait(self._budget.wait(_now()))
        if urgent := self._urgent.is_set():
            await self._urgent_turn()
        if (report := self._report()) is None or (text := render(report)) == self._there:
            return
        if urgent:
            self._urgent_budget = self._urgent_budget.used(_now())
        else:
            self._budget = self._budget.used(_now())
        try:
            await self._node.annotate(ANNOTATION, text)
        except Unavailable:
            if urgent:  # the next attempt does not wait for the minute of other reports
                self._urgent.set()
            raise
        self._there = text

    async def _urgent_turn(self) -> None:
        """Wait until an urgent report may be written; one about another phase may be at once."""
        while True:
            self._urgent.clear()
            self._begin_phase()
            await self._wait(self._urgent_budget.wait(_now()))
            if not self._urgent.is_set():
                return

    def _begin_phase(self) -> None:
        """Renew the budget where another phase began: what was reported of earlier ones delays no migration."""
        report = self._report()
        part = report.migration if report else None
        step = (part.attempt, part.phase) if part else None
        if step != self._step:
            self._step, self._urgent_budget = step, Budget(MIGRATION_BURST, MIGRATION_SECONDS)

    async def _wait(self, seconds: float) -> None:
        """Wait for *seconds*, or until the report is urgent."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await self._urgent.wait()

    def _log(self, problem: str) -> None:
        if problem and not self._problem:
            cause = f"This node's hosted services are not reported to the cluster: {problem}"
            log.warning(cause, message=Message.API_FAILED, cause=cause, remedy=REMEDY)
        self._problem = problem


def _now() -> float:
    return asyncio.get_running_loop().time()
