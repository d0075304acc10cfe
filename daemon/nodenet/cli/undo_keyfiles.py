"""Puts the keyfiles from before an interrupted change back; ``nodenet-undo.service`` runs it before NetworkManager.

It decides nothing that nodenetd does not decide again: the change stays open, and nodenetd finds nothing left to do.
"""

from __future__ import annotations

import sys
from pathlib import PurePath
from typing import Protocol

import structlog

from nodenet.core.apply import intent
from nodenet.core.change import record
from nodenet.core.change.record import Change
from nodenet.core.change.way_back import keyfiles_back
from nodenet.core.errors import NodenetError
from nodenet.core.messages import Message
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.edge.clock import boot_id
from nodenet.edge.files import disk
from nodenet.edge.systemd import journal

log = structlog.get_logger()

PRIVATE = 0o600


class Disk(Protocol):
    """What is needed of `edge.files.disk`."""

    def listing(self, directory: PurePath) -> tuple[str, ...]:
        """Return the names in *directory*."""

    def read(self, path: PurePath) -> bytes | None:
        """Return a file's bytes, None when it does not exist."""

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:
        """Write a file whole."""

    def remove(self, path: PurePath) -> bool:
        """Remove a file."""

    def sync(self, directory: PurePath) -> None:
        """Let what is in *directory* survive a power cut."""


def main() -> int:
    """Put the keyfiles back; return the exit code. NetworkManager starts whatever it is."""
    journal.configure("nodenetd")
    try:
        put_back(disk, boot_id())
    except (NodenetError, ValueError, OSError) as error:
        log.warning(f"The keyfiles from before a change are not back yet: {error}", message=Message.PUBLISH_FAILED)
        return 1
    return 0


def put_back(files: Disk, boot: str) -> bool:
    """Put back the keyfiles of a change that an earlier boot than *boot* has left open; return whether it did.

    Raises NodenetError, ValueError.
    """
    change = _open_change(files)
    if change is None or change.apply.boot_id == boot:
        return False
    present = {KEYFILES / name: files.read(KEYFILES / name) or b"" for name in files.listing(KEYFILES)}
    written, removed = keyfiles_back(change.before, present)
    for path, content in written.items():
        files.write(path, content, PRIVATE)
    for path in removed:
        files.remove(path)
    if written or removed:
        files.sync(KEYFILES)
        text = f"Put the keyfiles from before the {change.what} of {change.name} back, before NetworkManager reads them"
        log.warning(text, message=Message.CHANGE_UNDONE)
    return bool(written or removed)


def _open_change(files: Disk) -> Change | None:
    content = files.read(record.PATH)
    change = record.parse(content) if content else None
    if change is None:
        return None
    result = files.read(record.RESULT[change.what])
    if record.is_closed(change, intent.parse(result) if result else None):
        return None
    installed = files.read(PurePath(change.installs)) if change.installs else None
    return None if record.is_confirmed(change, installed) else change


if __name__ == "__main__":
    sys.exit(main())
