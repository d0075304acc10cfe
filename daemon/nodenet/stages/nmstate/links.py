"""Does a node file wait for its links: missing ones, renamed ones, and those that still activate?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePath

import structlog

from nodenet.core.apply.awaited_links import (
    WAIT_SECONDS,
    host_has,
    keys,
    keys_of,
    missing,
    missing_bases,
    missing_reason,
    unsettled,
)
from nodenet.core.apply.renamed import Renamed, back, cause, in_words, moves, remedy, renamed
from nodenet.core.boot.outcome import Problem, Topic, Waiting
from nodenet.core.errors import NodeFileInvalid, PublishFailed, Unavailable
from nodenet.core.history.entry import Entry
from nodenet.core.kernel.snapshot import Link
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import UNMANAGED
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file import content
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.links import Links, is_so_named, lines_of_entries, with_names
from nodenet.core.node_ip.published_files import USERS
from nodenet.core.probes.questions import on_host
from nodenet.core.since import NEVER, Since
from nodenet.core.value import frozen
from nodenet.ports import Clock, Files, Kernel, Manager, Profiles, Systemd
from nodenet.stages.apply.history import History
from nodenet.stages.nmstate.job import Job


@frozen
class Wait:
    """What a file waits for: the names and MAC addresses that were missing at the last look, and since when."""

    since: Since
    names: frozenset[str]


class MissingLinks:
    """The links that node files wait for, or have waited for."""

    def __init__(self, kernel: Kernel, files: Files, systemd: Systemd, clock: Clock) -> None:
        """Look for links in *kernel*, for their speeds in *files*; *systemd* knows whether kubelet runs."""
        self._kernel = kernel
        self._files = files
        self._systemd = systemd
        self._clock = clock
        self._waits: dict[str, Wait] = {}
        self._over: set[str] = set()
        """The digests of the files that are waited for no more."""

    def still(self, job: Job) -> Waiting | None:
        """Return the wait of the file while no link has come that it waits for: libnmstate need not be asked."""
        wait = self._waits.get(job.file.digest)
        if wait is None or job.retry_refused or job.file.digest in self._over:
            return None
        left, present = wait.since.left(self._clock.boottime(), WAIT_SECONDS), self._present()
        followed = not wait.names <= job.wish.links.existing.union(keys_of(job.wish.links))  # they have other names
        if left <= 0 or present is None or wait.names & present or followed:
            return None
        return self._waiting(job, wait.names, left)

    async def awaited(self, job: Job, failure: NmstateFailure) -> Waiting | None:
        """Return the wait for the links that *failure* is about; None: the file is refused now."""
        present = self._present() if failure.kind is FailureKind.INVALID else None
        return await self._wait(job, missing(job.wish.links, present, failure) if present is not None else frozenset())

    async def before(self, job: Job) -> Waiting | None:
        """Return the wait for links that must be there before the file is applied; None: it is applied now."""
        present = self._present() if job.wish.links.bases else None
        return await self._wait(job, missing_bases(job.wish.links, present) if present is not None else frozenset())

    async def _wait(self, job: Job, names: frozenset[str]) -> Waiting | None:
        if not names:
            return None
        digest = job.file.digest
        now = self._clock.boottime()
        since = self._waits[digest].since if digest in self._waits else Since(now)
        is_over = job.retry_refused or digest in self._over or since.left(now, WAIT_SECONDS) <= 0
        if is_over or await self._systemd.any_runs(USERS):
            self._over.add(digest)
            return None
        self._waits[digest] = Wait(since, names)
        return self._waiting(job, names, since.left(now, WAIT_SECONDS))

    def explained(self, job: Job, failure: NmstateFailure) -> NmstateFailure:
        """Return *failure* with the links that this host has, where it is about one that the host does not have."""
        present = self._present() if failure.kind is FailureKind.INVALID else None
        if present is None or not missing(job.wish.links, present, failure):
            return failure
        return NmstateFailure(failure.kind, f"{failure.cause}; {self._there()}", failure.remedy, failure.said)

    def _present(self) -> frozenset[str] | None:
        """Return every name and MAC address of the links, None while the kernel does not answer."""
        with suppress(Unavailable):
            return keys(self._kernel.snapshot().links)
        return None

    def _there(self) -> str:
        """Return the links that this host has, in words. Raises Unavailable."""
        links = self._kernel.snapshot().links
        return host_has(links, {link.name: self._speed(link.name) for link in links if not link.loopback})

    def _speed(self, link: str) -> int:
        """Return Mbit/s, 0 where the driver does not say (sysfs-class-net)."""
        with suppress(PublishFailed, ValueError):
            return int(self._files.read(PurePath("/sys/class/net") / link / "speed") or b"0")
        return 0

    def _waiting(self, job: Job, names: frozenset[str], seconds: float) -> Waiting:
        return Waiting(missing_reason(job.file.name, names, self._there()), frozenset({Topic.KERNEL}), seconds)


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


class Settling:
    """How long NetworkManager has been starting."""

    def __init__(self, manager: Manager, profiles: Profiles, kernel: Kernel, clock: Clock) -> None:
        """Ask *manager* and *profiles*."""
        self._manager = manager
        self._profiles = profiles
        self._kernel = kernel
        self._clock = clock
        self._starting = NEVER

    async def links(self, wish: Desired, *, in_force: bool) -> frozenset[str]:
        """Return the links of *wish* that NetworkManager still activates at its start. Raises Unavailable.

        *in_force*: as in `unsettled`.
        """
        return await self._activating(lambda present: on_host(wish, present).links, in_force=in_force)

    async def every_link(self) -> frozenset[str]:
        """Return the links of this node that NetworkManager still activates at its start. Raises Unavailable."""
        return await self._activating(_every, in_force=False)

    async def _activating(self, of: Callable[[tuple[Link, ...]], Links], *, in_force: bool) -> frozenset[str]:
        if await self._manager.state() is not ManagerState.STARTING:
            self._starting = NEVER
            return frozenset()
        now = self._clock.boottime()
        self._starting = self._starting.holds(now)
        found, present = await self._profiles.inventory(profiles=False), self._kernel.snapshot().links
        links, names = of(present), {link.name for link in present}
        return unsettled(links, found, names, self._starting.lasted(now), in_force=in_force)


def _every(present: tuple[Link, ...]) -> Links:
    names = frozenset(link.name for link in present)
    return Links(existing=names, leased=names)
