"""How is the nodeip stage built?"""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePath

from nodenet.core.errors import NotAFile, SettingsInvalid
from nodenet.core.node_ip.policy_from_settings import HINT_FILE, PolicyReading, read_policy
from nodenet.core.settings.model import OnFailure, Settings
from nodenet.ports import Files
from nodenet.stage_edges import StageEdges
from nodenet.stages.node_ip.stage import NodeipStage
from nodenet.stages.node_ip.waits import Waits

HINT_PATH = PurePath(HINT_FILE)


def _wishes(settings: Settings, files: Files) -> PolicyReading:
    """Return the policy as it is written now. Raises PublishFailed where the hint file cannot be read.

    A directory in its place holds no hint: it is a problem beside the policy, and the node IP is selected.
    """
    try:
        return read_policy(settings, files.read(HINT_PATH))
    except NotAFile as error:
        reading = read_policy(settings, None)
        return replace(reading, problems=(SettingsInvalid(error.cause, remedy=error.remedy), *reading.problems))


def build(edges: StageEdges, settings: Settings) -> NodeipStage:
    """Return the stage for *settings*; it reads the policy again at each attempt."""
    return NodeipStage(
        edges.kernel,
        edges.files,
        edges.systemd,
        edges.clock,
        edges.presence,
        Waits(edges.clock, edges.profiles, settings.node_ip_wait),
        lambda: _wishes(settings, edges.files),
        edges.boot_id,
        holds=settings.on_failure is OnFailure.AUTO,
    )
