"""What is in a report archive, also in one that was unpacked? Read with limits: a torn or hostile one costs its parts.

Nothing is written and no link is followed, so no name in an archive can lead anywhere.
"""

from __future__ import annotations

import gzip
import os
import stat
import tarfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO

from nodenet.core.errors import UsageInvalid
from nodenet.core.value import frozen

FOLDERS = ("node-files", "records")
"""Folders of an archive; others are not in one."""
NO_ARCHIVE = "Give the file that `nodenetctl report` has written"
_DAMAGED = (OSError, EOFError, tarfile.TarError, zlib.error, ValueError, OverflowError, RecursionError)


@frozen
class Limits:
    """How much is read: bytes of a document, bytes of an uncompressed archive, entries of an archive or a folder.

    An archive of `nodenetctl report` has 64 MiB at most, one of its parts 24 MiB, and fewer than 200 parts.
    """

    document: int = 32 << 20
    archive: int = 160 << 20
    entries: int = 1000


class TooLarge(Exception):
    """An archive or a document has more bytes than are read."""


LIMITS = Limits()
Wanted = Callable[[str, Mapping[str, bytes]], bool]
"""Is this part wanted beside those that were read?"""
Enough = Callable[[Mapping[str, bytes]], bool]
"""Is everything read that is wanted?"""


def unpacked(path: Path, limits: Limits = LIMITS) -> tuple[dict[str, bytes], tuple[str, ...]]:
    """Return the files of an archive, without its top directory, and what is wrong with it.

    *path* may be the folder of an archive that was unpacked. Raises UsageInvalid if nothing can be read.
    """
    files, problems = parts_of_folder(path, limits) if path.is_dir() else parts(str(path), limits)
    if not files:
        words = "; ".join(problems) or "nothing is in it"
        raise UsageInvalid(f"{path} is no readable archive: {words}", remedy=NO_ARCHIVE)
    return files, tuple(f"The archive is not whole: {each}." for each in problems)


def parts(
    path: str, limits: Limits, wanted: Wanted = lambda _, __: True, enough: Enough = lambda _: False
) -> tuple[dict[str, bytes], list[str]]:
    """Return the *wanted* parts of an archive, until there are *enough*, and what is wrong with it. Never raises."""
    documents: dict[str, bytes] = {}
    problems: list[str] = []
    try:
        with opened(path) as file, gzip.GzipFile(fileobj=file) as stream:
            for name, content in _members(stream, limits):
                if not wanted(name, documents):
                    continue
                if content is None:
                    problems.append(f"{name} is no file in the archive")
                    continue
                problems += _taken(name, content, limits, documents)
                if enough(documents):
                    break
    except TooLarge as error:
        problems.append(str(error))
    except _DAMAGED as error:
        problems.append(f"the archive is torn or damaged: {_words(error)}")
    return documents, list(dict.fromkeys(problems))


def _members(stream: gzip.GzipFile, limits: Limits) -> Iterator[tuple[str, IO[bytes] | None]]:
    """Yield each part and its content, None if it is no file. Raises TooLarge, and what is in _DAMAGED."""
    with tarfile.open(fileobj=_Limited(stream, limits.archive), mode="r|") as archive:  # type: ignore[call-overload]  # read is enough
        for number, member in enumerate(archive, 1):
            archive.members = []  # a stream needs no list of what was read
            if number > limits.entries:
                raise TooLarge(f"more than {limits.entries} parts: the rest is not read")
            top, _, name = member.name.partition("/")
            if top not in ("", ".", "..") and name:
                yield name, archive.extractfile(member) if member.isreg() else None


def _taken(name: str, content: IO[bytes], limits: Limits, documents: dict[str, bytes]) -> list[str]:
    try:
        documents[name] = bounded(content, name, limits.document)
    except TooLarge as error:
        return [str(error)]
    return []


def parts_of_folder(
    folder: Path, limits: Limits, wanted: Wanted = lambda _, __: True
) -> tuple[dict[str, bytes], list[str]]:
    """Return the *wanted* parts of an archive that was unpacked, and what is wrong with it. Never raises."""
    names: list[str] = []
    problems: list[str] = []
    for inner in ("", *(f"{each}/" for each in FOLDERS)):
        try:
            if (folder / inner).is_symlink():
                continue
            with os.scandir(folder / inner) as found:
                names += sorted(f"{inner}{each.name}" for each in found if not each.is_dir(follow_symlinks=False))
        except OSError as error:
            problems += [] if inner else [f"it cannot be listed: {error.strerror}"]
    if len(names) > limits.entries:
        problems.append(f"more than {limits.entries} files: the rest is not read")
    documents: dict[str, bytes] = {}
    chosen = (name for name in names[: limits.entries] if wanted(name, documents))
    problems += files_of(((name, f"{folder}/{name}") for name in chosen), limits, documents)
    return documents, list(dict.fromkeys(problems))


def files_of(paths: Iterable[tuple[str, str]], limits: Limits, documents: dict[str, bytes]) -> list[str]:
    """Fill *documents* from files, by name and path; return what is wrong with them."""
    problems: list[str] = []
    left = limits.archive
    for name, path in paths:
        try:
            with opened(path) as file:
                documents[name] = bounded(file, path.rpartition("/")[2], min(limits.document, left))
            left -= len(documents[name])
        except TooLarge as error:
            problems.append(str(error))
        except OSError as error:
            problems.append(f"{path.rpartition('/')[2]} cannot be read: {error.strerror}")
    return problems


def opened(path: str) -> IO[bytes]:
    """Return the regular file *path*: a pipe or a device would block, a link may lead anywhere. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is no regular file")
    return os.fdopen(descriptor, "rb")


def bounded(file: IO[bytes], name: str, most: int) -> bytes:
    """Return what is in *file*, *most* bytes. Raises TooLarge if there is more."""
    content = file.read(most + 1)
    if len(content) > most:
        raise TooLarge(f"{name} is larger than {most >> 20} MiB")
    return content


class _Limited:
    """The uncompressed bytes of an archive; it raises TooLarge after *most* of them.

    Its end can be read once. `tarfile` skips a member by reading, and never ends where the header claims exabytes.
    """

    def __init__(self, stream: gzip.GzipFile, most: int) -> None:
        self._stream = stream
        self._most = self._left = most
        self._ended = False

    def read(self, size: int) -> bytes:
        """Return at most *size* bytes. Raises TooLarge, EOFError behind the end."""
        if self._ended:
            raise EOFError("it ends inside a member")
        content = self._stream.read(min(size, self._left + 1))
        self._ended = not content
        self._left -= len(content)
        if self._left < 0:
            raise TooLarge(f"more than {self._most >> 20} MiB: the rest is not read")
        return content


def _words(error: Exception) -> str:
    """Return what is wrong in one short line: the text may come from the archive."""
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:120]
