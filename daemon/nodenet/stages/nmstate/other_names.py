"""By which names are the NICs of a node file known in this boot?

The history knows their permanent MACs from when the file was in force. A file that an administrator has edited since is
another file: it means the names of now.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

from nodenet.core.apply.missing_links import WAIT_SECONDS
from nodenet.core.apply.renamed import Renamed, cause, in_words, remedy, renamed
from nodenet.core.boot.outcome import Problem, Topic, Waiting
from nodenet.core.errors import NodeFileInvalid, PublishFailed
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import UNMANAGED
from nodenet.core.node_file import content
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.other_names import is_so_named, lines_of_entries, with_names
from nodenet.core.since import NEVER
from nodenet.ports import Clock, Files, Kernel, Profiles
from nodenet.stages.apply.history import History
from nodenet.stages.nmstate.job import Job

EVENTS = frozenset({Topic.NETWORK_MANAGER, Topic.KERNEL})


class OtherNames:
    """The NICs that have another name than in the file."""

    def __init__(self, kernel: Kernel, profiles: Profiles, files: Files, clock: Clock) -> None:
        """Look for links in *kernel*; *profiles* knows whether NetworkManager has them, *files* keep the history."""
        self._kernel = kernel
        self._profiles = profiles
        self._history = History(files)
        self._clock = clock
        self._unknown = NEVER
        """Since when NetworkManager does not have a NIC with a new name."""
        self._read: tuple[str, Desired] | None = None
        """The last text with other names, and what it asks for: a large one takes seconds."""

    async def followed(self, job: Job) -> Job | Waiting:
        """Return *job* with the names of now, or the wait for names that udev may still change. Raises Unavailable."""
        with suppress(PublishFailed):
            macs = self._history.macs(job.file.digest, job.facts.hostname)
            found = renamed(macs, self._kernel.snapshot().links) if macs else ()
            text = self._text(job, found)
            if not text:
                return job
            if waiting := await self._until_known(found):
                return waiting
            wish = await self._wish(job, text)
            before, after = job.wish.document, wish.document if wish else None
            if wish and before and after and is_so_named(before, after, _names(found)):
                return replace(job, wish=wish, text=text, renamed=found)
        return job

    def problem(self, job: Job) -> Problem | None:
        """Return what an administrator is to know of a file that is used with other names."""
        if not job.renamed:
            return None
        lines = lines_of_entries(job.wish.document) if job.wish.document else {}
        by_name = {name: lines[now] for name, now, _ in job.renamed if now in lines}
        edit = remedy(job.file.name, job.renamed, by_name)
        return Problem(Message.LINK_RENAMED, cause(job.file.name, job.renamed), edit)

    def _text(self, job: Job, found: tuple[Renamed, ...]) -> str | None:
        document = job.wish.document
        return with_names(job.file.text, document, _names(found)) if found and document else None

    async def _wish(self, job: Job, text: str) -> Desired | None:
        """Return what *text* asks for, None where it cannot be read."""
        if self._read is None or self._read[0] != text:
            with suppress(NodeFileInvalid):
                self._read = text, await asyncio.to_thread(content.parse, replace(job.file, text=text))
        return self._read[1] if self._read and self._read[0] == text else None

    async def _until_known(self, found: tuple[Renamed, ...]) -> Waiting | None:
        """Return the wait for NetworkManager to have the NICs by their new names: before that, udev may change them."""
        states = (await self._profiles.inventory(profiles=False)).states
        unknown = [now for _, now, _ in found if states.get(now, UNMANAGED).startswith(UNMANAGED)]
        if not unknown:
            self._unknown = NEVER
            return None
        now = self._clock.boottime()
        self._unknown = self._unknown.holds(now)
        left = self._unknown.left(now, WAIT_SECONDS)
        reason = f"NetworkManager to have {', '.join(unknown)}: {in_words(found)}, unless udev gives another name"
        return Waiting(reason, EVENTS, left) if left > 0 else None


def _names(found: tuple[Renamed, ...]) -> dict[str, str]:
    return {name: now for name, now, _ in found}
