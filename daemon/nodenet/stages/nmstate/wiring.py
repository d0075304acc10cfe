"""How is the nmstate stage built?"""

from __future__ import annotations

from pathlib import PurePath

from nodenet.core.settings.model import Settings
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.apply.probes import Probes
from nodenet.stages.apply.recorder import Recorder
from nodenet.stages.nmstate.going_back import GoingBack
from nodenet.stages.nmstate.later_tries import LaterTries
from nodenet.stages.nmstate.missing_links import MissingLinks
from nodenet.stages.nmstate.other_names import OtherNames
from nodenet.stages.nmstate.quarantine import Quarantine
from nodenet.stages.nmstate.settling import Settling
from nodenet.stages.nmstate.stage import NmstateStage


def build(edges: StageEdges, settings: Settings) -> NmstateStage:
    """Return the stage for *settings*."""
    pipeline = Pipeline(edges, settings)
    settling = Settling(edges.manager, edges.profiles, edges.kernel, edges.clock)
    probes = Probes.of(edges, settings)
    quarantine = Quarantine(edges.files, edges.store, edges.boot_id, settings.quarantine_after)
    missing = MissingLinks(edges.kernel, edges.files, edges.systemd, edges.clock)
    later_tries = LaterTries(edges.systemd)
    directory = PurePath(settings.node_file_dir)
    going_back = GoingBack(edges, pipeline)
    recorder = Recorder.of(edges, settings)
    other_names = OtherNames(edges.kernel, edges.profiles, edges.files, edges.clock)
    parts = (pipeline, settling, probes, quarantine, missing, going_back, recorder, other_names, later_tries)
    return NmstateStage(edges, *parts, directory, prunes=settings.prune)
