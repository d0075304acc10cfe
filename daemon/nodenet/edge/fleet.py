"""What is saved of each node in a directory? Read with limits: nothing is unpacked, no link is followed.

A node is a report archive, an archive that was unpacked, or JSON files: ``worker-0.json``, ``worker-0.snapshot.json``
and ``worker-0.state.json``, or a folder ``worker-0`` with ``snapshot.json`` and ``state.json``.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path

from nodenet.core.errors import UsageInvalid
from nodenet.core.report.parts import CONTENTS
from nodenet.core.value import frozen
from nodenet.edge.archive import Limits, files_of, parts, parts_of_folder

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
LIMITS = Limits(document=8 << 20)
MOST_ENTRIES = 200_000
"""Of all folders together."""


@frozen
class Saved:
    """What was found of one node: *name* is how its files are named. *problems* is what could not be read, and why."""

    name: str
    place: str
    documents: dict[str, bytes] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


def nodes(
    directory: str, limits: Limits = LIMITS, most: int = MOST_ENTRIES, more: tuple[str, ...] = ()
) -> Iterator[Saved]:
    """Yield what is saved of each node below *directory*, in the order of the names. Raises UsageInvalid.

    *most* entries of all folders are read; *more* are parts of a report that are wanted too.
    """
    try:
        os.scandir(directory).close()
    except OSError as error:
        raise UsageInvalid(f"{directory} cannot be listed: {error.strerror}") from error
    yield from _Reading(limits, most, more).folder(directory, "", DEEPEST)


class _Reading:
    """One look at a directory, within the limits."""

    def __init__(self, limits: Limits, most: int, more: tuple[str, ...]) -> None:
        self._limits = limits
        self._wanted = {*WANTED, *more}
        self._most = self._left = most

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
            found_parts, problems = parts_of_folder(Path(path), self._limits, self._is_wanted)
            yield Saved(_last(inner), inner, found_parts, tuple(problems))
            return
        self._left -= len(entries)
        if self._left < 0:
            yield Saved("", inner or path, problems=(f"more than {self._most} files: these are left out",))
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
        problems = files_of(paths.items(), self._limits, documents)
        return Saved(name, place, documents, tuple(problems))

    def _archive(self, path: str, place: str) -> Saved:
        name = _last(path)
        name = next(name.removesuffix(end) for end in _ARCHIVES if name.endswith(end))
        documents, problems = parts(path, self._limits, self._is_wanted, self._is_enough)
        if not documents and not problems:
            problems.append("it is no archive of `nodenetctl report`")
        return Saved(name, place, documents, tuple(problems))

    def _is_wanted(self, name: str, documents: Mapping[str, bytes]) -> bool:
        if name in documents:
            return False
        found = sum(each.startswith(NODE_FILES) for each in documents)
        return name in {*self._wanted, LATE} or (name.startswith(NODE_FILES) and found < MOST_NODE_FILES)

    def _is_enough(self, documents: Mapping[str, bytes]) -> bool:
        has_mtu = LATE in documents or b'"mtu"' in documents.get("snapshot.json", b"")
        return has_mtu and documents.keys() >= self._wanted - {CONTENTS}


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
