"""A node file is refused: what does its record remember?"""

from __future__ import annotations

from dataclasses import replace

from nodenet.core.apply.intent import TOUCHED, Phase
from nodenet.core.boot.outcome import Failed
from nodenet.core.errors import NodenetError
from nodenet.core.nmstate.failure import FailureKind
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.apply.probes import Probes
from nodenet.stages.nmstate.in_force import InForce
from nodenet.stages.nmstate.job import Job
from nodenet.stages.nmstate.outcomes import failed


class Refusal:
    """Refuses files: not again in this boot."""

    def __init__(self, pipeline: Pipeline, probes: Probes, in_force: InForce) -> None:
        """Write the record of *pipeline*."""
        self._pipeline = pipeline
        self._probes = probes
        self._in_force = in_force

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
