"""Which settings files does this node have?

Settings decide what a daemon of root does, so files that another user can write are refused.
"""

from __future__ import annotations

import os
import stat

from nodenet.core.errors import NodenetError, SettingsInvalid, Unavailable
from nodenet.edge.files.node_file import PASSING, USES_TOO_MUCH

DIRECTORY = "/etc/nodenet"
MAX_BYTES = 1 << 20


def read(directory: str = DIRECTORY) -> list[tuple[str, bytes]]:
    """Return (path, content) of `nodenet.toml` and of its drop-ins by name, in order.

    Raises SettingsInvalid, and Unavailable where the kernel cannot open a file at the moment.
    """
    first = f"{directory}/nodenet.toml"
    drop_ins = f"{first}.d"
    paths = [first, *(f"{drop_ins}/{name}" for name in _names(drop_ins) if name.endswith(".toml"))]
    return [(path, content) for path in paths if (content := _content(path)) is not None]


def _names(directory: str) -> list[str]:
    try:
        return sorted(name for name in os.listdir(directory) if not name.startswith("."))  # noqa: PTH208
    except FileNotFoundError:
        return []
    except OSError as error:
        raise _unreadable(directory, error) from error


def _content(path: str) -> bytes | None:
    try:
        # O_NONBLOCK: a FIFO of that name must not hang the boot.
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise _unreadable(path, error) from error
    try:
        _check(path, os.fstat(descriptor))
        content = os.pread(descriptor, MAX_BYTES + 1, 0)
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(descriptor)
    if len(content) > MAX_BYTES:
        raise SettingsInvalid(f"{path} is larger than 1 MiB", remedy="Settings are a few lines; look at its content")
    return content


def _check(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SettingsInvalid(f"{path} is not a regular file", remedy=f"Remove {path} or make it a file")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise SettingsInvalid(f"{path} is writable by others than root", remedy=f"Run: chmod go-w {path}")
    if status.st_uid not in (0, os.geteuid()):
        raise SettingsInvalid(f"{path} belongs to uid {status.st_uid}", remedy=f"Run: chown root {path}")


def _unreadable(path: str, error: OSError) -> NodenetError:
    cause = f"{path} cannot be read: {error.strerror}"
    if error.errno in PASSING:
        return Unavailable(cause, remedy=USES_TOO_MUCH)
    return SettingsInvalid(cause, remedy="Correct or remove it")
