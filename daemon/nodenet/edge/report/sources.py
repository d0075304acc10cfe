"""Which files of the node may contain secrets, and what is in them?"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path, PurePath

from nodenet.core.errors import NodeFileInvalid, NodenetError, UsageInvalid
from nodenet.core.history import entry
from nodenet.core.history.entry import Entry
from nodenet.edge.files import disk
from nodenet.edge.files.node_file import listing, read_node_file

MOST_FILES = 100
KEYFILES = (
    PurePath("/etc/NetworkManager/system-connections"),
    PurePath("/run/NetworkManager/system-connections"),
    PurePath("/usr/lib/NetworkManager/system-connections"),
)
RECORDS = tuple(PurePath("/var/lib/nodenet", name) for name in ("bridge.json", "change.json", "trial.json"))
"""The last one has every profile with its secrets from before a trial that has not ended; it is no part of a report."""
HISTORY = PurePath("/var/lib/nodenet/history")


def node_files(directory: PurePath, first: tuple[str, ...] = ()) -> Iterator[tuple[str, str | NodenetError]]:
    """Yield name and text of each file in *directory*, or the error in place of the text. Raises NodenetError.

    Names that begin with *first* come first: a directory may have the files of every node of the cluster. What nodenetd
    refuses to read is not shown: another user may have put a link to any file there.
    """
    names = sorted(listing(directory), key=lambda name: not name.lower().startswith(first))
    for name in names[:MOST_FILES]:
        if name.startswith(".") or Path(directory, name).is_dir():
            continue
        try:
            yield name, read_node_file(directory, name).decode(errors="replace")
        except NodenetError as error:
            yield name, error


def keyfiles(directories: tuple[PurePath, ...] = KEYFILES) -> Iterator[str]:
    """Yield the text of each profile of NetworkManager; one that cannot be read is left out."""
    for directory in directories:
        try:
            names = listing(directory)[:MOST_FILES]
        except NodenetError:
            continue
        for name in names:
            if content := _content(directory / name):
                yield content.decode(errors="replace")


def records(paths: tuple[PurePath, ...] = RECORDS) -> Iterator[str]:
    """Yield the text of each record of nodenetd that may have secrets; one that cannot be read is left out."""
    yield from (content.decode(errors="replace") for path in paths if (content := _content(path)))


def history(directory: PurePath = HISTORY) -> Iterator[Entry]:
    """Yield the entries of the history, the newest first; one that cannot be read is left out."""
    try:
        found = entry.numbers(listing(directory))
    except NodenetError:
        return
    for number in found:
        with suppress(ValueError, RecursionError):
            yield entry.parse(_content(directory / f"{number}{entry.SUFFIX}") or b"", number)


def history_entry(number: int, directory: PurePath = HISTORY) -> Entry:
    """Return one entry. Raises UsageInvalid where there is none, NodeFileInvalid where it is damaged, PublishFailed."""
    path = directory / f"{number}{entry.SUFFIX}"
    content = disk.read(path)
    if content is None:
        raise UsageInvalid(f"the history has no entry {number}", remedy="Look at `nodenetctl history`")
    try:
        return entry.parse(content, number)
    except ValueError as error:
        raise NodeFileInvalid(f"{path} is damaged: {error}", remedy="Look at `nodenetctl history`") from error


def last_good(directory: PurePath = HISTORY) -> str:
    """Return the text of the last known good node file; empty where there is none."""
    return next((each.text for each in history(directory) if each.good), "")


def _content(path: PurePath) -> bytes | None:
    try:
        return disk.read(path)
    except NodenetError:
        return None
