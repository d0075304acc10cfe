"""Which entries does the journal of a boot contain? (journalctl(1), `--output=json`.)

Only journalctl reads journal files reliably: they are rotated, compressed, damaged by a power failure or written by
another version. It prints one JSON object in each line.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from nodenet.core.errors import NotAllowed, Unavailable

PLACES = (Path("/var/log/journal"), Path("/run/log/journal"))
MACHINE_ID, SYSTEM = "[0-9a-f]" * 32, "system*.journal"
JOURNALCTL = ("journalctl", "--output=json", "--no-pager", "--quiet", "--all")


def must_read(directory: Path | None = None) -> None:
    """Raise NotAllowed unless this user may read all of the journal.

    journalctl skips files that it may not open and prints nothing about their entries.
    """
    for place in (directory,) if directory else PLACES:
        if _is_closed(place):
            remedy = "Run it with sudo, or as a member of the group systemd-journal"
            raise NotAllowed(f"this user may not read the journal in {place}", remedy=remedy)


def _is_closed(place: Path) -> bool:
    if _is_denied(place):
        return True
    inside = (place, *place.glob(MACHINE_ID))
    # The journals of users' sessions (user-UID.journal) are not needed.
    return any(map(_is_denied, inside)) or any(_is_denied(file) for path in inside for file in path.glob(SYSTEM))


def _is_denied(path: Path) -> bool:
    """Return whether a file or directory exists and this user may not read it; journald may remove it meanwhile."""
    try:
        path.stat()
        return not os.access(path, os.R_OK, effective_ids=True) and path.exists()
    except FileNotFoundError:
        return False
    except PermissionError:
        return True


def first(boot: int, directory: Path | None = None) -> dict[str, Any] | None:
    """Return the first entry of a boot (0: this one, -1: the one before), None when the journal has no such boot.

    Raises Unavailable when there is no journalctl.
    """
    return next(_entries(boot, directory, []), None)


def last(boot: int, directory: Path | None = None) -> dict[str, Any] | None:
    """Return the last entry of a boot. As ``first``."""
    return next(_entries(boot, directory, ["--lines=1"]), None)


def matching(boot: int, alternatives: Sequence[Sequence[str]], directory: Path | None = None) -> Iterator[Any]:
    """Yield the entries that match one of *alternatives*: in each, one of the values given for every FIELD=value.

    A line that is not JSON, as a killed journalctl leaves one, is yielded as None. Raises as ``first``.
    """
    return _entries(boot, directory, [word for matches in alternatives for word in ("+", *matches)][1:])


def _entries(boot: int, directory: Path | None, matches: list[str]) -> Iterator[Any]:
    where = [f"--directory={directory}"] if directory else []
    command = [*JOURNALCTL, *where, f"--boot={boot}", *matches]
    try:
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # noqa: S603  (no shell)
    except OSError as error:
        raise Unavailable(f"journalctl cannot be run: {error.strerror}", remedy="Install systemd's tools") from error
    with process:
        for line in process.stdout or ():
            yield _read(line)
        # A caller that stops early closes the generator; journalctl must not continue.
        process.kill()


def _read(line: bytes) -> Any:  # noqa: ANN401
    try:
        return json.loads(line)
    except ValueError:
        return None
