"""Who is told the node IPs, and has systemd read what was written for it?"""

from __future__ import annotations

from pathlib import PurePosixPath

from nodenet.core.errors import PublishFailed
from nodenet.core.node_ip import published_files
from nodenet.core.node_ip.published_files import Publication, PublishedFile
from nodenet.ports import Files, Systemd

RELOAD_OWED = PurePosixPath("/run/nodenet/reload-owed")
"""Stands while a drop-in was written and systemd has not read it: a daemon that was killed then reloads later."""


class Publisher:
    """Writes what differs, and nothing else."""

    def __init__(self, files: Files, systemd: Systemd) -> None:
        """Write through *files*, for *systemd* and others."""
        self._files = files
        self._systemd = systemd

    def write(self, wanted: Publication, *, bridge: bool) -> tuple[list[PublishFailed], bool]:
        """Write each file, and br-ex's if the node file brings that *bridge*.

        Return what could not be written, and whether all is there that systemd reads.
        """
        lost: list[PublishFailed] = []
        files = published_files.files(wanted)
        if bridge:
            files = (PublishedFile(published_files.BRIDGE_UP, b""), *files)
        complete = self._write([file for file in files if file.unit], lost)
        self._write([file for file in files if not file.unit], lost)
        return lost, complete

    def _write(self, files: list[PublishedFile], lost: list[PublishFailed]) -> bool:
        """Write every file that differs; one that cannot be written does not stop the others. Tell if all were."""
        before = len(lost)
        for file in files:
            try:
                if file.unit and self._files.read(file.path) != file.content:
                    self._files.write(RELOAD_OWED, b"")
                if file.content is None:
                    self._files.remove(file.path)
                else:
                    self._files.write(file.path, file.content)
            except PublishFailed as error:
                lost.append(error)
        return len(lost) == before

    async def let_systemd_read(self) -> None:
        """Have the drop-ins read if they differ from what systemd knows. Raises PublishFailed."""
        if self._files.read(RELOAD_OWED) is not None:
            await self._systemd.reload()
            self._files.remove(RELOAD_OWED)
