"""Which failures did a reload neither cause nor could repair? The reload succeeds although they exist."""

from __future__ import annotations

from nodenet.core.boot.stage_state import StageState, Status
from nodenet.core.boot.stages import Boot
from nodenet.core.stage_name import StageName


def standing(boot: Boot, before: Boot, *, same_input: bool) -> frozenset[StageName]:
    """Return the stages that failed in *before*, the boot before the reload, and in *boot* for the same cause.

    The cause of nmstate is its node file, so that failure is such a one only if settings and file are the *same_input*.
    """
    return frozenset(stage.name for stage in boot.stages if _stands(stage, before[stage.name], same_input=same_input))


def _stands(stage: StageState, before: StageState, *, same_input: bool) -> bool:
    if not (stage.status is before.status is Status.FAILED and stage.problem and before.problem):
        return False
    return same_input or (stage.name is not StageName.NMSTATE and stage.problem.message is before.problem.message)
