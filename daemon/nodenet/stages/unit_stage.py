"""A stage that a systemd unit does: start the unit unless it ran, wait for its end, check what it published."""

from __future__ import annotations

from pathlib import PurePath, PurePosixPath

from nodenet.core.boot.outcome import Again, Done, Facts, Failed, Outcome, Problem, Skipped, Topic, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.errors import NodeFileInvalid, NotAFile, Unavailable, UnitFailed
from nodenet.core.messages import Message
from nodenet.core.node_file import find
from nodenet.core.settings.model import Settings
from nodenet.core.since import NEVER
from nodenet.core.stage_name import StageName
from nodenet.core.unit_stage import LOOK_SECONDS, WATCHED, Applied, Evidence, Move, Unit, plan, proof_of
from nodenet.core.value import frozen
from nodenet.ports import Clock, Files, Host, Kernel, Units
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.node_file import judged

PUBLICATION_SECONDS = 60.0
"""How long after a unit's end its publication may come: other programs write some files, on NetworkManager's signal."""
PUBLICATION_TOPICS = frozenset({Topic.UNIT, Topic.KERNEL, Topic.HOSTNAME})


@frozen
class UnitStageEdges:
    """What is looked at to believe a unit."""

    host: Host
    files: Files
    kernel: Kernel
    clock: Clock
    directory: PurePath
    """The directory of the node files."""


class UnitStage:
    """One stage, done by one unit."""

    def __init__(self, stage: StageName, unit: str, units: Units, world: UnitStageEdges) -> None:
        """*unit* is the name of a service."""
        self._stage = stage
        self._unit = unit
        self._units = units
        self._world = world
        self._started_for: int | None = None
        """The run that it was started for: it is started once for each."""
        self._over = NEVER

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        """Return Done when the unit ended and published, Waiting until then, Failed when it cannot any more."""
        try:
            unit = await self._units.unit(self._unit)
            move = plan(unit, self._units.ended(unit), tried=self._started_for == request.run)
            match move:
                case Move.START:
                    self._over = NEVER
                    await self._units.start(unit)  # one that did not get there is not the start of this run
                    self._started_for = request.run
                    return Waiting(f"{self._unit}, which was started", frozenset({Topic.UNIT}), LOOK_SECONDS)
                case Waiting():
                    return move
                case Problem():
                    return self._failed(move, facts)
                case Move.OVER | Move.UNMET:
                    return self._believed(unit, move, facts, await self._evidence())
        except Unavailable as error:
            return Waiting(f"systemd, to ask for {self._unit}: {error.cause}", frozenset({Topic.BUS}))
        except (UnitFailed, NodeFileInvalid) as error:
            return self._failed(Problem.of(error), facts)

    def _failed(self, problem: Problem, facts: Facts) -> Outcome:
        named = Evidence(self._world.host.name())
        if self._stage is StageName.HOSTNAME and (missing := proof_of(self._stage).missing(named)):
            # Whatever a failure means for the boot: kubelet would register the node as ``localhost``.
            return Waiting(f"{problem.cause}, and {missing}", frozenset({Topic.UNIT, Topic.HOSTNAME}), 60.0)
        # An administrator who starts the unit ends the failure: its next end is an event.
        return Failed(problem, facts, again=Again(frozenset({Topic.UNIT}), 60.0))

    def _believed(self, unit: Unit, move: Move, facts: Facts, found: Evidence) -> Outcome:
        proof = proof_of(self._stage)
        missing = proof.missing(found)
        if missing is None:
            self._over = NEVER
            return Done(f"{unit.name} did it", proof.learnt(found, facts), Message.STAGE_SKIPPED)
        if move is Move.UNMET:
            reason = f"a condition of {unit.name} does not hold"
            if self._stage is not StageName.NODEIP:
                return Skipped(reason, facts)
            return self._failed(Problem(Message.UNIT_FAILED, f"{reason}, and {missing}", _look_at(unit)), facts)
        now = self._world.clock.boottime()
        self._over = self._over.holds(now)
        if self._over.left(now, PUBLICATION_SECONDS) > 0:
            return Waiting(f"what {unit.name} is to leave behind: {missing}", PUBLICATION_TOPICS, 1.0)
        return self._failed(
            Problem(Message.UNIT_FAILED, f"{unit.name} ended well, but {missing}", _look_at(unit)), facts
        )

    async def _evidence(self) -> Evidence:
        world = self._world
        contents = {path: self._content(path) for path in WATCHED}
        return Evidence(
            world.host.name(),
            world.files.listing(world.directory) if self._stage is StageName.NMSTATE else (),
            await self._applied(),
            {path: content for path, content in contents.items() if content is not None},
            world.kernel.snapshot(),
        )

    def _content(self, path: PurePosixPath) -> bytes | None:
        """Return what *path* says; a directory in its place is not what the unit publishes. Raises PublishFailed."""
        try:
            return self._world.files.read(path)
        except NotAFile:
            return None

    async def _applied(self) -> Applied | None:
        world = self._world
        if self._stage is not StageName.NMSTATE:
            return None
        marker = world.files.read(world.directory / find.APPLIED)
        if marker is None:
            return None
        try:
            file = find.read(find.APPLIED, marker)
            found = await judged(file)
        except NodeFileInvalid:
            return Applied()
        return Applied(file.digest, found.desired.brings_bridge)


def _look_at(unit: Unit) -> str:
    return f"See `journalctl -u {unit.name}`"


def build(stage: StageName, unit: str, edges: StageEdges, settings: Settings) -> UnitStage:
    """Return *stage* as *unit* does it."""
    own = UnitStageEdges(edges.host, edges.files, edges.kernel, edges.clock, PurePath(settings.node_file_dir))
    return UnitStage(stage, unit, edges.units, own)
