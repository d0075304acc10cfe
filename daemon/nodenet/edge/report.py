"""How does a report come about: what may contain secrets, the output of each command, and one archive of all parts?"""

from __future__ import annotations

import io
import os
import selectors
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePath

from nodenet.core.errors import NodeFileInvalid, NodenetError, UsageInvalid
from nodenet.core.history import entry
from nodenet.core.history.entry import Entry
from nodenet.core.report import parts
from nodenet.core.value import frozen
from nodenet.edge.files import disk
from nodenet.edge.files.node_file import listing, read_node_file

MOST_FILES = 100
KEYFILES = (
    PurePath("/etc/NetworkManager/system-connections"),
    PurePath("/run/NetworkManager/system-connections"),
    PurePath("/usr/lib/NetworkManager/system-connections"),
)
RECORDS = tuple(PurePath("/var/lib/nodenet", name) for name in (*parts.RECORDS, "change.json"))
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


# What does a command print, within a limit of time and size?

CHUNK = 1 << 16
END_SECONDS = 5.0
"""How long a command that is killed is waited for."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@frozen
class Output:
    """What was printed, errors included; *note* says why it is not everything, or how the command ended."""

    content: bytes
    note: str = ""


def output(command: tuple[str, ...], seconds: float, most_bytes: int) -> Output:
    """Run *command* for *seconds* at most and return at most *most_bytes* of its output. Never raises OSError."""
    environment = os.environ | {"LC_ALL": "C.UTF-8", "PATH": f"{os.environ.get('PATH', PATH)}:{PATH}"}
    try:
        process = subprocess.Popen(  # noqa: S603  (the commands are ours)
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return Output(b"", f"{command[0]} cannot be run: {error.strerror}")
    try:
        content, cut = _read(process, time.monotonic() + seconds, most_bytes)
    finally:
        ended = _end(process)
    if cut:
        return Output(content, cut if cut != _TIME else f"{cut} {seconds:g} s")
    return Output(content, f"exit status {ended}" if ended else "")


_TIME = "stopped after"


def _read(process: subprocess.Popen[bytes], until: float, most_bytes: int) -> tuple[bytes, str]:
    """Return the output, and what cut it off."""
    if process.stdout is None:
        return b"", ""
    content = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, until - time.monotonic())):
                return bytes(content), _TIME
            chunk = os.read(process.stdout.fileno(), CHUNK)
            content += chunk
            if not chunk:
                return bytes(content), "" if _ends(process, until) else _TIME
            if len(content) > most_bytes:
                return bytes(content[:most_bytes]), f"cut off after {most_bytes >> 10} KiB"


def _ends(process: subprocess.Popen[bytes], until: float) -> bool:
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> int:
    """End the command and what it started; return its exit status, 0 for one that cannot be ended.

    That is one in an uninterruptible sleep: of a network driver that hangs, `ip` waits for a lock in the kernel.
    """
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
    with suppress(subprocess.TimeoutExpired):
        return process.wait(END_SECONDS)
    return 0


# How do the parts of a report become one file? As tar, compressed by gzip.

PRIVATE = 0o600


def packed(top: str, files: Mapping[str, bytes], moment: float) -> bytes:
    """Return the archive of *files* below the directory *top*, in their order; *moment*: their time (Unix)."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=6) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), int(moment), PRIVATE
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()
