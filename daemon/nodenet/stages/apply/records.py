"""Which records are kept from boot to boot, and what is done with a record that cannot be read?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TypeVar

import structlog

from nodenet.core.change import record
from nodenet.core.errors import NodenetError, PublishFailed
from nodenet.core.messages import Message
from nodenet.core.node_ip.published_files import PRIMARY, RUN
from nodenet.ports import Files, Store

log = structlog.get_logger()

STATE = record.STATE
CHANGE = record.PATH
"""The change of the network that is open, and the network before it; `core.change`."""
INTENT = record.RESULT[record.What.NODE_FILE]
"""How the last apply of a node file has ended."""
BRIDGE_INTENT = record.RESULT[record.What.BRIDGE]
BRIDGE = STATE / "bridge.json"
OFPORTS = STATE / "ofports.json"
"""Which OpenFlow port number each link below a bridge keeps; `core.open_vswitch.ofports`."""
NEW_FILE = STATE / "boots.json"
"""How often a new node file was booted with; `core.apply.new_file`."""
PRIVATE = 0o600

T = TypeVar("T")


class Records:
    """Small files under /var/lib/nodenet, each with its version inside."""

    def __init__(self, files: Files, store: Store | None = None) -> None:
        """Read and write through *store*, which has what the disk has not taken yet; without one, through *files*."""
        self._files = files
        self._store = store

    def load(self, path: PurePosixPath, parse: Callable[[bytes], T]) -> T | None:
        """Return the record, None when there is none; one that *parse* refuses (ValueError) is set aside.

        Raises PublishFailed where the disk does not say what there is.
        """
        content = (self._store or self._files).read(path)
        if not content:
            return None
        try:
            return parse(content)
        except ValueError as error:
            aside = path.with_suffix(".unreadable")
            with suppress(PublishFailed):  # on a disk that is full it is the next boot that sets it aside
                self._files.write(aside, content, PRIVATE)
                self._files.remove(path)
                text = f"Set {path} aside as {aside.name}: {error}"
                log.warning(text, message=Message.RECORD_UNREADABLE, path=str(path))
            if self._store:
                self._store.save(path, None)
            return None

    def save(self, path: PurePosixPath, content: bytes) -> None:
        """Write the record whole. Raises PublishFailed where there is no store."""
        if self._store:
            self._store.save(path, content)
        else:
            self._files.write(path, content, PRIVATE)


def has_published(files: Files) -> bool:
    """Return whether a node IP was published in this boot; if the directory cannot be read, none was."""
    try:
        return PRIMARY.name in files.listing(RUN)
    except NodenetError as error:
        log.debug("It is not known whether a node IP was published", stage="nodeip", cause=error.cause)
        return False
