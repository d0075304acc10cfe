"""With which variables does systemd start kubelet and CRI-O, and who sets them?

A drop-in that sorts after ours, and any EnvironmentFile=, override what nodenetd publishes; UnsetEnvironment= removes a
variable from all of them (systemd.exec(5)). A drop-in that systemd has not read yet has no effect.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from nodenet.core.node_ip.environment import drop_in_removals, drop_in_variables, file_variables, is_removed
from nodenet.core.node_ip.kubelets import has_node_ip
from nodenet.core.node_ip.published_files import PublishedFile
from nodenet.core.value import frozen

_VARIABLE = re.compile(r"\$([A-Z][A-Z0-9_]*)")
_PLAIN = re.compile(r'[^"\\%\x00-\x1f]*')
"""A value that a drop-in can repeat as it is."""


@frozen
class UnitEnvironment:
    """What systemd knows about a unit: Environment=, EnvironmentFile=, its drop-ins in order, and UnsetEnvironment=.

    *drop_ins* begin with the file of the unit itself. *command*: the words of ExecStart=, before systemd replaces
    variables.
    """

    variables: Mapping[str, str]
    files: tuple[PurePosixPath, ...] = ()
    drop_ins: tuple[PurePosixPath, ...] = ()
    needs_reload: bool = False
    """Whether a file of the unit changed since systemd read it (NeedDaemonReload of org.freedesktop.systemd1(5))."""
    removals: tuple[str, ...] = ()
    """Names, or names with a value."""
    command: tuple[str, ...] = ()

    @property
    def sources(self) -> tuple[PurePosixPath, ...]:
        """Every file that may set a variable: the later ones win."""
        return self.drop_ins + self.files


@frozen
class Override:
    """A variable that a unit starts with another value than the published one (None: it is not set).

    *source* sets or unsets it; None: no file is known to. *unread*: systemd has not read what is published.
    """

    unit: str
    name: str
    published: str
    value: str | None
    source: PurePosixPath | None
    unread: bool = False

    def __str__(self) -> str:
        """Return the cause, as status and journal show it."""
        verb = "unsets" if self.value is None else "sets"
        by = f" ({self.source} {verb} it)" if self.source else "" if self.unread else " (another drop-in changes it)"
        if self.value is None:
            return f"{self.unit} starts without {self.name}={self.published}{by}"
        return f"{self.unit} starts with {self.value} instead of {self.name}={self.published}{by}"


def overrides(
    unit: str, published: PublishedFile, seen: UnitEnvironment, contents: Mapping[PurePosixPath, bytes | None]
) -> tuple[Override, ...]:
    """Return the variables of a *published* drop-in with which *unit* does not start; *contents* are its sources'."""
    wanted = drop_in_variables(published.content or b"")
    by_file = [(path, file_variables(contents.get(path) or b"")) for path in seen.files]
    drop_ins = [(path, contents.get(path) or b"") for path in seen.drop_ins if path != published.path]
    stale = seen.needs_reload or published.path not in seen.drop_ins
    found = []
    for name, value in wanted.items():
        by_last_file = next((entry for entry in reversed(by_file) if name in entry[1]), None)
        actual = by_last_file[1][name] if by_last_file else seen.variables.get(name)
        if actual is not None and is_removed(name, actual, seen.removals):
            removers = [path for path, text in drop_ins if is_removed(name, actual, drop_in_removals(text))]
            source, actual = next(reversed(removers), None), None
        elif actual == value:
            continue
        else:
            changed = drop_ins if actual is not None else []
            setters = [path for path, text in changed if drop_in_variables(text).get(name) == actual]
            source = by_last_file[0] if by_last_file else next(reversed(setters), None)
        found.append(Override(unit, name, value, actual, source, unread=source is None and stale))
    return tuple(found)


def passes_arguments(
    seen: UnitEnvironment, contents: Mapping[PurePosixPath, bytes | None], ours: PurePosixPath
) -> tuple[str, str] | None:
    """Return the variable in which kubelet.service can get one more argument, with its value without *ours*.

    An environment file overrides any drop-in, so that a variable which such a file sets is the administrator's or
    kubeadm's. What follows on the command line wins: an administrator's own `--node-ip` in KUBELET_EXTRA_ARGS does.
    """
    if has_node_ip(seen.command) or any("KUBELET_NODE_IP" in word for word in seen.command):
        return None
    by_files = {name for path in seen.files for name in file_variables(contents.get(path) or b"")}
    own: dict[str, str] = {}
    for path in seen.drop_ins:
        own |= drop_in_variables(contents.get(path) or b"") if path != ours else {}
    passed = [found[1] for word in seen.command if (found := _VARIABLE.fullmatch(word))]
    free = [name for name in passed if name not in by_files and _PLAIN.fullmatch(own.get(name, ""))]
    return next(((name, own[name]) for name in free if name in own), (free[-1], "") if free else None)
