"""A node file is in force: is that on the disk, and what if the disk does not take it?"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace

from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import NEVER, Again
from nodenet.core.errors import PublishFailed
from nodenet.stages.apply.pipeline import Pipeline
from nodenet.stages.apply.probes import Probes
from nodenet.stages.nmstate.in_force import InForce
from nodenet.stages.nmstate.job import Job
from nodenet.stages.nmstate.tries import Tries

OWED_SECONDS = 15.0
"""Between two tries to write the record of what is committed."""


class Owed:
    """The record of what is committed, until the disk has taken it: what is in force is not undone meanwhile."""

    def __init__(self, pipeline: Pipeline, probes: Probes, tries: Tries, in_force: InForce) -> None:
        """Write the record of *pipeline*."""
        self._pipeline = pipeline
        self._probes = probes
        self._tries = tries
        self._in_force = in_force
        self._job: Job | None = None
        """What is in force, where the disk has not taken the record of that."""

    def committed(self, job: Job) -> None:
        """Note that the file of *job* is in force: all that follows is about its record."""
        self._job = job
        self._pipeline.note(self._record(job))

    def write(self, job: Job) -> None:
        """Write that the file of *job* is in force. Raises PublishFailed."""
        self._job = job
        self._pipeline.save(self._record(job))
        self._tries.clear()
        self._probes.forget()
        self._in_force.mark(job.file)
        self._job = None

    def pay(self) -> None:
        """Write the record that is owed, unless a trial has made another network since. Raises PublishFailed."""
        job = self._job
        if job is None:
            self._pay_for_an_earlier_process()
            return
        record = self._pipeline.record
        if record is None or record.digest == job.file.digest:
            self._pipeline.sync()  # that may be what has failed
            self.write(job)
        else:
            self._job = None

    def _pay_for_an_earlier_process(self) -> None:
        owed = self._pipeline.owed
        if owed and owed.phase is Phase.GOOD:
            self._pipeline.sync()
            self._pipeline.save(owed)
        elif owed:
            with suppress(PublishFailed):  # its cause is what the status has to name
                self._pipeline.save(owed)

    def facts(self, facts: Facts) -> Facts:
        """Return *facts* with what is in force, for a pass that has failed: the stages behind publish it."""
        return replace(self._job, facts=facts).applied if self._job else self._in_force.before(facts)

    @property
    def is_due(self) -> bool:
        """Whether a file is in force whose record the disk has not taken from this process."""
        return self._job is not None

    @property
    def again(self) -> Again:
        """When the stage is looked at again after a pass that has failed."""
        owed = None if self._job else self._pipeline.owed
        return Again(seconds=OWED_SECONDS) if self._job or (owed and owed.phase is Phase.GOOD) else NEVER

    def _record(self, job: Job) -> Intent:
        digest, bridge = job.file.digest, job.wish.brings_bridge
        return self._pipeline.intent(digest, Phase.GOOD, in_force=digest, brings_bridge=bridge)
