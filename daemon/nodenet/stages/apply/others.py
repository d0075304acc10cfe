"""How does everything that other programs put on a link get over a change of that link?

Before libnmstate applies a document, it is noted and taken off the links of the change: libnmstate would write it into
profiles. Right after that it is put back, and again after a rollback. The note is a file, so a nodenetd that was killed
in between finds it. What cannot be back yet, because its link is gone, waits there for the link.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Collection, Iterable
from pathlib import PurePosixPath
from typing import Self

import structlog

from nodenet.core.boot.outcome import Facts
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Link
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.open_vswitch import OvsBridge, OvsPort
from nodenet.core.ownership import rule, things
from nodenet.core.ownership.things import NO_OTHERS, Others, Thing
from nodenet.core.value import frozen
from nodenet.ports import Files, Kernel, Manager, Ovsdb, Profiles, Standing
from nodenet.stage_edges import StageEdges

log = structlog.get_logger()

ASIDE = PurePosixPath("/run/nodenet/set-aside.json")
"""What was on links before a change that has not ended."""


@frozen
class OthersOnLinks:
    """What other programs have on the links of this node.

    *vips* are addresses of the cluster: they move with their holder, and are not put back.
    """

    standing: Standing
    kernel: Kernel
    profiles: Profiles
    ovsdb: Ovsdb
    files: Files
    vips: tuple[IPAddress, ...] = ()
    back_seconds: float = 10.0
    """How long NetworkManager may take to have a link as it was after a rollback, or the kernel to take a route."""
    calm_seconds: float = 2.0
    """How long everything must be there after a rollback, whose activations go on after NetworkManager's answer."""
    look_seconds: float = 0.1

    @classmethod
    def of(cls, edges: StageEdges, vips: tuple[IPAddress, ...]) -> Self:
        """Return those of this node."""
        return cls(edges.standing, edges.kernel, edges.profiles, edges.ovsdb, edges.files, vips)

    async def now(self, *, bridges: bool) -> Others:
        """Return what others have on configured links, and on *bridges* of Open vSwitch. Raises Unavailable."""
        rows = await self._bridges() if bridges else ()
        ports, patched = frozenset(rule.foreign_ports(rows)), rule.patched(rows)
        found = self.standing.noted()
        if not found:  # nothing to ask NetworkManager about
            return Others((), ports, patched) if ports else NO_OTHERS
        return Others(things.of_links(found, await self._configured()), ports, patched)

    def on(self, link: str) -> tuple[Thing, ...]:
        """Return what others have on *link*. Raises Unavailable."""
        return things.of_links(self.standing.noted(), {link}, frozenset(map(str, self.vips)))

    async def bring_back(self, found: tuple[Thing, ...]) -> None:
        """Put *found* on a link that NetworkManager has made again. Raises PublishFailed."""
        self._note(found)
        await self.put_back(rolled_back=True)

    @contextlib.asynccontextmanager
    async def set_aside(self, links: Collection[str]) -> AsyncIterator[Collection[str]]:
        """Have nothing of others on *links* while the block runs; put it back once it has ended well.

        If the block raises, the network is rolled back first (``kept``). Patch ports stay: the block gets the bridges
        on which another program has one. Raises Unavailable, PublishFailed before the block.
        """
        patched = rule.patched(await self._bridges()) if links else frozenset()
        self._note(found := await self._found(links))
        self.standing.take(found)
        yield patched
        await self.put_back()

    @contextlib.asynccontextmanager
    async def kept(self, *, if_known: bool = False) -> AsyncIterator[None]:
        """Put back what is on any link now, and what was set aside before, once the block has ended, well or not.

        If the disk takes no note, only a kill during the block loses what is on the links. *if_known*: raise
        Unavailable before the block if the kernel or NetworkManager does not say what there is; an undo cannot wait.
        """
        patches = list(rule.patch_ports(await self._bridges(quiet=True)))
        found: tuple[Thing, ...] = ()
        try:  # what was set aside before is put back all the same
            found = await self._found()
            self._note(found)
        except PublishFailed:
            pass
        except Unavailable:
            if if_known:
                raise
        try:
            yield
        finally:
            await self.put_back(found, rolled_back=True)
            await self._patch_again(patches)

    async def _patch_again(self, patches: Iterable[tuple[str, OvsPort]]) -> None:
        """Put back the patch ports that are gone: NetworkManager's rollback leaves its own ports on a bridge."""
        bridges = {bridge.name: bridge for bridge in await self._bridges(quiet=True)} if patches else {}
        for name, port in patches:
            if name in bridges and port.name not in {each.name for each in bridges[name].ports}:
                try:
                    await self.ovsdb.add_port(name, port)
                except Unavailable as error:
                    text = f"The patch port {port.name} that another program had on {name} is not back: {error.cause}"
                    log.warning(text, message=Message.OTHERS_NOT_BACK, link=name)

    async def _found(self, links: Collection[str] | None = None) -> tuple[Thing, ...]:
        """Return what others have on configured *links* (default: all). Raises Unavailable."""
        there = self.standing.noted()
        wanted = {each.link for each in there} if links is None else links
        candidates = things.of_links(there, wanted, frozenset(map(str, self.vips)))
        return things.of_links(candidates, await self._configured()) if candidates else ()

    def _note(self, found: tuple[Thing, ...]) -> None:
        """Note *found* beside what is noted. Raises PublishFailed."""
        if found:
            self._write((*things.missing(self._noted(), found), *found))

    async def put_back(self, found: tuple[Thing, ...] = (), *, rolled_back: bool = False) -> None:
        """Put back *found* and what is noted; what is noted and has no link stays noted, and comes with the link.

        After a rollback NetworkManager makes links again, and activates profiles on them, when it has answered already:
        then all must be there for ``calm_seconds``.
        """
        noted = self._noted()
        if not (wanted := (*things.missing(noted, found), *found)):
            return
        ports = rule.ports_of_bridges(await self._bridges(quiet=True))
        wanted = tuple(each for each in wanted if each.link not in ports)  # such a link has no configuration any more
        loop = asyncio.get_running_loop()
        until, since = loop.time() + self.back_seconds, loop.time()
        refused: tuple[tuple[Thing, str], ...] = ()
        while loop.time() < until:
            try:
                here = {each.name for each in self.kernel.snapshot().links}
                lacking = things.missing(wanted, self.standing.noted())
                refused = self.standing.put(things.of_links(lacking, here))
            except Unavailable as error:
                log.info(f"What others had on the links waits: {error.cause}", stage="nmstate")
                return
            awaited = lacking if rolled_back else refused
            since = loop.time() if awaited else since
            if not awaited and loop.time() - since >= (self.calm_seconds if rolled_back else 0.0):
                break
            await asyncio.sleep(self.look_seconds)
        for thing, why in refused:
            text = f"The {thing.kind} {thing.name[0]} that another program had on {thing.link} is not back: {why}"
            log.warning(text, message=Message.OTHERS_NOT_BACK, link=thing.link)
        if noted:
            self._note_rest(tuple(each for each in noted if each.link not in {*here, *ports}))

    def _note_rest(self, rest: tuple[Thing, ...]) -> None:
        """Let *rest* be what is noted. A disk that refuses undoes nothing: it is all put back once more later."""
        try:
            self._write(rest)
        except PublishFailed as error:
            text = f"{ASIDE} still names what is back on the links: {error.cause}"
            log.warning(text, message=Message.PUBLISH_FAILED, remedy=error.remedy)

    async def _configured(self) -> frozenset[str]:
        return rule.configured_links((await self.profiles.inventory()).devices)

    async def _bridges(self, *, quiet: bool = False) -> tuple[OvsBridge, ...]:
        try:
            return await self.ovsdb.bridges() if self.ovsdb.answers() else ()
        except Unavailable:
            if quiet:
                return ()
            raise

    def _noted(self) -> tuple[Thing, ...]:
        try:
            content = self.files.read(ASIDE)
            return things.parse(content) if content else ()
        except (PublishFailed, ValueError) as error:
            log.warning(f"{ASIDE} cannot be read: {error}", message=Message.OTHERS_NOT_BACK)
            return ()

    def _write(self, noted: tuple[Thing, ...]) -> None:
        if noted:
            self.files.write(ASIDE, things.render(noted), 0o600)
        else:
            self.files.remove(ASIDE)


TRIES = 5
"""How often everything is put back on one link: the kernel may refuse some, or NetworkManager start once more. Also how
often a link is set up before the node IPs are there."""


class MadeAgain:
    """The link of the node IP on a bridge of Open vSwitch, and what other programs have on it.

    At its start NetworkManager deletes a bridge of Open vSwitch and makes it again, with nothing on it but its own.
    Only the memory of nodenetd has the rest then: all that was there at the last look. A program that changes its
    things itself is right, so something is put back only on a link that is another one than at that look.
    """

    def __init__(self, kernel: Kernel, manager: Manager, profiles: Profiles) -> None:
        """Know nothing yet."""
        self._kernel = kernel
        self._manager = manager
        self._profiles = profiles
        self._link: Link | None = None
        self._things: tuple[Thing, ...] = ()
        self._tries = self._ups = 0

    async def look(self, others: OthersOnLinks, facts: Facts) -> None:
        """Note what *others* have on the link, or put it back where the link was made again; never raises.

        Nothing is known while NetworkManager starts, since it makes the link again in that time, or before the node IPs
        are there, which others may have as the source of their routes.
        """
        selection = facts.selection
        if selection is None or not (facts.bridge or facts.brings_bridge):
            return
        try:
            snapshot = self._kernel.snapshot()
            link = next((each for each in snapshot.links if each.name == selection.link), None)
            if link is None:
                return
            if not {each.address for each in snapshot.addresses}.issuperset(selection.node_ips):
                await self._set_up(link)
                return
            if await self._manager.state() is not ManagerState.READY:
                return
            if self._is_another(link) and self._tries < TRIES:
                self._tries += 1
                await others.bring_back(self._things)
                if things.missing(self._things, others.on(link.name)):
                    return
            self._link, self._things = link, others.on(link.name)
            self._tries = self._ups = 0
        except (Unavailable, PublishFailed) as error:  # looked at again with the next beat
            log.info(f"What others have on br-ex is not known: {error.cause}", stage="nmstate")

    async def _set_up(self, link: Link) -> None:
        """Set *link* up if NetworkManager waits for that. Raises Unavailable."""
        if link.up or self._ups == TRIES:
            return
        if await self._manager.state() not in (ManagerState.STARTING, ManagerState.READY):
            return
        if link.name not in (await self._profiles.inventory(profiles=False)).activating:
            return
        self._ups += 1
        text = f"Set {link.name} up: NetworkManager activates it, and another program had set it down"
        log.warning(text, message=Message.NOTE, stage="nodeip")
        self._kernel.set_up(link.name)

    def _is_another(self, link: Link) -> bool:
        known = self._link
        return bool(self._things) and known is not None and known.name == link.name and known.index != link.index
