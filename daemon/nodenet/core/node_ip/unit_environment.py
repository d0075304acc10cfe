"""With which variables does systemd start kubelet and CRI-O, and who sets them?

A drop-in that sorts after ours, and any EnvironmentFile=, outrank what nodenetd publishes (systemd.exec(5)). And a
drop-in that systemd has not read yet does not exist for the unit.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from nodenet.core.node_ip.environment import drop_in_variables, file_variables
from nodenet.core.node_ip.published_files import PublishedFile


@dataclass(frozen=True, slots=True)
class UnitEnvironment:
    """What systemd knows of a unit: its Environment=, its EnvironmentFile= and its drop-ins, in order."""

    variables: Mapping[str, str]
    files: tuple[PurePosixPath, ...] = ()
    drop_ins: tuple[PurePosixPath, ...] = ()
    needs_reload: bool = False
    """Whether a file of the unit changed since systemd read it (NeedDaemonReload of org.freedesktop.systemd1(5))."""

    @property
    def sources(self) -> tuple[PurePosixPath, ...]:
        """Every file that may set a variable: the later ones win."""
        return self.drop_ins + self.files


@dataclass(frozen=True, slots=True)
class Override:
    """A variable that a unit starts with another value than the published one (None: it is not set).

    *source* sets it; None: no file is known to. *unread*: that is because systemd has not read what is published.
    """

    unit: str
    name: str
    published: str
    value: str | None
    source: PurePosixPath | None
    unread: bool = False

    def __str__(self) -> str:
        """Return the cause, as status and journal show it."""
        by = f" ({self.source} sets it)" if self.source else "" if self.unread else " (another drop-in changes it)"
        if self.value is None:
            return f"{self.unit} starts without {self.name}={self.published}{by}"
        return f"{self.unit} starts with {self.value} instead of {self.name}={self.published}{by}"


def overrides(
    unit: str, published: PublishedFile, seen: UnitEnvironment, contents: Mapping[PurePosixPath, bytes | None]
) -> tuple[Override, ...]:
    """Return the variables of a *published* drop-in with which *unit* does not start; *contents* are its sources'."""
    wanted = drop_in_variables(published.content or b"")
    by_file = [(path, file_variables(contents.get(path) or b"")) for path in seen.files]
    by_drop_in = [
        (path, drop_in_variables(contents.get(path) or b"")) for path in seen.drop_ins if path != published.path
    ]
    stale = seen.needs_reload or published.path not in seen.drop_ins
    found = []
    for name, value in wanted.items():
        by_last_file = next((entry for entry in reversed(by_file) if name in entry[1]), None)
        actual = by_last_file[1][name] if by_last_file else seen.variables.get(name)
        if actual == value:
            continue
        setters = [path for path, variables in by_drop_in if variables.get(name) == actual and actual is not None]
        source = by_last_file[0] if by_last_file else next(reversed(setters), None)
        found.append(Override(unit, name, value, actual, source, unread=source is None and stale))
    return tuple(found)
