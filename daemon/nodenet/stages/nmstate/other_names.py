"""By which names are the NICs of a node file known in this boot, and do their profiles follow them?

The history knows their permanent MACs from when the file was in force. An edited file means the same NICs as the file
before it while each link has the addresses that it had there; else it is another file, and means the names of now.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from dataclasses import replace

import structlog

from nodenet.core.apply.missing_links import WAIT_SECONDS
from nodenet.core.apply.renamed import Renamed, back, cause, in_words, moves, remedy, renamed
from nodenet.core.boot.outcome import Problem, Topic, Waiting
from nodenet.core.errors import NodeFileInvalid, PublishFailed
from nodenet.core.history.entry import Entry
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import UNMANAGED
from nodenet.core.node_file import content
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.other_names import is_so_named, lines_of_entries, with_names
from nodenet.core.since import NEVER, Since
from nodenet.ports import Clock, Files, Kernel, Profiles
from nodenet.stages.apply.history import History
from nodenet.stages.nmstate.job import Job

log = structlog.get_logger()

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
        self._followed = NEVER
        """When profiles have followed their NICs last."""
        self._before: tuple[str, Desired] | None = None
        """Digest of the file that was in force last, and what it asks for."""
        self._read: tuple[str, Desired] | None = None
        """The last text with other names, and what it asks for: a large one takes seconds."""

    async def followed(self, job: Job) -> Job | Waiting:
        """Return *job* with the names of now, or the wait for names that udev may still change. Raises Unavailable."""
        with suppress(PublishFailed):
            then = self._history.of_file(job.file.digest, job.facts.hostname) or self._history.in_force()
            if not then or not then.macs or then.refused_for(job.facts.hostname):
                return job
            present = self._kernel.snapshot().links
            found, again = renamed(then.macs, present), back(then.names, then.macs, present)
            text = self._text(job, found)
            if not (text or again) or (found and not text) or not await self._means_the_same(job, then):
                return job
            if waiting := await self._until_they_follow((*found, *again), then):
                return waiting
            if not text:
                return job
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

    async def _means_the_same(self, job: Job, then: Entry) -> bool:
        """Return whether each name in the file of *job* means what it meant in that of *then*."""
        if then.digest == job.file.digest:
            return True
        if self._before is None or self._before[0] != then.digest:
            with suppress(NodeFileInvalid):
                self._before = then.digest, await asyncio.to_thread(content.parse, then.file)
        before = self._before[1] if self._before and self._before[0] == then.digest else None
        return before is not None and (set(before.addresses), before.links) == (set(job.wish.addresses), job.wish.links)

    def _text(self, job: Job, found: tuple[Renamed, ...]) -> str | None:
        document = job.wish.document
        return with_names(job.file.text, document, _names(found)) if found and document else None

    async def _wish(self, job: Job, text: str) -> Desired | None:
        """Return what *text* asks for, None where it cannot be read."""
        if self._read is None or self._read[0] != text:
            with suppress(NodeFileInvalid):
                self._read = text, await asyncio.to_thread(content.parse, replace(job.file, text=text))
        return self._read[1] if self._read and self._read[0] == text else None

    async def _until_they_follow(self, found: tuple[Renamed, ...], then: Entry) -> Waiting | None:
        """Let the profiles follow their NICs; return what that waits for.

        Nothing is done before NetworkManager has the NICs by their new names: until then, udev may change these. The
        profile of a NIC has more than the file asks for, and one with the name that another NIC has now gives that one
        the wrong network.
        """
        now = self._clock.boottime()
        inventory = await self._profiles.inventory()
        unknown = [link for _, link, _ in found if inventory.states.get(link, UNMANAGED).startswith(UNMANAGED)]
        self._unknown = self._unknown.holds(now) if unknown else NEVER
        if unknown and (left := self._unknown.left(now, WAIT_SECONDS)) > 0:
            reason = f"NetworkManager to have {', '.join(unknown)}, unless udev gives another name"
            return Waiting(reason, EVENTS, left)
        if due := moves(found, _used(then), inventory.profiles):
            self._followed = Since(now)
            for uuid, link in due.items():
                await self._profiles.set(uuid, {"connection": {"interface-name": link}})
            for uuid, link in due.items():
                await self._profiles.activate(uuid, link)
            text = f"{in_words(found)}; the profile of each NIC follows its MAC"
            log.warning(text, message=Message.LINK_RENAMED, stage="nmstate")
        busy = [link for _, link, _ in found if due or link in inventory.activating]
        if busy and self._followed.lasted(now) < WAIT_SECONDS and self._followed != NEVER:
            return Waiting(
                f"NetworkManager, which activates {', '.join(busy)} with the profile of its NIC", EVENTS, 1.0
            )
        return None


def _used(then: Entry) -> dict[str, str]:
    """Return name in the file → UUID of the profile that the NIC had."""
    active = then.network.active if then.network else {}
    links = {name: then.names.get(name, name) for name in then.macs}
    return {name: active[link] for name, link in links.items() if link in active}


def _names(found: tuple[Renamed, ...]) -> dict[str, str]:
    return {name: now for name, now, _ in found}
