"""When a node writes its report: after changes, once a minute at most, and again where the API has lost it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import pairwise

import pytest

from nodenet.core.errors import Forbidden, Postponed, Unavailable
from nodenet.core.hosted_cluster.node_report import NodeReport, Stack, parse, render
from nodenet.core.hosted_services.migration import Phase
from nodenet.core.hosted_services.migration_progress import Progress
from nodenet.core.hosted_services.model import Mode
from nodenet.core.hosted_services.report import HostedHealth
from nodenet.hosted.reporter import LOOK_SECONDS, MIGRATION_BURST, MIGRATION_SECONDS, WRITE_SECONDS, Reporter

REPORT = NodeReport(Mode.SELF_HOSTED, HostedHealth.OK, Stack.NODENET)


class FakeNode:
    """A Node object, and when it was written."""

    def __init__(self, text: str | None = None) -> None:
        self.text = text
        self.error: Unavailable | None = None
        self.refused: Unavailable | None = None
        """Why it is read and not written."""
        self.writes: list[float] = []
        self.reads = 0

    async def annotation(self, key: str) -> str | None:
        assert key == "clusterhostednetservices.operator.io/report"
        self.reads += 1
        if self.error:
            raise self.error
        return self.text

    async def annotate(self, key: str, text: str) -> None:
        assert key == "clusterhostednetservices.operator.io/report"
        if error := self.error or self.refused:
            raise error
        self.text = text
        self.writes.append(asyncio.get_running_loop().time())


class Desk:
    """A reporter that runs, and the report that it would make now."""

    def __init__(self, node: FakeNode) -> None:
        self.report: NodeReport | None = REPORT
        self.reporter = Reporter(node, lambda: self.report)

    def has(self, **changes: object) -> None:
        self.report = replace(REPORT, **changes)  # type: ignore[arg-type]
        self.reporter.changed()


@contextlib.asynccontextmanager
async def running(node: FakeNode) -> AsyncIterator[Desk]:
    desk = Desk(node)
    task = asyncio.ensure_future(desk.reporter.run())
    yield desk
    task.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await task


async def test_a_report_is_written_once_and_a_change_once_more() -> None:
    node = FakeNode()
    async with running(node) as desk:
        for _ in range(30):
            desk.reporter.changed()
            await asyncio.sleep(10)
        assert (node.text, len(node.writes), node.reads) == (render(REPORT), 1, 1)
        desk.has(generation=2)
        await asyncio.sleep(5)
        assert parse(node.text).generation == 2
        assert len(node.writes) == 2


async def test_a_flapping_world_is_reported_once_a_minute_and_its_end_is() -> None:
    node = FakeNode()
    async with running(node) as desk:
        for number in range(600):
            desk.has(generation=number)
            await asyncio.sleep(1)
        assert 9 <= len(node.writes) <= 11
        assert all(later - earlier >= WRITE_SECONDS for earlier, later in pairwise(node.writes))
        await asyncio.sleep(WRITE_SECONDS + 5)
        assert parse(node.text).generation == 599


async def test_a_restart_writes_nothing() -> None:
    node = FakeNode(render(REPORT))
    async with running(node) as desk:
        desk.reporter.changed()
        await asyncio.sleep(10)
    assert (node.writes, node.reads) == ([], 1)


async def test_a_cluster_without_the_object_gets_no_report() -> None:
    node = FakeNode()
    async with running(node) as desk:
        desk.report = None
        desk.reporter.changed()
        await asyncio.sleep(100)
    assert (node.writes, node.reads) == ([], 0)


async def test_a_node_object_that_was_made_again_gets_its_report_again() -> None:
    node = FakeNode()
    async with running(node) as desk:
        desk.reporter.changed()
        await asyncio.sleep(10)
        node.text = None
        for _ in range(int(LOOK_SECONDS) // 10 + 2):
            desk.reporter.changed()
            await asyncio.sleep(10)
        assert node.text == render(REPORT)
        node.text = None
        await asyncio.sleep(2 * LOOK_SECONDS)
        assert node.text == render(REPORT)


@pytest.mark.parametrize("error", [Forbidden("status 404"), Unavailable("connection refused")])
async def test_an_api_that_refuses_or_is_away_is_asked_again_with_growing_pauses(error: Unavailable) -> None:
    node = FakeNode()
    node.error = error
    async with running(node) as desk:
        desk.reporter.changed()
        await asyncio.sleep(600)
        assert 10 <= node.reads <= 30
        node.error = None
        await asyncio.sleep(65)
        assert node.text == render(REPORT)


async def test_the_pause_that_the_api_asks_for_is_kept() -> None:
    node = FakeNode()
    node.error = Postponed("429", seconds=100)
    async with running(node) as desk:
        desk.reporter.changed()
        await asyncio.sleep(100)
        assert node.reads == 1


async def test_what_changes_in_a_migration_is_reported_at_once() -> None:
    node = FakeNode()
    async with running(node) as desk:
        desk.reporter.changed()
        await asyncio.sleep(10)
        desk.has(generation=2)  # this one waits for its minute
        await asyncio.sleep(10)
        assert len(node.writes) == 1
        desk.report = replace(REPORT, migration=Progress(1, Phase.VERIFY))
        desk.reporter.changed_in_migration()
        await asyncio.sleep(0.5)
        assert parse(node.text).migration == Progress(1, Phase.VERIFY)
        desk.has(migration=Progress(1, Phase.VERIFY), generation=4)
        await asyncio.sleep(10)
        assert len(node.writes) == 2, "all else waits as before"


async def test_an_urgent_report_that_failed_is_urgent_still() -> None:
    """The next attempt waited for the minute of other reports, and the migration with it."""
    node = FakeNode()
    async with running(node) as desk:
        desk.reporter.changed()
        await asyncio.sleep(10)
        node.refused = Unavailable("connection reset")
        desk.report = replace(REPORT, migration=Progress(1, Phase.VERIFY))
        desk.reporter.changed_in_migration()
        await asyncio.sleep(1)
        node.refused = None
        await asyncio.sleep(5)
        assert parse(node.text).migration == Progress(1, Phase.VERIFY)


async def test_an_api_that_comes_back_with_an_older_report_gets_the_present_one() -> None:
    """As after its database was restored: the old report stayed for a quarter of an hour."""
    node = FakeNode()
    async with running(node) as desk:
        desk.reporter.changed()
        await asyncio.sleep(WRITE_SECONDS + 10)
        node.text = render(replace(REPORT, generation=7))
        desk.reporter.look_again()
        await asyncio.sleep(5)
        assert node.text == render(REPORT)


async def test_a_migration_that_flaps_is_reported_with_pauses() -> None:
    node = FakeNode()
    async with running(node) as desk:
        for number in range(600):
            desk.report = replace(REPORT, migration=Progress(1, Phase.VERIFY, problem=f"p{number}"))
            desk.reporter.changed_in_migration()
            await asyncio.sleep(0.5)
        assert MIGRATION_BURST < len(node.writes) <= MIGRATION_BURST + 300 / MIGRATION_SECONDS + 1
        desk.report = replace(REPORT, migration=Progress(1, Phase.SWITCH_DNS))
        desk.reporter.changed_in_migration()
        await asyncio.sleep(0.1)
        assert parse(node.text).migration == Progress(1, Phase.SWITCH_DNS), "the next phase waits for no pause"


async def test_migrations_one_after_another_are_reported_without_a_pause() -> None:
    """After twenty reports each phase waited five seconds for the next one."""
    node = FakeNode()
    async with running(node) as desk:
        for attempt in range(1, 9):
            for phase in (Phase.VERIFY, Phase.SWITCH_DNS, Phase.REDIRECT_OFF, Phase.DRAIN_HAPROXY):
                for ready in (False, True):
                    desk.report = replace(REPORT, migration=Progress(attempt, phase, ready=ready))
                    desk.reporter.changed_in_migration()
                    await asyncio.sleep(0.5)
                    assert parse(node.text).migration == desk.report.migration
