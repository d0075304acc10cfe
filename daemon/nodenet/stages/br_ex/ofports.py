"""After which pass of a stage do the links below the bridges ask for their OpenFlow port numbers?"""

from __future__ import annotations

import structlog

from nodenet.core.boot.outcome import Done, Facts, Outcome, Skipped
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.value import frozen
from nodenet.ports import Files, Ovsdb, Profiles, Stage, Store
from nodenet.stages.apply.hand_over import Ofports

log = structlog.get_logger()


@frozen
class KeepOfports:
    """Runs a stage that may make bridges; the links below them keep their numbers."""

    stage: Stage
    ovsdb: Ovsdb
    profiles: Profiles
    files: Files
    store: Store

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return the stage's own outcome."""
        outcome = await self.stage.attempt(facts, request)
        known = outcome.facts if isinstance(outcome, Done | Skipped) else None
        if known and (known.brings_bridge or known.bridge):
            try:
                await Ofports(self.ovsdb, self.profiles, self.files, self.store).keep()
            except (Unavailable, PublishFailed) as error:  # asked again at the next pass
                log.info(f"The port numbers of Open vSwitch are not kept yet: {error.cause}", stage="configure-ovs")
        return outcome
