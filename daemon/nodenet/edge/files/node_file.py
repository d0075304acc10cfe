"""How is a node file read, so that root applies only what root wrote?"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePath
from typing import BinaryIO

from nodenet.core.errors import NodeFileInvalid, NodenetError, Unavailable

MAX_BYTES = 1 << 20
_OTHERS_WRITE = stat.S_IWGRP | stat.S_IWOTH
PASSING = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN, errno.EINTR})
"""Errors that say something about the daemon or the kernel, and nothing about the file (open(2))."""
USES_TOO_MUCH = "See which process uses so much (`ls /proc/*/fd`, `free`)"


def listing(directory: PurePath) -> tuple[str, ...]:
    """Return the names in *directory* in order, none when it does not exist. Raises NodeFileInvalid, Unavailable."""
    try:
        with os.scandir(directory) as entries:
            return tuple(sorted(entry.name for entry in entries))
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise _failed(f"{directory} cannot be listed", error, "Make it a directory") from error


def read_node_file(directory: PurePath, name: str) -> bytes:
    """Return the bytes of the node file *name*; a link is followed as long as it stays inside *directory*.

    Root applies what it says, so it must be a regular file that only root can write. What is checked is what is
    read, whatever happens to the name meanwhile. Raises NodeFileInvalid naming the file and the remedy, Unavailable.
    """
    content, distrust = look(directory, name)
    if distrust:
        raise distrust[0]
    return content


def look(directory: PurePath, name: str) -> tuple[bytes, tuple[NodeFileInvalid, ...]]:
    """Return the bytes of a node file, and every reason not to trust it. Raises NodeFileInvalid, Unavailable."""
    path = directory / name
    if "/" in name or "\0" in name or name in ("", ".", ".."):
        raise NodeFileInvalid(f"{name!r} is not a file name", remedy="Give the node a host name without '/' and '..'")
    try:
        with _pinned(directory, os.O_DIRECTORY) as inside, _pinned(path) as found:
            distrust = tuple(_distrust(path, inside, found))
            if not stat.S_ISREG(os.fstat(found).st_mode):
                irregular = NodeFileInvalid(f"{path} is not a regular file", remedy="Replace it by the file itself")
                raise next(iter(distrust), irregular)
            with Path(f"/proc/self/fd/{found}").open("rb") as file:
                content = whole(path, file)
    except OSError as error:
        raise _failed(f"{path} cannot be read", error, "Correct or remove it") from error
    return content, distrust


def whole(what: object, file: BinaryIO) -> bytes:
    """Return all that *file* has. Raises NodeFileInvalid naming *what* when it is larger than a node file may be."""
    content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise NodeFileInvalid(f"{what} is larger than {MAX_BYTES >> 10} KiB", remedy="Look whether it is a node file")
    return content


def _failed(what: str, error: OSError, remedy: str) -> NodenetError:
    cause = f"{what}: {error.strerror}"
    if error.errno in PASSING:
        return Unavailable(cause, remedy=USES_TOO_MUCH)
    return NodeFileInvalid(cause, remedy=remedy)


@contextmanager
def _pinned(path: PurePath, flags: int = 0) -> Iterator[int]:
    """Hold what *path* leads to. O_PATH (open(2)): opening has no effect, even on a device or a FIFO."""
    descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC | flags)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def _distrust(path: PurePath, inside: int, found: int) -> Iterator[NodeFileInvalid]:
    """Yield why the open file *found* cannot be trusted as part of the directory *inside*."""
    home, real = (os.readlink(f"/proc/self/fd/{descriptor}") for descriptor in (inside, found))  # noqa: PTH115
    if not real.startswith(home.rstrip("/") + "/"):
        yield NodeFileInvalid(f"{path} is a link out of {path.parent}", remedy="Put the file itself there")
    for what, where in ((os.fstat(found), path), (os.fstat(inside), path.parent)):
        if what.st_uid not in (0, os.geteuid()):
            yield NodeFileInvalid(f"{where} belongs to uid {what.st_uid}", remedy=f"Run: chown root {where}")
        if what.st_mode & _OTHERS_WRITE:
            yield NodeFileInvalid(f"{where} is writable by others than root", remedy=f"Run: chmod go-w {where}")
