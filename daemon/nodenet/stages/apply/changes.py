"""How is the one open change of the network recorded, rolled back, undone and closed?

`core.change` has the model. The record is on the disk before the network is touched; the undo is a difference.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any, TypeVar

import structlog

from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, is_ours
from nodenet.core.change import record
from nodenet.core.change.record import RESULT, Change, What, interrupted, is_closed
from nodenet.core.change.way_back import Network, WayBack, way_back, with_others
from nodenet.core.errors import NodenetError, OrderRefused, Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import ManagerState, of_another
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.value import frozen
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.hand_over import HandOver
from nodenet.stages.apply.network_before import ProfileKeeper, profiles_of
from nodenet.stages.apply.others import OthersOnLinks
from nodenet.stages.apply.records import CHANGE, Records

log = structlog.get_logger()

PATIENCE_SECONDS = 10.0
PAUSE_SECONDS = 0.2
REFUSED = ("unavailable", "unmanaged")
"""States of links, as the first word, of which NetworkManager activates none: a link without a carrier is the first."""

Note = Callable[[dict[str, str]], None]


@frozen
class Changes:
    """The one open change, and the results of those that are over; *vips*: see `OthersOnLinks`."""

    edges: StageEdges
    vips: tuple[IPAddress, ...] = ()

    @property
    def _records(self) -> Records:
        return Records(self.edges.files, self.edges.store)

    @property
    def open(self) -> Change | None:
        """The change that is open, None where there is none. Raises PublishFailed."""
        change = self._records.load(CHANGE, record.parse)
        return None if change is None or is_closed(change, self.result(RESULT[change.what])) else change

    def result(self, path: PurePosixPath) -> Intent | None:
        """Return how the last change that *path* is about has ended. Raises PublishFailed."""
        return self._records.load(path, intent.parse)

    def save_result(self, path: PurePosixPath, result: Intent | None) -> None:
        """Let *result* be how the last change that *path* is about has ended."""
        self.edges.store.save(path, None if result is None else intent.render(result))

    def begin(self, change: Change) -> Change:
        """Record *change* before the network is touched; return it as it is recorded. Raises PublishFailed.

        Where an earlier change is open still, its network from before is the one that comes back: the present one is
        what that change has left.
        """
        before = self.open
        if before is not None:
            change = replace(change, before=before.before)
        self.edges.store.save_ahead(CHANGE, record.render(change))
        return change

    def leave(self, change: Change) -> None:
        """Record a change that is to be undone at once, whatever another one has left. Raises PublishFailed."""
        self.edges.store.save_ahead(CHANGE, record.render(change))

    def save(self, change: Change) -> None:
        """Record what became known of an open change."""
        self.edges.store.save(CHANGE, record.render(change))

    def close(self, change: Change, result: Intent | None) -> None:
        """Close *change* with *result*; of a trial that is not confirmed, the last result stays (None)."""
        if result is not None:
            self.save_result(RESULT[change.what], result)
        self.edges.store.save(CHANGE, None)

    def forget_closed(self) -> None:
        """Remove the record of a change that is over: a process ended between its result and that."""
        self.edges.store.save(CHANGE, None)

    def close_undone(self, change: Change) -> None:
        """Close *change*, which is undone."""
        of_trial = change.what is What.TRIAL
        self.close(change, None if of_trial else interrupted(change, self.result(RESULT[change.what])))

    async def held_by_another(self, change: Change | None, end: float) -> str | None:
        """Return the words of the wait for the checkpoint of another program, if there is one. Raises Unavailable."""
        for one in await self.edges.manager.checkpoints():
            if change is None or not is_ours(one, change.apply, self.edges.boot_id, end):
                return of_another(one)
        return None

    async def undo(self, change: Change, end: float) -> None:
        """Put the network back from before *change*, whose checkpoint was made before *end*, and close the change.

        What others have on the links is there afterwards. Raises Unavailable, RollbackFailed.
        """
        others = OthersOnLinks.of(self.edges, self.vips)
        async with HandOver.of(self.edges).watched(frozenset(change.before.links)), others.kept():
            change, rolled_back = await self.roll_back(change, end)
            await self.put_back(change, rolled_back=rolled_back)
        self.close_undone(change)

    async def roll_back(self, change: Change, end: float) -> tuple[Change, bool]:
        """Roll back the checkpoint that *change* has left, made before *end*; return whether there was one.

        The change that is returned has the network that is to come back. Raises Unavailable, RollbackFailed.
        """
        found = await self.edges.manager.checkpoints()
        ours = next((one for one in found if is_ours(one, change.apply, self.edges.boot_id, end)), None)
        if ours is None:
            return change, False
        change = await self.with_others(change)
        await self.edges.manager.roll_back(ours.path)
        text = "Rolled back the checkpoint of an apply that was interrupted"
        log.warning(text, message=Message.CHANGE_UNDONE, checkpoint=ours.path)
        return change, True

    async def with_others(self, change: Change) -> Change:
        """Return *change* with the profiles that other programs have made since: a rollback deletes them, too.

        Recorded before that, so that they come back also when nodenetd does not survive it. Raises Unavailable.
        """
        found = await self.edges.profiles.inventory()
        present = await profiles_of(found, self.edges.profiles.keep, change.before.links)
        wanted = replace(change, before=with_others(change.before, found, present))
        if wanted != change:
            self.save(wanted)
        return wanted

    async def put_back(self, change: Change, *, rolled_back: bool) -> None:
        """Make profiles and links what they were before *change*. Raises Unavailable.

        What NetworkManager refuses for one profile keeps no other one from coming back; it is raised in the end.
        """

        def note(due: dict[str, str]) -> None:
            self.save(replace(change, before=replace(change.before, due=due)))

        words = f"the profiles from before the {change.what} of {change.name}"
        await self._make(change.before, words, note, rolled_back=rolled_back)

    async def make(self, network: Network, name: str) -> None:
        """Make the network *network*, within a change that is not committed: no note is needed. Raises Unavailable."""
        await self._make(network, f"the profiles of {name}", lambda _: None, rolled_back=False)

    async def is_that_of(self, network: Network) -> bool:
        """Return whether the present network is *network*. Raises Unavailable."""
        found = await self.edges.profiles.inventory()
        present = await profiles_of(found, self.edges.profiles.keep, network.links)
        return way_back(network, found, present, rolled_back=False).empty

    async def _make(self, network: Network, words: str, note: Note, *, rolled_back: bool) -> None:
        """Put back what differs; *note* gets what is to be activated: nothing else shows that later."""
        found = await self.edges.profiles.inventory()
        present = await profiles_of(found, self.edges.profiles.keep, network.links)
        way = way_back(network, found, present, rolled_back=rolled_back)
        owed = network.due | {link: uuid for uuid, link in way.activate}
        if way.give_back:
            note(owed)
        refused: list[OrderRefused] = []
        missing = await self._give_back(way, refused)
        due: list[tuple[str, str]] = []
        try:
            for uuid, link in way.activate:
                if uuid in missing:
                    continue
                with _noting(refused):
                    if await self._activate(words, uuid, link):
                        due.append((uuid, link))
                    del owed[link]
        except Unavailable:
            note(owed)  # a link that is back is not activated again with the next try
            raise
        if not way.empty:
            log.warning(f"Put {words} back", message=Message.CHANGE_UNDONE)
        await self._settled(due)
        if refused:
            note(owed)
            raise refused[0]

    async def _give_back(self, way: WayBack, refused: list[OrderRefused]) -> set[str]:
        """Let the profiles be as before; add to *refused*, and return which ones are not back. Raises Unavailable."""
        profiles, keeper = self.edges.profiles, ProfileKeeper(self.edges.profiles, self.edges.files)
        for uuid in way.delete:
            with _noting(refused):
                await profiles.delete(uuid)
        for link in way.disconnect:
            with _noting(refused):
                await profiles.disconnect(link)
        missing = {each.uuid for each in way.give_back}
        for profile in way.give_back:
            with _noting(refused):
                if error := await keeper.give_back(profile):
                    log.warning(error.cause, message=error.message, remedy=error.remedy)
                missing.remove(profile.uuid)
        return missing

    async def started(self) -> None:
        """Return when NetworkManager has ended its start, after PATIENCE_SECONDS at the latest.

        Before that, a link may not have its profile yet, and would be activated a second time.
        """
        end = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while asyncio.get_running_loop().time() < end:
            if await self.edges.manager.state() is ManagerState.READY:
                return
            await asyncio.sleep(PAUSE_SECONDS)

    async def _settled(self, due: list[tuple[str, str]]) -> None:
        """Return when the links of *due* have their profiles, after PATIENCE_SECONDS at the latest. Raises Unavailable.

        The stage nmstate compares the network with the node file then: a link below br-ex cannot be changed by it.
        """
        end = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while due and asyncio.get_running_loop().time() < end:
            found = await self.edges.profiles.inventory()
            uses = {(each.profile.uuid, each.link) for each in found.devices if each.profile}
            if all(each in uses and each[1] in found.settled for each in due):
                return
            await asyncio.sleep(PAUSE_SECONDS)

    async def _activate(self, words: str, uuid: str, link: str) -> bool:
        """Begin to activate a profile; return whether it begins. Raises Unavailable where that is not certain.

        It refuses a link without a carrier, for as long as that is so: the others, and the records, do not wait.
        """
        try:
            await self.edges.profiles.activate(uuid, link)
        except Unavailable as error:
            found = await self.edges.profiles.inventory(profiles=False)
            # A NIC that was a port of a bridge a moment ago is disconnected, whatever its carrier is.
            dark = isinstance(error, OrderRefused) and self._is_dark(link)
            if not (dark or found.states.get(link, "").startswith(REFUSED)):  # it hung, or the bus was away
                raise
            text = f"{link} gets none of {words}: {error.cause}"
            log.warning(text, message=Message.CHANGE_UNDONE, remedy=f"Run `nmcli connection up {uuid}` when it can")
            return False
        return True

    def _is_dark(self, link: str) -> bool:
        """Return whether *link* has no carrier. Raises Unavailable."""
        return any(each.name == link and not each.carrier for each in self.edges.kernel.snapshot().links)


@contextmanager
def _noting(refused: list[OrderRefused]) -> Iterator[None]:
    """Note what NetworkManager refuses, and go on."""
    try:
        yield
    except OrderRefused as error:
        refused.append(error)


def as_failure(error: Exception) -> NodenetError:
    """Return *error*, which ended an apply, as a failed try with a cause: the network was touched before it."""
    if isinstance(error, Unavailable):
        return NmstateFailure(FailureKind.UNAVAILABLE, error.cause, error.remedy)
    if isinstance(error, NodenetError):
        return error
    log.error(f"An apply met an unexpected error: {error!r}", message=Message.INTERNAL_ERROR, exc_info=error)
    return NmstateFailure(FailureKind.INTERNAL, f"unexpected error of nodenetd: {error!r}")


def with_more(failure: NodenetError, more: str) -> NmstateFailure:
    """Return *failure* of an apply that was not rolled back, with why not."""
    kind, said = FailureKind.UNAVAILABLE, ""
    if isinstance(failure, NmstateFailure):
        kind, said = failure.kind, failure.said
    return NmstateFailure(kind, f"{failure.cause}; {more}", failure.remedy, said)


T = TypeVar("T")


async def shielded(work: Coroutine[Any, Any, T] | asyncio.Task[T], what: str = "Rolling back") -> T:
    """Finish *work* even if the caller is cancelled; raise CancelledError after that, and log *what* met an error."""
    task = asyncio.ensure_future(work)
    cancelled = False
    while not task.done():
        try:
            await asyncio.wait({task})
        except asyncio.CancelledError:
            cancelled = True
    if not cancelled:
        return task.result()
    if error := task.exception():
        log.error(f"{what} met an error: {error}", message=Message.ROLLBACK_FAILED)
    raise asyncio.CancelledError
