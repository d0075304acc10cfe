"""Has the node worked with its node file for long enough to go back to this file one day?

This is not a stage: it follows the status after READY. A file is good when the node was ready with it for `good_after`
seconds, and its uplink worked all the time. A reload begins that again: a node that was READY with the file before it
has yet to get ready with the new one. So does a trial, during which the network is that of another file.

The boots that a file may cost are counted until the node is READY with it. Where another file is known good and can
take its place, they are counted until the node has been READY with its node IPs for as long, whatever its gateway does:
a file can let the kernel panic under the first traffic, in each boot, and one whose lease ends leaves the node dark.
"""

from __future__ import annotations

import hashlib
from contextlib import suppress
from pathlib import PurePath

import structlog

from nodenet.core.apply import new_file
from nodenet.core.errors import PublishFailed
from nodenet.core.history.entry import Entry, Kind, Result
from nodenet.core.messages import Message
from nodenet.core.node_file.find import APPLIED
from nodenet.core.settings.model import Settings
from nodenet.core.since import BEAT_SECONDS, backoff
from nodenet.core.status.document import BootStatus
from nodenet.ports import Clock, Files, Store
from nodenet.stages.apply.history import History
from nodenet.stages.apply.records import NEW_FILE, Records

log = structlog.get_logger()

CUT_OFF = frozenset({Message.UPLINK_LOST, Message.GATEWAY_SILENT, Message.ROUTE_LOST})
"""Problems of the uplink with which a node does not work; without its DNS servers it does."""
LONGEST_SECONDS = 600.0
"""Between two tries on a disk that takes nothing."""


class KnownGood:
    """Keeps the node file that the node works with, and ends the count of boots that were lost with it."""

    def __init__(self, files: Files, clock: Clock, boot_id: str, store: Store | None = None) -> None:
        """Keep records through *files*, or through *store*, which has those that the disk has not taken."""
        self._files = files
        self._history = History(files)
        self._records = Records(files, store)
        self._clock = clock
        self._boot_id = boot_id
        self._ready_with: tuple[str, bool] | None = None
        """The digest that the node is READY with, and whether that file is applied."""
        self._ready_since: float | None = None
        """When that began, where the boot still counts against the file."""
        self._is_dark = False
        """Whether node IPs are missing."""
        self._counts = False
        """Whether READY alone does not end the count of lost boots: there is another file to go back to."""
        self._since: tuple[str, float] | None = None
        """The file that works, and since when (CLOCK_BOOTTIME)."""
        self._kept = ""
        self._failures = 0
        self.settings = Settings()
        """The present settings; the assembly replaces them at a reload."""

    def show(self, status: BootStatus) -> float | None:
        """Note READY and keep the file; return after how many seconds to look again."""
        digest = status.facts.digest
        if digest is None or not (status.ready and status.boot.ready):
            self._ready_with = self._ready_since = self._since = None
            return None
        try:
            due = self._seen(status, digest)
        except PublishFailed as error:
            self._failures += 1
            if self._failures == 1:
                log.warning(f"Not kept for a later boot: {error.cause}", message=error.message, remedy=error.remedy)
            return backoff(self._failures, 1.0, LONGEST_SECONDS)
        self._failures = 0
        return due

    def _seen(self, status: BootStatus, digest: str) -> float | None:
        """Do what is due now; return after how many seconds something will be. Raises PublishFailed."""
        applied = status.facts.applied_digest == digest
        self._is_dark = status.drift is not None
        if self._ready_with != (digest, applied):
            self._counts = applied and self._has_other(digest, status.facts.hostname)
            self._ready_since = self._clock.boottime() if self._counts else None
            self._ready_with = digest, applied
        if not self._counts:  # each time: the disk may have taken only now that the boot began with the file
            self._note_ready(digest, applied=applied)
        if applied and digest != self._kept:
            self._kept = ""  # the confirmation of a trial may have kept this one in its place
        due = [each for each in (self._end_count(digest), self._begin_or_keep(status, digest)) if each is not None]
        return min(due, default=None)

    def _end_count(self, digest: str) -> float | None:
        """End the count of lost boots when it is time; return as `_seen`. Raises PublishFailed."""
        if self._ready_since is None:
            return None
        if self._is_dark:
            self._ready_since = self._clock.boottime()
            return None
        if left := self._left(self._ready_since):
            return left
        self._note_ready(digest, applied=True)
        self._ready_since = None
        return None

    def _begin_or_keep(self, status: BootStatus, digest: str) -> float | None:
        """Begin the time that the file has to work, or keep it after that; return as `_seen`. Raises PublishFailed."""
        applied = status.facts.applied_digest == digest
        cut_off = status.drift is not None or (status.uplink is not None and status.uplink.message in CUT_OFF)
        on_trial = status.trial is not None and status.trial.runs
        if not applied or cut_off or on_trial or digest == self._kept:
            self._since = None
            return None
        if self._since is None or self._since[0] != digest:
            self._since = digest, self._clock.boottime()
        if left := self._left(self._since[1]):
            return left
        if self._keep(status, digest):
            self._kept = digest
        return None

    def _left(self, since: float) -> float:
        """Return after how many seconds to look whether `good_after` has passed *since* then, 0 when it has."""
        left = since + self.settings.good_after - self._clock.boottime()
        return left + BEAT_SECONDS if left > 0 else 0.0  # the watchdog's beat shows the status again before that

    def ended(self) -> None:
        """Do not count this boot against the file: nodenetd was asked to stop, after READY with it, not in the dark."""
        if self._ready_with and self._ready_since is not None and not self._is_dark:
            with suppress(PublishFailed):  # then it is counted: another boot without READY would have to follow
                self._note_ready(self._ready_with[0], applied=False)

    def _note_ready(self, digest: str, *, applied: bool) -> None:
        """Note that READY was reached: with the file and for long enough (*applied*), or not against it."""
        known = self._records.load(NEW_FILE, new_file.parse)
        if known and known.digest == digest:
            after = new_file.reached_ready(known, self._boot_id, applied=applied)
            self._records.save(NEW_FILE, new_file.render(after))

    def _keep(self, status: BootStatus, digest: str) -> bool:
        """Note in the history that the node works with the file. Return whether that is noted. Raises PublishFailed.

        A full disk may have taken no entry of the apply. Then there is one without the network: the text is known from
        the marker, which is the byte copy of what was applied.
        """
        hostname = status.facts.hostname
        entry = self._history.in_force()
        if entry and entry.digest == digest and not entry.refused_for(hostname):
            if entry.good:
                return True
            self._history.mark_good(entry)
        else:
            content = self._files.read(PurePath(self.settings.node_file_dir) / APPLIED)
            name = status.facts.node_file
            if content is None or name is None or hashlib.sha256(content).hexdigest() != digest:
                return False  # another program has written the marker: what was applied is not known
            kept = (name, content.decode(), digest, hostname, self._boot_id, self._clock.unix())
            self._history.add(Entry(Kind.NODE_FILE, Result.COMMITTED, *kept, good=True))
        log.info(
            f"{status.facts.node_file} is the last known good node file now",
            message=Message.NODE_FILE_GOOD,
            stage="nmstate",
        )
        return True

    def _has_other(self, digest: str, hostname: str | None) -> bool:
        good = self._history.good(hostname).entry
        return good is not None and good.digest != digest
