"""What is saved of each node in a directory? Read with limits: nothing is unpacked, no link is followed.

A node is a report archive, an archive that was unpacked, or JSON files: ``worker-0.json``, ``worker-0.snapshot.json``
and ``worker-0.state.json``, or a folder ``worker-0`` with ``snapshot.json`` and ``state.json``.
"""

from __future__ import annotations

import gzip
import os
import re
import stat
import tarfile
import zlib
from collections.abc import Iterator
from dataclasses import field
from typing import IO

from nodenet.core.errors import UsageInvalid
from nodenet.core.report.parts import CONTENTS
from nodenet.core.value import frozen

WANTED = (CONTENTS, "status.json", "status.txt", "settings.txt", "snapshot.json", "boot-report.txt")
"""Parts of a report that say what a node is. They are its first parts."""
LATE = "ip-address.txt"
"""It has the MTU of links; snapshots of older versions have none. The journals are before it."""
DEEPEST = 3
NODE_FILES = "node-files/"
MOST_NODE_FILES = 20
"""Of one report: a node has all files of its cluster, and its own ones are first."""
_KIND = re.compile(r"(?:^|[._-])(snapshot|state|status)$")
_ARCHIVES = (".tar.gz", ".tgz")
_DAMAGED = (OSError, EOFError, tarfile.TarError, zlib.error, ValueError, RecursionError)


class _TooLarge(Exception):
    """An archive or a document has more bytes than are read."""


@frozen
class Limits:
    """How much is read: bytes of a document, bytes of an uncompressed archive, entries of all folders.

    An archive of `nodenetctl report` has 64 MiB at most.
    """

    document: int = 8 << 20
    archive: int = 160 << 20
    entries: int = 200_000


LIMITS = Limits()


@frozen
class Saved:
    """What was found of one node: *name* is how its files are named. *problems* is what could not be read, and why."""

    name: str
    place: str
    documents: dict[str, bytes] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def nodes(directory: str, limits: Limits = LIMITS) -> Iterator[Saved]:
    """Yield what is saved of each node below *directory*, in the order of the names. Raises UsageInvalid."""
    try:
        os.scandir(directory).close()
    except OSError as error:
        raise UsageInvalid(f"{directory} cannot be listed: {error.strerror}") from error
    yield from _Reading(limits).folder(directory, "", DEEPEST)


class _Reading:
    """One look at a directory, within the limits."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._entries = limits.entries

    def folder(self, path: str, inner: str, deeper: int) -> Iterator[Saved]:
        """Yield the nodes of a folder; *inner*: its name below the directory of the fleet."""
        try:
            with os.scandir(path) as found:
                entries = sorted(found, key=lambda entry: entry.name)
        except OSError as error:
            yield Saved("", inner, problems=(f"cannot be listed: {error.strerror}",))
            return
        names = {entry.name for entry in entries}
        if inner and CONTENTS in names:
            yield self._read(_last(inner), inner, {name: f"{path}/{name}" for name in (*WANTED, LATE) if name in names})
            return
        self._entries -= len(entries)
        if self._entries < 0:
            yield Saved("", inner or path, problems=(f"more than {self._limits.entries} files: these are left out",))
            return
        files: dict[str, dict[str, str]] = {}
        for entry in entries:
            if not entry.is_symlink() and entry.name.endswith(".json"):
                name, kind = _named(entry.name, inner)
                files.setdefault(name, {})[kind] = entry.path
            else:
                yield from self._entry(entry, f"{inner}/{entry.name}" if inner else entry.name, deeper)
        for name, documents in sorted(files.items()):
            yield self._read(name, f"{inner}/{name}" if inner else name, documents)

    def _entry(self, entry: os.DirEntry[str], place: str, deeper: int) -> Iterator[Saved]:
        """Yield the nodes of an entry that is no JSON file; what has nothing to do with a node yields nothing."""
        if entry.is_symlink():
            yield Saved("", place, problems=("a link, which is not followed",))
        elif entry.is_dir(follow_symlinks=False):
            if deeper and not entry.name.startswith("."):
                yield from self.folder(entry.path, place, deeper - 1)
        elif entry.name.endswith(_ARCHIVES):
            yield self._archive(entry.path, place)

    def _read(self, name: str, place: str, paths: dict[str, str]) -> Saved:
        documents: dict[str, bytes] = {}
        problems: list[str] = []
        for kind, path in paths.items():
            try:
                with _opened(path) as file:
                    documents[kind] = _bounded(file, _last(path), self._limits.document)
            except _TooLarge as error:
                problems.append(str(error))
            except OSError as error:
                problems.append(f"{_last(path)} cannot be read: {error.strerror}")
        return Saved(name, place, documents, tuple(problems))

    def _archive(self, path: str, place: str) -> Saved:
        name = _last(path)
        name = next(name.removesuffix(end) for end in _ARCHIVES if name.endswith(end))
        documents: dict[str, bytes] = {}
        problems: list[str] = []
        try:
            with _opened(path) as file, gzip.GzipFile(fileobj=file) as stream:
                self._parts(stream, documents, problems)
        except _TooLarge as error:
            problems.append(str(error))
        except _DAMAGED as error:
            problems.append(f"the archive is torn or damaged: {_words(error)}")
        if not documents and not problems:
            problems.append("it is no archive of `nodenetctl report`")
        return Saved(name, place, documents, tuple(problems))

    def _parts(self, stream: gzip.GzipFile, documents: dict[str, bytes], problems: list[str]) -> None:
        """Fill *documents* from an archive, until everything is there that is wanted. Raises what is in _DAMAGED."""
        needed = set(WANTED) - {CONTENTS}
        with tarfile.open(fileobj=_Limited(stream, self._limits.archive), mode="r|") as archive:  # type: ignore[call-overload]  # read is enough
            for member in archive:
                archive.members = []  # a stream needs no list of what was read
                top, _, name = member.name.partition("/")
                if top in ("", ".", "..") or not _is_wanted(name, documents):
                    continue
                content = archive.extractfile(member) if member.isreg() else None
                if content is None:
                    problems.append(f"{name} is no file in the archive")
                    continue
                try:
                    documents[name] = _bounded(content, name, self._limits.document)
                except _TooLarge as error:
                    problems.append(str(error))
                needed.discard(name)
                if not needed and (LATE in documents or b'"mtu"' in documents.get("snapshot.json", b"")):
                    return


def _last(path: str) -> str:
    return path.rpartition("/")[2]


def _named(file: str, inner: str) -> tuple[str, str]:
    """Return the node of a JSON file and which document it is; ``any.json`` may be either."""
    stem = file.removesuffix(".json")
    found = _KIND.search(stem)
    if not found:
        return stem, "any.json"
    kind = "snapshot.json" if found[1] == "snapshot" else "status.json"
    return stem[: found.start()] or _last(inner) or stem, kind


def _opened(path: str) -> IO[bytes]:
    """Return the regular file *path*: a pipe or a device would block, a link may lead anywhere. Raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOFOLLOW)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "it is no regular file")
    return os.fdopen(descriptor, "rb")


def _bounded(file: IO[bytes], name: str, most: int) -> bytes:
    content = file.read(most + 1)
    if len(content) > most:
        raise _TooLarge(f"{name} is larger than {most >> 20} MiB")
    return content


class _Limited:
    """The uncompressed bytes of an archive; it raises _TooLarge after *most* of them.

    Its end can be read once. `tarfile` skips a member by reading, and never ends where the header claims exabytes.
    """

    def __init__(self, stream: gzip.GzipFile, most: int) -> None:
        self._stream = stream
        self._most = self._left = most
        self._ended = False

    def read(self, size: int) -> bytes:
        """Return at most *size* bytes. Raises _TooLarge, EOFError behind the end."""
        if self._ended:
            raise EOFError("it ends inside a member")
        content = self._stream.read(min(size, self._left + 1))
        self._ended = not content
        self._left -= len(content)
        if self._left < 0:
            raise _TooLarge(f"more than {self._most >> 20} MiB: the rest is not read")
        return content


def _is_wanted(name: str, documents: dict[str, bytes]) -> bool:
    if name in documents:
        return False
    found = sum(each.startswith(NODE_FILES) for each in documents)
    return name in (*WANTED, LATE) or (name.startswith(NODE_FILES) and found < MOST_NODE_FILES)


def _words(error: Exception) -> str:
    """Return what is wrong in one short line: the text may come from the archive."""
    return (getattr(error, "strerror", None) or str(error) or type(error).__name__)[:120]
