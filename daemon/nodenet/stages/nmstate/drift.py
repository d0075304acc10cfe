"""Is the network still as the node file in force asks for?

Looked at twice a minute once the stage is over. libnmstate is asked only after something has changed on the links of
the file, and what differs in two comparisons is said. Nothing is applied: an administrator may have meant it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath, PurePosixPath

import structlog

from nodenet.core.boot.outcome import Again, Done, Facts, Outcome, Problem, Skipped, beside
from nodenet.core.boot.stage_state import EVENT, Request
from nodenet.core.errors import NodeFileInvalid, PublishFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.core.probes.questions import on_host
from nodenet.core.resolver import FILES, servers_in_use
from nodenet.core.since import until_common
from nodenet.core.trial import drift
from nodenet.core.trial.refusals import changes
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.nmstate.in_force import InForce
from nodenet.stages.nmstate.job import Job

log = structlog.get_logger()

BOND, SUFFIX = "bond", ".nmconnection"
UNKNOWN = (Unavailable, NodeFileInvalid, PublishFailed)
"""Errors of the host after which it is not known at present what differs."""
LOOK_SECONDS, SOON_SECONDS = 30.0, 10.0
"""Between two looks, and after a change: it may be a step of a greater one."""
REMEDY = "`nodenetctl diff` compares; `nodenetctl reload` applies the file again, or write into it what is to stay"


class Drift:
    """The last pass that brought the node file into force, and what has changed since."""

    def __init__(self, edges: StageEdges, pipeline: Pipeline, in_force: InForce, *, degrades: bool = False) -> None:
        """Compare through *edges*, unless *pipeline* has an open change; *degrades*: a difference is a problem."""
        self._degrades = degrades
        self._edges = edges
        self._pipeline = pipeline
        self._in_force = in_force
        self._job: Job | None = None
        self._done: tuple[Done | Skipped, int] | None = None
        """The outcome of the pass, and its run."""
        self._compared: object = None
        """What was on the links of the file at the last comparison."""
        self._found: tuple[str, ...] = ()
        """What differed then."""
        self._profiles: drift.Profiles | None = None
        """NetworkManager's profiles when the file came into force, or when br-ex was made or removed since.

        None: they could not be read then; those of the next look count."""
        self._bridge: str | None = None

    def began(self) -> None:
        """Forget the last pass."""
        self._job = self._done = self._compared = self._bridge = None
        self._found = ()

    def in_force(self, job: Job, outcome: Outcome) -> Outcome:
        """Return *outcome* of *job*, and take note if its file is in force."""
        if isinstance(outcome, Done | Skipped) and outcome.facts.applied_digest == job.file.digest:
            self._job = job
        return outcome

    def ended(self, outcome: Outcome, request: Request) -> Outcome:
        """Return *outcome* of a pass, with the time of the next look where the file is in force."""
        if self._job and isinstance(outcome, Done | Skipped) and not (outcome.again or self._pipeline.changes.open):
            self._done, self._profiles = (outcome, request.run), None
            with suppress(*UNKNOWN):
                self._profiles = self._profiles_now()
            return self._again(outcome)
        return outcome

    async def look(self, facts: Facts, request: Request) -> Outcome | None:
        """Return the outcome of a later look at the same run; None where a whole pass is due."""
        if self._job is None or self._done is None or (request.who, request.run) != (EVENT, self._done[1]):
            return None
        found = None
        with suppress(*UNKNOWN, NmstateFailure):
            found = await self._differences(self._job, facts)
        if found is None:  # it cannot be compared at present
            facts = replace(facts, compared=None)
            return self._again(replace(self._done[0], facts=facts), self._problem(self._job, facts))
        again, self._found = found == self._found, found
        since = facts.compared or self._pipeline.now()
        facts = replace(facts, compared=since if again else None)  # what was found once is not sure
        if again and found != facts.changed:
            _say(self._job.file.name, found)
            facts = replace(facts, changed=found)
        return self._again(replace(self._done[0], facts=facts), self._problem(self._job, facts), soon=not again)

    def _problem(self, job: Job, facts: Facts) -> Problem | None:
        """Return what differs as a problem, where the settings ask for one."""
        if not (self._degrades and facts.changed):
            return None
        return Problem(Message.NETWORK_CHANGED, drift.sentence(job.file.name, facts.changed), REMEDY)

    def _again(self, outcome: Done | Skipped, problem: Problem | None = None, *, soon: bool = False) -> Outcome:
        pause = SOON_SECONDS if soon else until_common(asyncio.get_running_loop().time(), LOOK_SECONDS)
        return beside(replace(outcome, again=Again(seconds=pause)), problem)

    async def _differences(self, job: Job, facts: Facts) -> tuple[str, ...] | None:
        """Return what differs now, None if that is not known. Raises NmstateFailure and the errors UNKNOWN."""
        edges = self._edges
        if facts.selection is None:
            return None
        snapshot = edges.kernel.snapshot()
        wish = on_host(job.wish, snapshot.links)
        links = wish.links.existing | wish.links.made | {facts.selection.link or ""}
        own = {each.address for each in snapshot.addresses}
        servers = servers_in_use({path: self._read(path) for path in FILES}, own)
        here = [each for each in snapshot.links if each.name in links]
        options, profiles = [self._bond_options(each.name) for each in here if each.kind == BOND], self._profiles_now()
        if self._bridge != facts.bridge or self._profiles is None:
            self._bridge, self._profiles = facts.bridge, profiles
        now = drift.of_links(snapshot, links), servers, options, profiles
        if now == self._compared and self._found == facts.changed:
            return self._found  # no other process is woken for a network that stays as it is
        if await edges.manager.state() is not ManagerState.READY:
            return None
        if (facts.bridge or job.wish.uses_ovs) and not edges.ovsdb.answers():
            return None  # what has moved to br-ex is not known
        async with edges.nmstate.transaction() as transaction:
            left = await self._in_force.difference(job.named, job.wish, transaction)
            state = await transaction.show() if left else {}
        self._compared = now
        edited = drift.of_profiles(self._profiles, profiles, wish.links.existing | wish.links.made)
        found = [
            *drift.values(changes(left, state), snapshot.links, drift.wanted_up(wish.document) & links),
            drift.other_servers(job.wish, servers, own),
            *edited,
        ]
        return tuple(job.wish.secrets.hidden_in(each) for each in found if each)

    def _profiles_now(self) -> drift.Profiles:
        """Return NetworkManager's profiles on the disk. Raises the errors UNKNOWN.

        Backups, such as `eth0.nmconnection~` and `.rpmsave`, are none: NetworkManager does not read them.
        """
        names = (name for name in self._edges.files.listing(KEYFILES) if name.endswith(SUFFIX) and name[0] != ".")
        read = (self._edges.files.read(KEYFILES / name) for name in names)
        found = (drift.profile(content) for content in read if content)
        return {uuid: each for each in found if (uuid := each.get("connection.uuid"))}

    def _bond_options(self, link: str) -> tuple[bytes | None, ...]:
        """Return the options of a bond: a program that writes them there causes no event."""
        directory = PurePosixPath("/sys/class/net", link, "bonding")
        return tuple(self._read(directory / name) for name in sorted(self._edges.files.listing(directory)))

    def _read(self, path: PurePath) -> bytes | None:
        try:
            return self._edges.files.read(path)
        except PublishFailed:
            return None


def _say(name: str, found: tuple[str, ...]) -> None:
    if found:
        log.warning(drift.sentence(name, found), message=Message.NETWORK_CHANGED, stage="nmstate", remedy=REMEDY)
    else:
        log.info(f"The network is as {name} asks again", message=Message.NETWORK_UNCHANGED, stage="nmstate")
