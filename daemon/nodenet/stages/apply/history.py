"""Where is the history of the network kept, and which entry does the node go back to?

One file for each entry, for root only: it has the profiles with their secrets. What cannot be read is skipped, and said
once; nothing but the bounds removes an entry.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from pathlib import PurePosixPath
from typing import Any

import structlog

from nodenet.core.apply.intent import Intent, summary, was_good
from nodenet.core.apply.renamed import Renamed, macs_of
from nodenet.core.br_ex.uplink import BRIDGE
from nodenet.core.errors import NodeFileInvalid, NodenetError, PublishFailed, Unavailable
from nodenet.core.history import entry as entries
from nodenet.core.history.entry import PREFIX, Entry, Kind, Result
from nodenet.core.history.shown import left_over, named_in, network, numbered, owned_after
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.core.settings.model import Settings
from nodenet.core.value import frozen
from nodenet.ports import Clock, Files, Kernel, Transaction
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.network_before import ProfileKeeper, network_of_file
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


@frozen
class Story:
    """What is known of a change beside its file: *probes* is what answered, *who* has asked for it."""

    kind: Kind
    hostname: str | None
    who: str = ""
    probes: str = ""
    cause: str = ""
    good: bool = False
    was: Mapping[str, Any] = field(default_factory=dict)
    """The network before it, as it is shown; nothing where it was not looked at."""
    renamed: tuple[Renamed, ...] = ()
    """The NICs that have another name than in the file."""


ALWAYS = frozenset({Kind.TRIAL, Kind.ROLLBACK, Kind.PRUNE})
"""Changes that get an entry also where the file is in force already."""


@frozen
class Recorder:
    """Writes entries."""

    keeper: ProfileKeeper
    history: History
    clock: Clock
    boot_id: str
    settings: str
    """The SHA-256 of the settings in force."""
    kernel: Kernel

    @classmethod
    def of(cls, edges: StageEdges, settings: Settings) -> Recorder:
        """Return the one that works through *edges*."""
        digest = hashlib.sha256(repr(settings).encode()).hexdigest()
        keeper, history = ProfileKeeper(edges.profiles, edges.files), History(edges.files)
        return cls(keeper, history, edges.clock, edges.boot_id, digest, edges.kernel)

    async def committed(self, file: NodeFile, wish: Desired, story: Story, transaction: Transaction) -> None:
        """Record that *file* is in force, with the resulting network; do nothing if the history has both."""
        try:
            last = self.history.in_force()
            names = {name: now for name, now, _ in story.renamed}
            macs = macs_of(wish.links, self.kernel.snapshot().links, story.renamed)
            known = last is not None and last.digest == file.digest and not last.refused_for(story.hostname)
            macs = last.macs | macs if last and known else macs
            if last is None or not known or last.names != names or story.kind in ALWAYS:
                kept = await network_of_file(self.keeper, wish, whole=True)
                made = replace(self._entry(file, story, Result.COMMITTED), network=kept)
                shown = await shown_now(transaction)
                owned = owned_after(last.owned if last else {}, named_in(wish.document), story.was, shown)
                self.history.add(replace(made, shown=shown, owned=owned, macs=macs, names=names))
            elif (story.good and not last.good) or (last.macs != macs and last.boot_id != self.boot_id):
                self.history.note(last, good=story.good or last.good, macs=macs)
        except (Unavailable, PublishFailed) as error:
            _say(file.name, error)

    async def left_over(self, wish: Desired, hostname: str | None, transaction: Transaction) -> dict[str, Any]:
        """Return what earlier files have made and *wish* does not name; nothing where the history cannot be read."""
        try:
            last = self.history.in_force()
        except PublishFailed:
            return {}
        if last is None or last.refused_for(hostname) or not any(last.owned.values()):
            return {}
        return left_over(last.owned, named_in(wish.document), await shown_now(transaction))

    def refused(self, file: NodeFile, story: Story) -> None:
        """Note that *file* was refused; the network is not another one."""
        try:
            self.history.add(self._entry(file, story, Result.REFUSED))
        except PublishFailed as error:
            _say(file.name, error)

    async def bridge(
        self,
        kind: Kind,
        who: str,
        *,
        result: Result = Result.COMMITTED,
        cause: str = "",
        transaction: Transaction | None = None,
    ) -> None:
        """Record that br-ex was made or removed, or that this was refused; the file in force is the same.

        With the network that *transaction* shows, and without its profiles: a way back leaves br-ex alone.
        """
        try:
            last = self.history.in_force()
            file = NodeFile(last.name, last.text, last.digest) if last else NodeFile("", "", "")
            story = Story(kind, last.hostname if last else None, who, cause=cause)
            made = self._entry(file, story, result)
            shown = await shown_now(transaction) if transaction else {}
            self.history.add(replace(made, shown=shown))
        except PublishFailed as error:
            _say(BRIDGE, error)

    def _entry(self, file: NodeFile, story: Story, result: Result) -> Entry:
        return Entry(
            kind=story.kind,
            result=result,
            name=file.name.removeprefix(PREFIX),
            text=file.text,
            digest=file.digest,
            hostname=story.hostname,
            boot_id=self.boot_id,
            time=self.clock.unix(),
            who=story.who,
            cause=story.cause,
            probes=story.probes,
            settings=self.settings,
            good=story.good,
        )


async def shown_now(transaction: Transaction) -> dict[str, Any]:
    """Return the present network as it is shown, nothing where libnmstate does not say."""
    try:
        return network(await transaction.show())
    except NmstateFailure:
        return {}  # it is for people; the profiles are the way back


def _say(name: str, error: NodenetError) -> None:
    text = f"The history has no entry of {name}: {error.cause}"
    log.warning(text, message=Message.RECORD_UNREADABLE, remedy=error.remedy)


def log_changed(before: Intent | None, boot_id: str, name: str, difference: Mapping[str, Any], stage: str) -> None:
    """Log that *name* was applied again because of *difference*, where *before*, its record, was a good one."""
    if was_good(before, boot_id):
        text = f"The network was not as an earlier boot had made it; {name} was applied again: {summary(difference)}"
        log.warning(text, message=Message.NETWORK_CHANGED, stage=stage)
