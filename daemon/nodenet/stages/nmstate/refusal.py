"""A node file is refused: what does its record remember?"""

from __future__ import annotations

from dataclasses import replace

from nodenet.core.apply.intent import ROLLBACK_SECONDS, TOUCHED, Phase
from nodenet.core.boot.outcome import Failed, Outcome, Waiting
from nodenet.core.errors import NodenetError, RollbackFailed
from nodenet.core.nmstate.failure import FailureKind
from nodenet.stages.apply.pipeline import MANAGER, Pipeline
from nodenet.stages.apply.probes import Probes
from nodenet.stages.nmstate.in_force import InForce
from nodenet.stages.nmstate.job import Job
from nodenet.stages.nmstate.outcomes import failed

LATE_SECONDS = ROLLBACK_SECONDS + 23.0
"""For so long a checkpoint is waited for that cannot be rolled back: NetworkManager's own time-out may end it."""
LOOK_SECONDS = 5.0


class Refusal:
    """Refuses files: not again in this boot."""

    def __init__(self, pipeline: Pipeline, probes: Probes, in_force: InForce) -> None:
        """Write the record of *pipeline*."""
        self._pipeline = pipeline
        self._probes = probes
        self._in_force = in_force
        self._stuck: tuple[str, float] | None = None
        """Why a checkpoint of another apply is there, and since when (CLOCK_BOOTTIME)."""

    def of(self, job: Job, failure: NodenetError) -> Failed:
        """Return the outcome of a file that *failure* was the end of; its record keeps it from another try."""
        self._probes.forget()
        cause = f"{job.file.name}: {failure.cause}"
        record = self._pipeline.record
        if record and record.phase in TOUCHED and record.digest == job.file.digest:
            # A file that was rolled back for another reason than its probes says nothing about the way out.
            by_probes = record.phase is Phase.APPLYING or getattr(failure, "kind", None) is FailureKind.PROBE
            ended = replace(record, phase=Phase.REFUSED, cause=cause, remedy=failure.remedy)
            ended = replace(ended, way_out=record.way_out and by_probes, interrupted=job.interrupted)
            self._pipeline.save(ended)
        return failed(self._in_force.before(job.facts), failure, cause)

    def of_another(self, job: Job, error: RollbackFailed) -> Outcome | None:
        """Return what to do where it is the apply of br-ex, or of another file, that cannot be rolled back; else None.

        That says nothing about the file of *job*, which may be in force. Raises PublishFailed.
        """
        record = self._pipeline.record
        if record and record.digest == job.file.digest and record.phase in TOUCHED:
            return None
        facts, now = self._in_force.before(job.facts), self._pipeline.now()
        if self._stuck is None or self._stuck[0] != error.cause:
            self._stuck = error.cause, now
        if now - self._stuck[1] < LATE_SECONDS:
            return Waiting(error.cause, MANAGER, LOOK_SECONDS, facts)
        return failed(facts, error, error.cause)
