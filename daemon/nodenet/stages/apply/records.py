"""Which records are kept from boot to boot, and what is done with a record that cannot be read?"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import PurePosixPath
from typing import TypeVar

import structlog

from nodenet.core.errors import PublishFailed
from nodenet.core.messages import Message
from nodenet.ports import Files

log = structlog.get_logger()

STATE = PurePosixPath("/var/lib/nodenet")
INTENT = STATE / "intent.json"
ENDED = PurePosixPath("/run/nodenet/intent.json")
"""How the last apply of a node file has ended, where INTENT may not say so; `stages.apply.last_record`."""
BRIDGE_INTENT = STATE / "bridge-intent.json"
BRIDGE = STATE / "bridge.json"
OFPORTS = STATE / "ofports.json"
"""Which OpenFlow port number each link below a bridge keeps; `core.open_vswitch.ofports`."""
NEW_FILE = STATE / "trial.json"
"""How often a new node file was booted with; `core.apply.new_file`."""
TRIAL = STATE / "try.json"
"""The network from before a trial that has not ended."""
APPLY = STATE / "apply.json"
"""The network from before an apply of a node file that has not ended."""
PRIVATE = 0o600

T = TypeVar("T")


class Records:
    """Small files under /var/lib/nodenet, each with its version inside."""

    def __init__(self, files: Files) -> None:
        """Read and write through *files*."""
        self._files = files

    def load(self, path: PurePosixPath, parse: Callable[[bytes], T]) -> T | None:
        """Return the record, None when there is none; one that *parse* refuses (ValueError) is set aside.

        Raises PublishFailed where the disk does not say what there is.
        """
        content = self._files.read(path)
        if not content:
            return None
        try:
            return parse(content)
        except ValueError as error:
            with suppress(PublishFailed):  # on a disk that is full it is the next boot that sets it aside
                self._set_aside(path, content, error)
            return None

    def _set_aside(self, path: PurePosixPath, content: bytes, error: Exception) -> None:
        aside = path.with_suffix(".unreadable")
        self._files.write(aside, content, PRIVATE)
        self._files.remove(path)
        log.warning(f"Set {path} aside as {aside.name}: {error}", message=Message.RECORD_UNREADABLE, path=str(path))

    def save(self, path: PurePosixPath, content: bytes) -> None:
        """Write the record whole. Raises PublishFailed."""
        self._files.write(path, content, PRIVATE)
