"""How are the parts of a trial built?"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath

from nodenet.core.settings.model import Settings
from nodenet.ports import Stage
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.network_before import NetworkBefore
from nodenet.stages.apply.node_file import NodeFiles
from nodenet.stages.apply.open_checkpoint import OpenCheckpoint
from nodenet.stages.apply.pipeline import Pipeline, PipelineEdges
from nodenet.stages.trial.run import TrialRun
from nodenet.stages.trial.undo_first import Restored, UndoTrialFirst


@dataclass(frozen=True, slots=True)
class TrialParts:
    """What tries node files, and the *stage* nmstate behind the end of a trial that was interrupted."""

    runner: TrialRun
    stage: UndoTrialFirst


def trial_of(edges: StageEdges, settings: Settings, nmstate: Stage, restored: Restored) -> TrialParts:
    """Return the parts for *settings*; *nmstate* is the stage that applies node files."""
    pipeline = Pipeline(PipelineEdges.of(edges, settings), edges.boot_id, float(settings.apply_timeout))
    before = NetworkBefore.of(edges, OpenCheckpoint(edges.manager, pipeline))
    node_files = NodeFiles(edges.files, edges.nmstate, PurePath(settings.node_file_dir))
    stage = UndoTrialFirst(nmstate, before, edges.presence, node_files, restored)
    return TrialParts(TrialRun(edges, settings, pipeline, before, node_files), stage)
