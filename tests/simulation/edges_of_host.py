"""Clock, files and host name as the daemon reaches them: at the price of some time, and with the errors of a disk."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePath, PurePosixPath

from nodenet.core.errors import NodeFileInvalid, PublishFailed, Unavailable
from nodenet.core.hostname import Source
from simulation.disk import NO_DESCRIPTORS
from simulation.edge import Edge


@dataclass(slots=True)
class Clock(Edge):
    def boottime(self) -> float:
        world = self.world
        return world.timeline.now - world.boot_began + world.slept

    def unix(self) -> float:
        return self.world.wall + self.world.now

    def elsewhere(self) -> float:
        return 0.0


@dataclass(slots=True)
class Files(Edge):
    def listing(self, directory: PurePath) -> tuple[str, ...]:
        if self.world.disk.closed:
            raise Unavailable(f"{directory} cannot be listed: {NO_DESCRIPTORS}")
        return self.world.disk.listing(str(directory))

    def read_node_file(self, directory: PurePath, name: str) -> bytes:
        path = str(directory / name)
        if self.world.disk.closed:
            raise Unavailable(f"{path} cannot be read: {NO_DESCRIPTORS}")
        if path in self.world.disk.unreadable:
            raise NodeFileInvalid(f"{path} cannot be read: Input/output error", remedy="Correct or remove it")
        return self.world.disk.content[path]

    def read(self, path: PurePath) -> bytes | None:
        disk, where = self.world.disk, str(path)
        if disk.closed or where in disk.unreadable:
            why = NO_DESCRIPTORS if disk.closed else "Input/output error"
            raise PublishFailed(f"{path} cannot be read: {why}", remedy="Look at `journalctl -k`")
        return disk.read(where)

    def leads_to(self, path: PurePath) -> PurePosixPath | None:
        return self.world.disk.links.get(str(path))

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:  # noqa: ARG002
        disk, where = self.world.disk, str(path)
        if disk.content.get(where) == content and where not in disk.links and not disk.closed:
            return False
        self._change("write", where)
        disk.links.pop(where, None)
        disk.writes.append(where)
        self.world.rules.written(where, content)
        disk.write_synced(where, content)
        self.life.step("files.written")
        return True

    def remove(self, path: PurePath) -> bool:
        disk, where = self.world.disk, str(path)
        if where not in disk.content:
            return False
        self._change("remove", where)
        disk.writes.append(where)
        self.world.rules.written(where, None)
        if disk.closed:
            disk.write_unsynced(where, None)
            raise PublishFailed(f"{path} cannot be removed: {NO_DESCRIPTORS}", remedy="Look at `journalctl -k`")
        disk.write_synced(where, None)
        self.life.step("files.removed")
        return True

    def rename(self, path: PurePath, target: PurePath) -> None:
        disk, old, new = self.world.disk, str(path), str(target)
        self.life.step("files.rename")
        if why := disk.why_not(new, removes=True):
            raise PublishFailed(f"{target} cannot be replaced: {why}", remedy="Look at `df -h`")
        content = disk.content[old]
        disk.writes += [old, new]
        self.world.rules.written(new, content)
        if disk.closed:
            disk.write_unsynced(new, content)
            disk.write_unsynced(old, None)
            raise PublishFailed(f"{target} cannot be replaced: {NO_DESCRIPTORS}", remedy="Look at `journalctl -k`")
        disk.write_synced(new, content)
        disk.write_synced(old, None)
        self.life.step("files.renamed")

    def sync(self, directory: PurePath) -> None:
        self.life.step("files.sync")
        if why := self.world.disk.why_not(f"{directory}/"):
            raise PublishFailed(f"{directory} cannot be synced: {why}", remedy="Look at `df -h`")
        self.world.disk.sync(f"{directory}/")
        self.life.step("files.synced")

    def _change(self, what: str, path: str) -> None:
        self.life.step(f"files.{what}")
        if why := self.world.disk.why_not(path, removes=what == "remove"):
            self.world.disk.kept_back.add(path)
            raise PublishFailed(f"{path} cannot be written: {why}", remedy="Look at `df -h`")


@dataclass(slots=True)
class Host(Edge):
    def name(self) -> str:
        return self.world.static_name or self.world.transient_name

    async def take(self, name: str) -> str | None:
        try:
            await self.bus("host.take")
        except Unavailable as error:
            return error.cause
        self.world.transient_name = name
        return None


@dataclass(slots=True)
class LeaseNames(Edge):
    async def names(self) -> tuple[Source, ...]:
        return ()
