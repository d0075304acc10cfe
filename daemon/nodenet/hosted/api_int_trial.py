"""Does the external load balancer that ``api-int`` names answer? If not, the API VIP may get the name."""

from __future__ import annotations

import asyncio

import structlog

from nodenet.core.errors import PublishFailed
from nodenet.core.hosted_services import fallback
from nodenet.core.hosted_services.api_int import load_balancer
from nodenet.core.hosted_services.fallback import Trial, Way
from nodenet.core.hosted_services.health import Answer, readyz
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.vips import ApiIntFile, Checks

log = structlog.get_logger()

UNTRIED_SECONDS, SETTLED_SECONDS = 3.0, 10.0
"""Between two looks."""
ANSWER_SECONDS = 5.0
REMEDY = "See to the load balancer, or remove apiintIpAddress"


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
        self._state.dead = fallback.dead(self._file.read())

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            await self.look()
            untried = self._trial.addresses and self._trial.way is Way.UNTRIED
            await asyncio.sleep(UNTRIED_SECONDS if untried or self._migrates() else SETTLED_SECONDS)

    def _migrates(self) -> bool:
        """Return whether a migration has given the name to the load balancer, and may still take it back."""
        migration = self._state.known.inputs.spec.migration
        return migration is not None and migration.switched

    async def look(self) -> None:
        """Ask the load balancer, unless it is believed; and the API at its VIP if it is dead."""
        if not self._state.here.places:
            return  # nothing was gathered yet, and what an earlier companion found stays
        addresses, migrates = load_balancer(self._state.known.inputs), self._migrates()
        if self._trial.addresses and not addresses:  # one that gets the name again later is tried again
            self._trial = Trial()
            self._write()
        elif self._trial.addresses != frozenset(addresses):
            self._trial = fallback.parse(self._file.read(), addresses)
        if addresses and (migrates or self._trial.way is not Way.EXTERNAL):
            external = await self._answers(addresses)
            vip = not external and await self._answers(self._state.options.api_vips)
            before, now = self._trial, asyncio.get_running_loop().time()
            self._trial = fallback.after(before, now, external=external, vip=vip, migrates=migrates)
            if self._trial.way is not before.way:
                self._keep(before.way)
        self._take(self._trial.addresses if self._trial.way is Way.VIP else frozenset())

    async def _answers(self, addresses: tuple[IPAddress, ...]) -> bool:
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
            cause = f"The external load balancer {shown} does not answer: api-int is the API VIP"
            log.error(cause, message=Message.HOSTED_PROBLEM, cause=cause, remedy=REMEDY)
        elif before is Way.VIP:
            log.info(
                f"The external load balancer {shown} answers: it has api-int again", message=Message.HOSTED_CHANGED
            )
        self._write()

    def _write(self) -> None:
        try:
            self._file.write(fallback.render(self._trial))
            self._state.report_failure("api-int", None)
        except PublishFailed as error:
            self._state.report_failure("api-int", str(error))
