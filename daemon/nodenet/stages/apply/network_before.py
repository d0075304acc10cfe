"""How is the network from before a trial, or from before an apply of a node file, kept and put back?"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from enum import StrEnum

import structlog

from nodenet.core.change import way_back as record
from nodenet.core.change.way_back import Kept, WayBack, way_back
from nodenet.core.errors import OrderRefused, PublishFailed, Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profile_backup import KeptProfile
from nodenet.core.network_manager.profiles import KEYFILES, Device
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.links import NICS
from nodenet.ports import Files, Manager, Profiles
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.open_checkpoint import OpenCheckpoint
from nodenet.stages.apply.profile_backup import ProfileKeeper
from nodenet.stages.apply.records import APPLY, INTENT, PRIVATE, TRIAL, Records

log = structlog.get_logger()

PATIENCE_SECONDS = 10.0
PAUSE_SECONDS = 0.2
REFUSED = ("unavailable", "unmanaged")
"""States of links, as the first word, of which NetworkManager activates none: a link without a carrier is the first."""
WIRED = frozenset({"802-3-ethernet", "infiniband"})
"""Kinds of profiles of NICs: a file that identifies one by its PCI address may mean each of them."""


class What(StrEnum):
    """What a network is kept from before of, in words."""

    TRIAL = "trial"
    APPLY = "apply"


PATH = {What.TRIAL: TRIAL, What.APPLY: APPLY}
MESSAGE = {What.TRIAL: Message.TRIAL_UNDONE, What.APPLY: Message.CHECKPOINT_CLEARED}


async def profiles_of(
    found: Inventory,
    keep: Callable[[str], Awaitable[KeptProfile]],
    links: Collection[str] = (),
    uuids: Collection[str] = (),
) -> tuple[KeptProfile, ...]:
    """Return all profiles of *found*, but those that NetworkManager makes by itself; of these, *uuids* and of *links*.

    Raises as *keep*, which returns one by its UUID.
    """
    present = [each.uuid for each in found.profiles if not each.generated or each.link in links or each.uuid in uuids]
    return tuple([await keep(uuid) for uuid in present])


@dataclass(frozen=True, slots=True)
class NetworkBefore:
    """The profiles as they were before *what*; of a trial also the record of the last apply."""

    what: What
    files: Files
    profiles: Profiles
    manager: Manager
    keeper: ProfileKeeper
    checkpoint: OpenCheckpoint

    @classmethod
    def of(cls, edges: StageEdges, checkpoint: OpenCheckpoint, what: What = What.TRIAL) -> NetworkBefore:
        """Return the one that works through *edges* and *checkpoint*."""
        keeper = ProfileKeeper(edges.profiles, edges.files)
        return cls(what, edges.files, edges.profiles, edges.manager, keeper, checkpoint)

    @property
    def kept(self) -> Kept | None:
        """What was kept, while that has not ended. Raises PublishFailed."""
        return Records(self.files).load(PATH[self.what], record.parse)

    async def keep(self, file: NodeFile, wish: Desired) -> None:
        """Keep the present network. Raises Unavailable, PublishFailed."""
        self.store(await self.look(file, wish))

    async def look(self, file: NodeFile, wish: Desired, *, whole: bool = False) -> Kept:
        """Return the present network. Raises Unavailable, PublishFailed.

        *whole*: with the profiles that NetworkManager made by itself for any NIC: a later file may name each.
        """
        found = await self.profiles.inventory()
        nics = {each.link for each in found.devices if each.kind in NICS}
        meant = {each.link for each in found.devices if each.link in nics and _mac(each) in wish.links.macs.values()}
        links = wish.links.existing | wish.links.made | meant
        wired = [each.uuid for each in found.profiles if each.kind in WIRED and wish.links.by_key]
        return Kept(
            name=file.name,
            digest=file.digest,
            links=tuple(sorted(links)),
            profiles=await profiles_of(found, self.keeper.keep, links | nics if whole else links, wired),
            names=tuple(sorted(wish.links.profiles)),
            active={device.link: device.profile.uuid for device in found.devices if device.profile},
            intent=(self.files.read(INTENT) or b"").decode() if self.what is What.TRIAL else "",
        )

    def store(self, kept: Kept) -> None:
        """Write *kept* to the disk. Raises PublishFailed."""
        Records(self.files).save(PATH[self.what], record.render(kept))
        try:
            _ = self.kept  # a record that is too large to be read again is no way back
        except PublishFailed:
            self.forget_quietly()
            raise

    async def restore(self, kept: Kept) -> None:
        """Put the network of *kept* back. Raises Unavailable, RollbackFailed, PublishFailed.

        What NetworkManager refuses for one profile keeps no other one from coming back; it is raised in the end.
        """
        rolled_back = await self.checkpoint.roll_back_interrupted()
        await self._put_back(kept, rolled_back=rolled_back, note=self._note)

    async def put_back(self, kept: Kept) -> None:
        """Make the network that of *kept* in an apply that is not committed: its own way back needs no note.

        Raises Unavailable, OrderRefused, PublishFailed.
        """
        await self._put_back(kept, rolled_back=False, note=lambda *_: None)

    async def is_that_of(self, kept: Kept) -> bool:
        """Return whether the network is that of *kept*. Raises Unavailable, PublishFailed."""
        found = await self.profiles.inventory()
        present = await profiles_of(found, self.profiles.keep, kept.links)
        return way_back(kept, found, present, rolled_back=False).empty

    async def _put_back(self, kept: Kept, *, rolled_back: bool, note: Callable[[Kept, dict[str, str]], None]) -> None:
        found = await self.profiles.inventory()
        present = await profiles_of(found, self.profiles.keep, kept.links)
        way = way_back(kept, found, present, rolled_back=rolled_back)
        owed = kept.due | {link: uuid for uuid, link in way.activate}
        if way.give_back:
            note(kept, owed)
        refused: list[OrderRefused] = []
        missing = await self._give_back(way, refused)
        due: list[tuple[str, str]] = []
        try:
            for uuid, link in way.activate:
                if uuid in missing:
                    continue
                with _noting(refused):
                    if await self._activate(kept, uuid, link):
                        due.append((uuid, link))
                    del owed[link]
        except Unavailable:
            note(kept, owed)  # a link that is back is not activated again with the next try
            raise
        if not way.empty:
            text = f"Put the profiles from before the {self.what} of {kept.name} back"
            log.warning(text, message=MESSAGE[self.what])
        await self._settled(due)
        if refused:
            note(kept, owed)
            raise refused[0]

    async def _give_back(self, way: WayBack, refused: list[OrderRefused]) -> set[str]:
        """Let the profiles be as before; add to *refused*, and return which ones are not back. Raises Unavailable."""
        for uuid in way.delete:
            with _noting(refused):
                await self.profiles.delete(uuid)
        for link in way.disconnect:
            with _noting(refused):
                await self.profiles.disconnect(link)
        missing = {each.uuid for each in way.give_back}
        for profile in way.give_back:
            with _noting(refused):
                if error := await self.keeper.give_back(profile):
                    log.warning(error.cause, message=error.message, remedy=error.remedy)
                missing.remove(profile.uuid)
        return missing

    def _note(self, kept: Kept, due: dict[str, str]) -> None:
        """Note what is to be activated: once the profiles have their settings again, nothing else shows that.

        A disk that takes no note keeps no network from coming back.
        """
        with suppress(PublishFailed):
            Records(self.files).save(PATH[self.what], record.render(replace(kept, due=due)))

    def end(self, kept: Kept) -> None:
        """Let the network of *kept*, which is back, survive a power cut, and forget it. Raises PublishFailed."""
        self.files.sync(KEYFILES)  # NetworkManager does not, and the record is the only other copy of the profiles
        if self.what is What.TRIAL:
            self._restore_intent(kept)
        self.forget()

    async def started(self) -> None:
        """Return when NetworkManager has ended its start, after PATIENCE_SECONDS at the latest.

        Before that, a link may not have its profile yet, and would be activated a second time.
        """
        end = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while asyncio.get_running_loop().time() < end:
            if await self.manager.state() is ManagerState.READY:
                return
            await asyncio.sleep(PAUSE_SECONDS)

    async def _settled(self, due: list[tuple[str, str]]) -> None:
        """Return when the links of *due* have their profiles, after PATIENCE_SECONDS at the latest. Raises Unavailable.

        The stage nmstate compares the network with the node file then: a link below br-ex cannot be changed by it.
        """
        end = asyncio.get_running_loop().time() + PATIENCE_SECONDS
        while due and asyncio.get_running_loop().time() < end:
            found = await self.profiles.inventory()
            uses = {(each.profile.uuid, each.link) for each in found.devices if each.profile}
            if all(each in uses and each[1] in found.settled for each in due):
                return
            await asyncio.sleep(PAUSE_SECONDS)

    async def _activate(self, kept: Kept, uuid: str, link: str) -> bool:
        """Begin to activate a profile; return whether it begins. Raises Unavailable where that is not certain.

        It refuses a link without a carrier, for as long as that is so: the others, and the records, do not wait.
        """
        try:
            await self.profiles.activate(uuid, link)
        except Unavailable as error:
            found = await self.profiles.inventory(profiles=False)
            if not found.states.get(link, "").startswith(REFUSED):  # it hung, or the bus was away
                raise
            text = f"{link} does not get the profile from before the {self.what} of {kept.name}: {error.cause}"
            log.warning(text, message=MESSAGE[self.what], remedy=f"Run `nmcli connection up {uuid}` when it can")
            return False
        return True

    def _restore_intent(self, kept: Kept) -> None:
        """Make the record of the last apply what it was: the profiles are what they were.

        The stage nmstate applies its file where the network differs from it all the same.
        """
        if kept.intent:
            self.files.write(INTENT, kept.intent.encode(), PRIVATE)
        else:
            self.files.remove(INTENT)

    def forget(self) -> None:
        """Remove what was kept: the trial or the apply is over. Raises PublishFailed."""
        self.files.remove(PATH[self.what])

    def forget_quietly(self) -> None:
        """Do the same where the record does no harm: the node file on disk is the one of the trial."""
        with suppress(PublishFailed):
            self.forget()


@contextmanager
def _noting(refused: list[OrderRefused]) -> Iterator[None]:
    """Note what NetworkManager refuses, and go on."""
    try:
        yield
    except OrderRefused as error:
        refused.append(error)


def _mac(device: Device) -> str:
    """Return its own MAC address: the port of a bond has that of the bond."""
    return device.permanent_mac or device.mac or ""
