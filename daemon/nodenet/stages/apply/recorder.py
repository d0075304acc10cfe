"""How does a change of the network that is over become an entry of the history?

A disk that takes no entry, or a NetworkManager that does not answer, undoes nothing and fails nothing: the network is
what it is, and the journal says what the history lacks.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any

import structlog

from nodenet.core.apply.renamed import Renamed, macs_of
from nodenet.core.br_ex.uplink import BRIDGE
from nodenet.core.errors import NodenetError, PublishFailed, Unavailable
from nodenet.core.history.entry import PREFIX, Entry, Kind, Result
from nodenet.core.history.left_over import left_over, named_in, owned_after
from nodenet.core.history.shown import network
from nodenet.core.messages import Message
from nodenet.core.nmstate.failure import NmstateFailure
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.core.settings.model import Settings
from nodenet.core.value import frozen
from nodenet.ports import Clock, Kernel, Transaction
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.history import History
from nodenet.stages.apply.network_before import ProfileKeeper, network_of_file

log = structlog.get_logger()


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
