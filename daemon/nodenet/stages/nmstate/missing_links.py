"""Does the boot wait for a link that the node file names and the kernel does not have?

Once for each file in a run of nodenetd, and only while kubelet waits too: an administrator who asks for the file gets
the answer at once, and a node that works is not kept without its answer either.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import PurePath

from nodenet.core.apply.missing_links import (
    WAIT_SECONDS,
    host_has,
    keys,
    keys_of,
    missing,
    missing_bases,
    reason,
)
from nodenet.core.boot.outcome import Topic, Waiting
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.published_files import USERS
from nodenet.core.since import Since
from nodenet.core.value import frozen
from nodenet.ports import Clock, Files, Kernel, Systemd
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
        return Waiting(reason(job.file.name, names, self._there()), frozenset({Topic.KERNEL}), seconds)
