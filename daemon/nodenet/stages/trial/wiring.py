"""How are the parts of a trial built?"""

from __future__ import annotations

from pathlib import PurePath

from nodenet.core.settings.model import Settings
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.node_file import NodeFiles
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.trial.run import TrialRun


def trial_of(edges: StageEdges, settings: Settings) -> TrialRun:
    """Return what tries node files, for *settings*."""
    node_files = NodeFiles(edges.files, edges.nmstate, PurePath(settings.node_file_dir))
    return TrialRun(edges, settings, Pipeline(edges, settings), node_files)
