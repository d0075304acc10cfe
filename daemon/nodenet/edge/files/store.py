"""How are records kept that a full disk may refuse, and which process changes the node?"""

from __future__ import annotations

import base64
import hashlib
import json
import os
from contextlib import suppress
from pathlib import Path, PurePath, PurePosixPath
from typing import Protocol

from nodenet.core.errors import PublishFailed

PRIVATE = 0o600
COPIES = PurePosixPath("/run/nodenet")


class Disk(Protocol):
    """What a store needs of `edge.files.disk`; every method raises PublishFailed."""

    def read(self, path: PurePath) -> bytes | None:
        """Return a file's bytes, None when it does not exist."""

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:
        """Write a file whole; return whether it differed."""

    def remove(self, path: PurePath) -> bool:
        """Remove a file; return whether it was there."""

    def sync(self, directory: PurePath) -> None:
        """Let what other programs wrote into *directory* survive a power cut."""


class Store:
    """Records, one file each; None stands for a record that is removed.

    A record that is saved ahead of a change is on the disk, or the change does not begin. A record of what has happened
    is true whether or not the disk takes it: it is kept in memory and in /run, and `pay` writes it later. The copy in
    /run names the content that it replaces, so an old copy beside a newer record says nothing.
    """

    def __init__(self, disk: Disk, keyfiles: PurePath) -> None:
        """Write to *disk*; *keyfiles* are synced before a record says how a change has ended."""
        self._disk = disk
        self._keyfiles = keyfiles
        self._known: dict[PurePosixPath, bytes | None] = {}
        """What each record is: read once, since no other program writes one."""
        self._owed: dict[PurePosixPath, bytes | None] = {}

    def read(self, path: PurePosixPath) -> bytes | None:
        """Return the record, None where there is none. Raises PublishFailed."""
        if path not in self._known:
            self._known[path] = self._read(path)
        return self._known[path]

    def _read(self, path: PurePosixPath) -> bytes | None:
        content = self._disk.read(path)
        try:
            copy = json.loads(self._disk.read(_copy(path)) or b"{}")
            if copy.get("instead_of") == _digest(content):  # of an earlier process of this boot
                self._owed[path] = None if copy["content"] is None else base64.b64decode(copy["content"])
                return self._owed[path]
        except (PublishFailed, ValueError, KeyError, TypeError, AttributeError):
            pass  # the record itself is what counts then
        return content

    def save_ahead(self, path: PurePosixPath, content: bytes) -> None:
        """Write a record that must survive a power cut before the network is touched. Raises PublishFailed."""
        self._disk.write(path, content, PRIVATE)
        self._owed.pop(path, None)
        self._known[path] = content
        try:
            self._disk.read(path)  # a record that is too large to be read again is no way back
        except PublishFailed:
            self.save(path, None)
            raise

    def save(self, path: PurePosixPath, content: bytes | None) -> None:
        """Let the record be *content* from now on, whatever the disk says."""
        with suppress(PublishFailed):
            if self.read(path) == content:
                return
        self._owed[path] = self._known[path] = content
        with suppress(PublishFailed):
            copy = None if content is None else base64.b64encode(content).decode()
            named = {"instead_of": _digest(self._disk.read(path)), "content": copy}
            self._disk.write(_copy(path), json.dumps(named).encode(), PRIVATE)
        self.pay()

    def pay(self) -> PublishFailed | None:
        """Write what the disk has not taken yet; return why it does not take it, if so.

        The keyfiles are synced first: NetworkManager syncs neither a new one nor that one is gone, and until the record
        says how the change ended, a power cut leads to its undo.
        """
        if not self._owed:
            return None
        try:
            self._disk.sync(self._keyfiles)
            for path, content in list(self._owed.items()):
                if content is None:
                    self._disk.remove(path)
                else:
                    self._disk.write(path, content, PRIVATE)
                if path not in self._owed or self._owed[path] is not content:
                    continue  # a newer one was saved meanwhile: it is paid already, or still owed with its own copy
                del self._owed[path]
                with suppress(PublishFailed):  # it is about a record that the disk has by now
                    self._disk.remove(_copy(path))
        except PublishFailed as error:
            return error
        return None


def _copy(path: PurePosixPath) -> PurePosixPath:
    return COPIES / f"owed-{path.name}"


def _digest(content: bytes | None) -> str:
    return "" if content is None else hashlib.sha256(content).hexdigest()


LOCKS = Path("/proc/locks")
KIND, PLACE = 1, 5
"""Positions in a line of /proc/locks."""


def is_released(path: Path, locks: Path = LOCKS) -> bool:
    """Return whether the lock file *path* is there and no process holds its flock(2); False where this is not known.

    /proc/locks (proc_locks(5)) has a line `1: FLOCK ADVISORY WRITE 812 00:19:1312 0 EOF` for each lock: the process,
    then the device and the inode of the file.
    """
    try:
        status = path.stat()
        lines = locks.read_text().splitlines()
    except OSError:
        return False
    place = f"{os.major(status.st_dev):02x}:{os.minor(status.st_dev):02x}:{status.st_ino}"
    # The line of a process that waits for a lock has `->` before its kind, which moves its fields.
    fields = (line.split() for line in lines)
    return not any(field[KIND] == "FLOCK" and field[PLACE] == place for field in fields if len(field) > PLACE)
