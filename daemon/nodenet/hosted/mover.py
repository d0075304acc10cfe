"""What does this node do in a migration of the API, and is its part of the phase done?

The services follow the plan. What the phase asks for is checked here, and nodenet-operator reads the result in the
report of the node.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

import structlog

from nodenet.core.errors import PublishFailed
from nodenet.core.hosted_services import api_int, migration_progress
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
from nodenet.core.hosted_services.haproxy import BY_WIRE
from nodenet.core.hosted_services.health import Answer, readyz
from nodenet.core.hosted_services.migration import Migration, Phase, is_own
from nodenet.core.hosted_services.migration_progress import Facts, Tries
from nodenet.core.hosted_services.model import Role, Service
from nodenet.core.ip import IPAddress, family_of
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.hosted_services import ApiIntFile, Checks, NameLookup

log = structlog.get_logger()

LOOK_SECONDS, IDLE_SECONDS = 0.5, 300.0
"""Between two looks in a migration, and otherwise."""
ANSWER_SECONDS = 3.0
CHECKED = (Phase.VERIFY, Phase.VERIFY_VIP, Phase.DRAIN_HAPROXY, Phase.DRAIN_EXTERNAL)


class Mover:
    """Keeps ``State.progress``."""

    def __init__(
        self, state: State, checks: Checks, lookup: NameLookup, reported: Callable[[], None], *, renders: bool = False
    ) -> None:
        """*reported* is called after each change of the progress. *renders*: another program runs haproxy."""
        self._state = state
        self._renders = renders
        self._checks = checks
        self._lookup = lookup
        self._reported = reported
        self._tries: dict[IPAddress, Tries] = {}
        self._step: tuple[int, Phase] | None = None
        self.look_now = asyncio.Event()
        """Set when the plan has changed."""

    async def run(self) -> None:
        """Look until cancelled."""
        while True:
            self.look_now.clear()
            migration = self._state.known.inputs.spec.migration
            moves = migration is not None and not migration.at_rest
            await self._look(migration if moves else None)
            try:
                async with asyncio.timeout(LOOK_SECONDS if moves else IDLE_SECONDS):
                    await self.look_now.wait()
            except TimeoutError:
                continue

    def services_changed(self) -> None:
        """Look now where this node's part follows from its services: only the checks of an address need their pace."""
        if self._step and self._step[1] not in CHECKED:
            self.look_now.set()

    async def _look(self, migration: Migration | None) -> None:
        step = (migration.attempt, migration.phase) if migration else None
        if step != self._step:
            self._step, self._tries = step, {}
            if migration:
                shown = " and ".join(map(str, migration.target))
                log.info(f"The API moves to {shown}: {migration.phase}", message=Message.MIGRATION)
        progress = None
        if migration:
            progress = migration_progress.progress(migration, await self._facts(migration))
        if progress != self._state.progress:
            if progress and progress.problem and progress.lost:
                log.warning(progress.problem, message=Message.MIGRATION, cause=progress.problem)
            self._state.progress = progress
            self._state.changed()
            self._reported()

    async def _facts(self, migration: Migration) -> Facts:
        state = self._state
        leads = state.plan.role is Role.CONTROL_PLANE
        if leads and migration.phase in CHECKED:
            await self._try(migration.target)
        named = await self._named(migration) if migration.phase is Phase.SWITCH_DNS else None
        vips = {duty.address for duty in state.plan.vips if duty.address in state.options.api_vips and duty.wanted}
        verdict = state.verdicts.get(Service.HAPROXY)
        return Facts(
            leads,
            dict(self._tries),
            named,
            redirects=state.running.get(Service.REDIRECT, False),
            balances=self._renders or bool(state.running.get(Service.HAPROXY) and verdict and verdict.healthy),
            holders={vip: seen.count if (seen := state.sightings.get(vip)) else 0 for vip in vips},
            lost=self._is_lost(migration),
        )

    def _is_lost(self, migration: Migration) -> bool:
        """Return whether the new address does not answer this node any more."""
        state, vips = self._state, self._state.options.api_vips
        if state.dead.issuperset(migration.target or vips):
            return True
        return is_own(migration.target, vips) and state.reachable is False and state.asked in vips

    async def _try(self, addresses: tuple[IPAddress, ...]) -> None:
        options = self._state.options
        # By its own redirect, this node would ask its own haproxy, and say nothing about the holder of the VIP.
        mark = BY_WIRE if is_own(addresses, options.api_vips) else 0
        targets = [readyz(options, str(one), mark=mark) for one in addresses]
        results = await asyncio.gather(*(self._checks.check(target, ANSWER_SECONDS) for target in targets))
        for address, result in zip(addresses, results, strict=True):
            self._tries[address] = migration_progress.after(self._tries.get(address, Tries()), result)

    async def _named(self, migration: Migration) -> frozenset[IPAddress] | None:
        """Return what this node's DNS answers for ``api-int``; None where it does not have to."""
        if not self._state.known.inputs.spec.api_int:
            return None
        server = next(iter(self._state.here.addresses), None)
        if server is None:
            return frozenset()
        name = self._state.options.api_int_name
        families = {family_of(address) for address in migration.target}
        found = await asyncio.gather(*(self._lookup.addresses(server, name, one) for one in families))
        return frozenset().union(*found)


# Does the API answer where ``api-int`` should lead? If not, another address may get the name.

UNTRIED_SECONDS, SETTLED_SECONDS = 3.0, 10.0
"""Between two looks."""
BALANCER_SECONDS = 5.0
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
        results = await asyncio.gather(*(self._checks.check(target, BALANCER_SECONDS) for target in targets))
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
