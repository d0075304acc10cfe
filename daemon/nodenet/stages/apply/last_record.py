"""How did the last apply end, also where the disk has not taken the record of that?

A disk can be full, or read-only, once an apply is over. The next nodenetd of the same boot must neither undo what is
committed then, nor apply again what was refused. So /run has that end; it is lost with the boot, as it has to be.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import PurePosixPath

from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.errors import PublishFailed
from nodenet.ports import Files
from nodenet.stages.apply.records import ENDED, INTENT, PRIVATE, Records


class LastRecord:
    """The record of the last apply: on the disk, and of a node file also in /run until the disk has taken its end."""

    def __init__(self, files: Files, path: PurePosixPath, boot_id: str) -> None:
        """Keep it in *path*. The stage configure-ovs looks at br-ex itself: it has no note in /run."""
        self._files = files
        self._records = Records(files)
        self._path = path
        self._boot_id = boot_id

    def load(self) -> Intent | None:
        """Return it. Raises PublishFailed."""
        last = self._records.load(self._path, intent.parse)
        return self._end_of(last) or last

    @property
    def owed(self) -> Intent | None:
        """What /run has and the disk has not; None also where that cannot be read."""
        with suppress(PublishFailed):
            return self._end_of(self._records.load(self._path, intent.parse))
        return None

    def _end_of(self, last: Intent | None) -> Intent | None:
        """Return what /run says about the end of the apply *last*. Raises PublishFailed."""
        if last is None or self._path != INTENT or (last.phase, last.boot_id) != (Phase.APPLYING, self._boot_id):
            return None
        ended = self._records.load(ENDED, intent.parse)
        return ended if ended and intent.is_end_of(ended, last) else None

    def save(self, record: Intent) -> None:
        """Write *record*; where the disk does not take the end of an apply, /run has it. Raises PublishFailed."""
        try:
            self._records.save(self._path, intent.render(record))
        except PublishFailed:
            if record.phase is not Phase.APPLYING:
                self.note(record)
            raise
        if self._path == INTENT and record.phase in (Phase.GOOD, Phase.REFUSED):
            with suppress(PublishFailed):  # it is about an apply that the disk has the end of
                self._files.remove(ENDED)

    def note(self, record: Intent) -> None:
        """Write *record*, the end of an apply, to /run."""
        if self._path == INTENT:
            with suppress(PublishFailed):  # the disk may take it
                self._files.write(ENDED, intent.render(record), PRIVATE)
