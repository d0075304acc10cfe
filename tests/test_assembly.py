"""The composition: what outlives a reload."""

from __future__ import annotations

from dataclasses import replace

from nodenet.assembly import Assembly
from nodenet.core.boot.stages import StageName
from nodenet.core.settings.model import Settings
from nodenet.edge.clock import Idle
from nodenet.loop.reload import StageSet
from nodenet.stages.apply.network_manager import NetworkManagerStarter
from nodenet.stages.nmstate.stage import NmstateStage


def presence_of(plant: StageSet) -> NetworkManagerStarter:
    stage = plant.stages[StageName.NMSTATE]
    assert isinstance(stage, NmstateStage)
    return stage._pipeline._edges.presence


def test_a_reload_gives_no_more_starts_of_network_manager() -> None:
    """They are counted in one place for the whole run: an edit that nobody asked to be read reloads, too."""
    idle = Idle()
    machine = Assembly(lambda _: None, idle)
    before, after = machine.build_stages(Settings()), machine.build_stages(replace(Settings(), apply_timeout=300))
    idle.close()
    assert before.stages[StageName.NMSTATE] is not after.stages[StageName.NMSTATE]
    assert presence_of(before) is presence_of(after)
