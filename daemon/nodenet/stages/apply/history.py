"""Where is the history of the network kept, and which entry does the node go back to?

One file for each entry, for root only: it has the profiles with their secrets. What cannot be read is skipped, and said
once; nothing but the bounds removes an entry.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from pathlib import PurePosixPath

import structlog

from nodenet.core.errors import NodeFileInvalid, PublishFailed, Unavailable
from nodenet.core.history import entry as entries
from nodenet.core.history.entry import Entry
from nodenet.core.history.left_over import numbered
from nodenet.core.messages import Message
from nodenet.core.value import frozen
from nodenet.ports import Files
from nodenet.stages.apply.records import PRIVATE, STATE

log = structlog.get_logger()

HISTORY = STATE / "history"
LONGEST = 4 << 20
"""Bytes of one entry that is read again (`edge.files.disk.MOST_BYTES`)."""


@frozen
class Good:
    """The newest good *entry* of this host; where there is none, *why* one that is there cannot be used."""

    entry: Entry | None = None
    why: str = ""


@frozen
class History:
    """The changes of the network that are over, the newest first."""

    files: Files
    _said: set[int] = field(default_factory=set)
    """Damaged entries that the journal has."""

    def numbers(self) -> list[int]:
        """Return the numbers of all entries, the newest first. Raises PublishFailed."""
        try:
            return entries.numbers(self.files.listing(HISTORY))
        except (NodeFileInvalid, Unavailable) as error:
            raise PublishFailed(error.cause, remedy=error.remedy) from error

    def read(self, number: int) -> Entry | None:
        """Return one entry, None where there is none. Raises ValueError where it is damaged, PublishFailed."""
        content = self.files.read(path_of(number))
        return None if content is None else entries.parse(content, number)

    def all(self) -> Iterator[Entry]:
        """Yield the entries that can be read. Raises PublishFailed."""
        for number in self.numbers():
            try:
                found = self.read(number)
            except ValueError as error:
                self._say(number, error)
                continue
            if found:
                yield found

    def newest(self) -> Entry | None:
        """Return the newest entry that can be read. Raises PublishFailed."""
        return next(self.all(), None)

    def in_force(self) -> Entry | None:
        """Return the newest change by a node file that was not refused. Raises PublishFailed."""
        return next((each for each in self.all() if each.in_force), None)

    def good(self, hostname: str | None) -> Good:
        """Return the newest good entry of the host. Raises PublishFailed."""
        why = ""
        for number in self.numbers():
            try:
                found = self.read(number)
            except ValueError as error:
                self._say(number, error)
                why = why or f"{path_of(number)}: {error}"
                continue
            if found is None or not found.good:
                continue
            if refused := found.refused_for(hostname):
                why = why or f"{path_of(number)}: {refused}"
                continue
            return Good(found)
        return Good(why=why)

    def add(self, entry: Entry) -> Entry:
        """Write a new entry, and remove what is beyond the bounds; return it with its number. Raises PublishFailed.

        One that says what the newest one says is not written.
        """
        newest = self.newest()
        if newest and entries.says_the_same(entry, newest):
            return newest
        number = max(self.numbers(), default=0) + 1
        entry = replace(entry, number=number, owned=numbered(entry.owned, number))
        self._write(entry)
        self._bound()
        return entry

    def mark_good(self, entry: Entry) -> None:
        """Note that the node worked with *entry*. Raises PublishFailed."""
        self._write(replace(entry, good=True))

    def note(self, entry: Entry, *, good: bool, macs: dict[str, str]) -> None:
        """Note whether the node worked with *entry*, and which NICs it has now. Raises PublishFailed."""
        self._write(replace(entry, good=good, macs=macs))

    def of_file(self, digest: str, hostname: str | None) -> Entry | None:
        """Return the newest entry after which the node file *digest* was in force. Raises PublishFailed."""
        entry = next((each for each in self.all() if each.digest == digest and each.in_force), None)
        return None if entry is None or entry.refused_for(hostname) else entry

    def _write(self, entry: Entry) -> None:
        self.files.write(path_of(entry.number), entries.render(entry, LONGEST), PRIVATE)

    def _bound(self) -> None:
        sizes: list[tuple[int, int]] = []
        needed: dict[str, int] = {}
        for number in self.numbers():
            content = self.files.read(path_of(number)) or b""
            sizes.append((number, len(content)))
            if b'"good": true' in content:
                needed.setdefault("good", number)
            if b'"result": "committed"' in content and b'"kind": "bridge' not in content:
                needed.setdefault("in force", number)
        for number in entries.surplus(sizes, needed.values()):
            self.files.remove(path_of(number))

    def _say(self, number: int, error: ValueError) -> None:
        if number not in self._said:
            self._said.add(number)
            text = f"The entry {path_of(number)} of the history is skipped: {error}"
            log.warning(text, message=Message.RECORD_UNREADABLE, path=str(path_of(number)))


def path_of(number: int) -> PurePosixPath:
    """Return the file of an entry."""
    return HISTORY / f"{number}{entries.SUFFIX}"
