"""Does the API answer where ``api-int`` should lead? If not, another address may get the name."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import structlog

from nodenet.core.errors import PublishFailed
from nodenet.core.hosted_services import api_int
from nodenet.core.hosted_services.api_int import (
    PATIENCE_SECONDS,
    TRIAL_SECONDS,
    VIP_TRIAL_SECONDS,
    Addresses,
    Look,
    Trial,
    Way,
    ways,
)
from nodenet.core.hosted_services.health import Answer, readyz
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.vips import ApiIntFile, Checks

log = structlog.get_logger()

UNTRIED_SECONDS, SETTLED_SECONDS = 3.0, 10.0
"""Between two looks."""
ANSWER_SECONDS = 5.0
REMEDY = "See `nodenetctl hosted` and `nodenetctl explain vip`"


class ApiIntTrial:
    """Keeps ``State.dead``."""

    def __init__(self, state: State, checks: Checks, file: ApiIntFile) -> None:
        """*file* keeps for this boot what was found, also for nodenetd."""
        self._state = state
        self._checks = checks
        self._file = file
        self._trial = Trial()

    def prepare(self) -> None:
        """Take up what an earlier companion of this boot found."""
        self._state.dead = api_int.dead(self._file.read())

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            untried = self._trial.addresses and self._trial.way is Way.UNTRIED
            await asyncio.sleep(UNTRIED_SECONDS if untried or self._migrates() else SETTLED_SECONDS)

    def _migrates(self) -> bool:
        """Return whether the API moves: until it has moved, more than one load balancer serves."""
        migration = self._state.known.inputs.spec.migration
        return migration is not None and not migration.at_rest

    async def look(self) -> None:
        """Ask the addresses that should have the name, unless they are believed; where they are dead, the others."""
        if not self._state.here.places:
            return  # nothing was gathered yet, and what an earlier companion found stays
        named, *others = ways(self._state.known.inputs)
        # What gets the name again later is tried again, also where an earlier companion found it dead.
        if not others and (self._trial.addresses or self._state.dead):
            self._trial = Trial()
            self._write()
        elif others and self._trial.addresses != frozenset(named):
            self._trial = api_int.parse_trial(self._file.read(), named)
        if others and (self._migrates() or self._trial.way is not Way.EXTERNAL):
            before, look = self._trial, await self._found(named, others)
            self._trial = api_int.after_trial(before, asyncio.get_running_loop().time(), look)
            if (self._trial.way, self._trial.dead) != (before.way, before.dead):
                self._keep(before.way)
        self._take(self._trial.dead)

    async def _found(self, named: Addresses, others: Sequence[Addresses]) -> Look:
        """Return what answers."""
        migrates, is_vip = self._migrates(), set(named) == set(self._state.options.api_vips)
        patience = (VIP_TRIAL_SECONDS if is_vip else TRIAL_SECONDS) if migrates else PATIENCE_SECONDS
        if await self._answers(named):
            return Look(answers=True, patience=patience, migrates=migrates)
        gone = [*named]
        for one in others:
            if await self._answers(one):
                return Look(answers=False, dead=frozenset(gone), patience=patience, migrates=migrates)
            gone += one
        return Look(answers=False, patience=patience, migrates=migrates)

    async def _answers(self, addresses: Addresses) -> bool:
        targets = [readyz(self._state.options, str(one)) for one in addresses]
        results = await asyncio.gather(*(self._checks.check(target, ANSWER_SECONDS) for target in targets))
        return any(result.answer is Answer.GOOD for result in results)

    def _take(self, dead: frozenset[IPAddress]) -> None:
        if dead != self._state.dead:
            self._state.dead = dead
            self._state.changed()

    def _keep(self, before: Way) -> None:
        shown = " and ".join(sorted(map(str, self._trial.addresses)))
        if self._trial.way is Way.VIP:
            cause = f"The API does not answer at {shown}: api-int is another address until it does"
            log.error(cause, message=Message.HOSTED_PROBLEM, cause=cause, remedy=REMEDY)
        elif before is Way.VIP:
            log.info(f"The API answers at {shown}, which has api-int again", message=Message.HOSTED_CHANGED)
        self._write()

    def _write(self) -> None:
        try:
            self._file.write(api_int.render_trial(self._trial))
            self._state.report_failure("api-int", None)
        except PublishFailed as error:
            self._state.report_failure("api-int", str(error))
