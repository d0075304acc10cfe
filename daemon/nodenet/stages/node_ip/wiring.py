"""How is the nodeip stage built?"""

from __future__ import annotations

from pathlib import PurePath

from nodenet.core.node_ip.policy_from_settings import HINT_FILE, read_policy
from nodenet.core.settings.model import Settings
from nodenet.stage_edges import StageEdges
from nodenet.stages.node_ip.stage import NodeipStage


def build(edges: StageEdges, settings: Settings) -> NodeipStage:
    """Return the stage for *settings*; it reads the policy again at each attempt."""
    return NodeipStage(
        edges.kernel,
        edges.files,
        edges.systemd,
        edges.clock,
        edges.presence,
        lambda: read_policy(settings, edges.files.read(PurePath(HINT_FILE))),
        edges.boot_id,
    )
