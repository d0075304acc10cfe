"""How are the node IPs published, and does systemd start kubelet and CRI-O with them?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from nodenet.core.errors import NodenetError, PublishFailed, Unavailable
from nodenet.core.node_ip import kubelets, published_files
from nodenet.core.node_ip.kubelets import Wiring
from nodenet.core.node_ip.published_files import Publication, PublishedFile
from nodenet.core.node_ip.unit_environment import Override, UnitEnvironment, overrides, passes_arguments
from nodenet.ports import Files, Systemd

RELOAD_OWED = PurePosixPath("/run/nodenet/reload-owed")
"""Exists while a drop-in was written and systemd has not read it: the next daemon reloads systemd then."""


class Publisher:
    """Writes what differs, and nothing else."""

    def __init__(self, files: Files, systemd: Systemd) -> None:
        """Write through *files*, and have *systemd* read it."""
        self._files = files
        self._systemd = systemd
        self._unwritten: set[PurePosixPath] = set()
        """The files that could not be written last, and that systemd does not read."""
        self.wiring = Wiring()
        """What the units of this node need, when they were looked at last."""

    async def look(self) -> None:
        """Look at the units of kubelets; while systemd does not answer, what was seen last holds.

        ``let_systemd_read`` reports that, so that kubelet does not start without arguments that it needs.
        """
        try:
            found = {unit: await self._systemd.environment(unit) for unit in (kubelets.KUBELET, *kubelets.RANCHER)}
        except Unavailable:
            return
        variable = None
        if seen := found.pop(kubelets.KUBELET):
            expanded, contents = self._sources(seen)
            variable = passes_arguments(expanded, contents, published_files.KUBELET_DROP_IN)
        rancher = [(unit, not kubelets.has_node_ip(seen.command)) for unit, seen in found.items() if seen]
        self.wiring = Wiring(variable, tuple(rancher))

    def contents(self) -> dict[PurePosixPath, bytes | None]:
        """Return the files that name node IPs; one that cannot be read names none, and ``write`` reports it."""
        return {path: self._content(path) for path in published_files.NAMES_NODE_IPS}

    def write(self, wanted: Publication, *, bridge: bool) -> tuple[list[PublishFailed], bool]:
        """Write each file, and br-ex's if the node file brings that *bridge*.

        Return what could not be written, and whether all files are there that systemd reads.
        """
        lost: list[PublishFailed] = []
        self._unwritten.clear()
        files = self._files_of(wanted)
        if bridge:
            files = (PublishedFile(published_files.BRIDGE_UP, b""), *files)
        complete = self._write([file for file in files if file.unit], lost)
        self._write([file for file in files if not file.unit], lost)
        return lost, complete

    def write_rest(self, kept: Publication) -> list[PublishFailed]:
        """Write what differs of *kept*, which kubelet runs with, but the drop-ins; return what could not be written."""
        lost: list[PublishFailed] = []
        self._unwritten.clear()
        self._write([file for file in published_files.files(kept) if not file.unit], lost)
        return lost

    def _write(self, files: list[PublishedFile], lost: list[PublishFailed]) -> bool:
        """Write every file that differs, also after one that cannot be written; return whether all were written."""
        before = len(lost)
        for file in files:
            try:
                if file.drop_in and self._files.read(file.path) != file.content:
                    self._files.write(RELOAD_OWED, b"")
                if file.content is None:
                    self._files.remove(file.path)
                else:
                    self._files.write(file.path, file.content)
            except PublishFailed as error:
                lost.append(error)
                if not file.unit:
                    self._unwritten.add(file.path)
        return len(lost) == before

    def as_written(self, wanted: Publication) -> PurePosixPath | None:
        """Return the first published file that is not as *wanted*, None when all are.

        A file that could not be written is a problem of the stage already: kubelet starts without it.
        """
        files = [file for file in self._files_of(wanted) if file.path not in self._unwritten]
        return next((file.path for file in files if self._files.read(file.path) != file.content), None)

    async def let_systemd_read(self, wanted: Publication) -> tuple[Override, ...]:
        """Have systemd read the drop-ins if it has to, and return which of their variables another file overrides.

        Raises PublishFailed or Unavailable when systemd does not start the units with them for any other reason.
        """
        reloaded = self._files.read(RELOAD_OWED) is not None
        if reloaded:
            await self._systemd.reload()
        found = await self.overrides(wanted)
        if not reloaded and any(override.source is None for override in found):
            await self._systemd.reload()
            found = await self.overrides(wanted)
        if unread := _unread(found):
            raise PublishFailed(
                f"systemd has not read {published_files.KUBELET_DROP_IN.name}: {unread[0]}",
                remedy=f"Look at `systemctl cat {unread[0].unit}`, then run `systemctl daemon-reload`",
            )
        self._files.remove(RELOAD_OWED)
        return found

    async def overrides(self, wanted: Publication) -> tuple[Override, ...]:
        """Return the published variables with which systemd would not start kubelet or CRI-O. Raises Unavailable."""
        found: list[Override] = []
        for file in self._files_of(wanted):
            seen = await self._systemd.environment(file.unit) if file.unit and file.drop_in else None
            if file.unit and seen is not None:
                found += overrides(file.unit, file, *self._sources(seen))
        return tuple(found)

    def _files_of(self, wanted: Publication) -> tuple[PublishedFile, ...]:
        """Return the files of *wanted* as the units of this node need them."""
        return published_files.files(replace(wanted, wiring=self.wiring))

    def _sources(self, seen: UnitEnvironment) -> tuple[UnitEnvironment, dict[PurePosixPath, bytes | None]]:
        """Return *seen* with the environment files that its patterns mean, and the contents of all its files."""
        expanded = replace(seen, files=tuple(self._expanded(seen.files)))
        return expanded, {path: self._content(path) for path in expanded.sources}

    def _expanded(self, patterns: Iterable[PurePosixPath]) -> Iterable[PurePosixPath]:
        """Yield the files that *patterns* of EnvironmentFile= mean, in order (glob(7))."""
        for pattern in patterns:
            if not any(sign in pattern.name for sign in "*?["):
                yield pattern
                continue
            for name in sorted(self._files.listing(pattern.parent)):
                if fnmatchcase(name, pattern.name):
                    yield pattern.parent / name

    def _content(self, path: PurePosixPath) -> bytes | None:
        try:
            return self._files.read(path)
        except NodenetError:
            return None  # a directory, or an administrator's file that nodenetd must not read: what it sets is unknown


def _unread(found: Iterable[Override]) -> list[Override]:
    return [override for override in found if override.unread]
