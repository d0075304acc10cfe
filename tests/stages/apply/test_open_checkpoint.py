"""The checkpoint of an apply that is not committed: found, kept open, rolled back."""

from __future__ import annotations

import pytest

from fakes import BOOT_ID, FakeClock, FakeFiles, FakeManager, stage_edges
from nodenet.core.apply import intent
from nodenet.core.apply.intent import ROLLBACK_SECONDS, Intent, Phase
from nodenet.core.errors import Unavailable
from nodenet.core.network_manager.checkpoint import Checkpoint
from nodenet.core.settings.model import Settings
from nodenet.stages.apply.open_checkpoint import OpenCheckpoint
from nodenet.stages.apply.pipeline import Pipeline, PipelineEdges
from nodenet.stages.apply.records import INTENT

OURS = Checkpoint("/cp/1", 95.0, ROLLBACK_SECONDS)
ANOTHER = Checkpoint("/cp/2", 96.0, 7)
RECORD = Intent("d" * 64, Phase.APPLYING, BOOT_ID, 90.0)


class Rig:
    """An apply of which the record does not name the checkpoint yet."""

    def __init__(self, *pending: Checkpoint) -> None:
        self.manager = FakeManager(pending=list(pending))
        self.files = FakeFiles({str(INTENT): intent.render(RECORD)})
        edges = stage_edges(manager=self.manager, files=self.files, clock=FakeClock())
        self.checkpoint = OpenCheckpoint(self.manager, Pipeline(PipelineEdges.of(edges, Settings()), BOOT_ID, 240.0))


async def test_it_is_kept_open_for_as_long_as_it_is_asked_for() -> None:
    """The record names it then: another time-out no longer tells whose it is."""
    rig = Rig(ANOTHER, OURS)
    assert await rig.checkpoint.is_open()
    await rig.checkpoint.extend(70)
    assert rig.manager.extended == [("/cp/1", 70)]
    record = intent.parse(rig.files.content[str(INTENT)])
    assert (record.checkpoint, record.created) == ("/cp/1", 95.0)


async def test_one_that_is_gone_is_not_open() -> None:
    """Nor is a later one with its path: NetworkManager counts them from 1 after a restart."""
    rig = Rig(OURS)
    await rig.checkpoint.extend(70)
    rig.manager.pending = [ANOTHER, Checkpoint("/cp/1", 99.0, ROLLBACK_SECONDS)]
    assert not await rig.checkpoint.is_open()
    with pytest.raises(Unavailable, match="has no checkpoint of this apply any more"):
        await rig.checkpoint.extend(70)


async def test_what_was_interrupted_is_rolled_back_and_nothing_else() -> None:
    rig = Rig(ANOTHER, OURS)
    assert await rig.checkpoint.roll_back_interrupted()
    assert rig.manager.rolled_back == ["/cp/1"]
    assert not await rig.checkpoint.roll_back_interrupted()
