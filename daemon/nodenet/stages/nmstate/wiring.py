"""How is the nmstate stage built?"""

from __future__ import annotations

from pathlib import PurePath

from nodenet.core.settings.model import Settings
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.history import History
from nodenet.stages.apply.pipeline import Pipeline, PipelineEdges
from nodenet.stages.apply.probes import Probes
from nodenet.stages.apply.recorder import Recorder
from nodenet.stages.nmstate.early import EarlyStart
from nodenet.stages.nmstate.going_back import GoingBack
from nodenet.stages.nmstate.missing_links import MissingLinks
from nodenet.stages.nmstate.quarantine import Quarantine
from nodenet.stages.nmstate.stage import NmstateStage
from nodenet.stages.nmstate.taken import Taken
from nodenet.stages.nmstate.way_back import WayBack


def build(edges: StageEdges, settings: Settings) -> NmstateStage:
    """Return the stage for *settings*."""
    pipeline = Pipeline(PipelineEdges.of(edges, settings), edges.boot_id, float(settings.apply_timeout))
    early = EarlyStart(edges.manager, edges.profiles, edges.clock)
    probes = Probes.of(edges, settings)
    quarantine = Quarantine(edges.files, edges.boot_id, settings.quarantine_after)
    way_back = WayBack.of(edges, pipeline)
    missing = MissingLinks(edges.kernel, edges.systemd, edges.clock)
    taken = Taken(edges.systemd)
    directory = PurePath(settings.node_file_dir)
    going_back = GoingBack(History(edges.files), edges.presence, pipeline, way_back)
    recorder = Recorder.of(edges, settings, way_back.before)
    parts = (pipeline, early, probes, quarantine, way_back, missing, going_back, recorder, taken)
    return NmstateStage(edges.files, edges.nmstate, *parts, directory, prunes=settings.prune)
