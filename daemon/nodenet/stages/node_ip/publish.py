"""How are the node IPs published, what can be wrong with them, and may kubelet start with them?"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath

from nodenet.core.boot.outcome import Again, Facts, Failed, Problem, Topic, Waiting
from nodenet.core.errors import NodenetError, PublishFailed, Unavailable
from nodenet.core.ip import IPAddress, family_of
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.node_ip import last_published, published_files
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.patience import MOST_SECONDS
from nodenet.core.node_ip.published_files import (
    USERS,
    Override,
    Publication,
    PublishedFile,
    UnitEnvironment,
    Wiring,
    overrides,
    passes_arguments,
)
from nodenet.core.node_ip.select import Selection
from nodenet.ports import Files, Kernel, Systemd

RELOAD_OWED = PurePosixPath("/run/nodenet/reload-owed")
"""Exists while a drop-in was written and systemd has not read it: the next daemon reloads systemd then."""


class Publisher:
    """Writes what differs, and nothing else."""

    def __init__(self, files: Files, systemd: Systemd) -> None:
        """Write through *files*, and have *systemd* read it."""
        self._files = files
        self._systemd = systemd
        self._unwritten: set[PurePosixPath] = set()
        """The files that could not be written last, and that systemd does not read."""
        self.wiring = Wiring()
        """What the units of this node need, when they were looked at last."""

    async def look(self) -> None:
        """Look at the units of kubelets; while systemd does not answer, what was seen last holds.

        ``let_systemd_read`` reports that, so that kubelet does not start without arguments that it needs.
        """
        try:
            found = {
                unit: await self._systemd.environment(unit)
                for unit in (published_files.KUBELET, *published_files.RANCHER)
            }
        except Unavailable:
            return
        variable = None
        if seen := found.pop(published_files.KUBELET):
            expanded, contents = self._sources(seen)
            variable = passes_arguments(expanded, contents, published_files.KUBELET_DROP_IN)
        rancher = [(unit, not published_files.has_node_ip(seen.command)) for unit, seen in found.items() if seen]
        self.wiring = Wiring(variable, tuple(rancher))

    def contents(self) -> dict[PurePosixPath, bytes | None]:
        """Return the files that name node IPs; one that cannot be read names none, and ``write`` reports it."""
        return {path: self._content(path) for path in published_files.NAMES_NODE_IPS}

    def write(self, wanted: Publication, *, bridge: bool) -> tuple[list[PublishFailed], bool]:
        """Write each file, and br-ex's if the node file brings that *bridge*.

        Return what could not be written, and whether all files are there that systemd reads.
        """
        lost: list[PublishFailed] = []
        self._unwritten.clear()
        files = self._files_of(wanted)
        if bridge:
            files = (PublishedFile(published_files.BRIDGE_UP, b""), *files)
        complete = self._write([file for file in files if file.unit], lost)
        self._write([file for file in files if not file.unit], lost)
        return lost, complete

    def write_rest(self, kept: Publication) -> list[PublishFailed]:
        """Write what differs of *kept*, which kubelet runs with, but the drop-ins; return what could not be written."""
        lost: list[PublishFailed] = []
        self._unwritten.clear()
        self._write([file for file in published_files.files(kept) if not file.unit], lost)
        return lost

    def _write(self, files: list[PublishedFile], lost: list[PublishFailed]) -> bool:
        """Write every file that differs, also after one that cannot be written; return whether all were written."""
        before = len(lost)
        for file in files:
            try:
                if file.drop_in and self._files.read(file.path) != file.content:
                    self._files.write(RELOAD_OWED, b"")
                if file.content is None:
                    self._files.remove(file.path)
                else:
                    self._files.write(file.path, file.content)
            except PublishFailed as error:
                lost.append(error)
                if not file.unit:
                    self._unwritten.add(file.path)
        return len(lost) == before

    def as_written(self, wanted: Publication) -> PurePosixPath | None:
        """Return the first published file that is not as *wanted*, None when all are.

        A file that could not be written is a problem of the stage already: kubelet starts without it.
        """
        files = [file for file in self._files_of(wanted) if file.path not in self._unwritten]
        return next((file.path for file in files if self._files.read(file.path) != file.content), None)

    async def let_systemd_read(self, wanted: Publication) -> tuple[Override, ...]:
        """Have systemd read the drop-ins if it has to, and return which of their variables another file overrides.

        Raises PublishFailed or Unavailable when systemd does not start the units with them for any other reason.
        """
        reloaded = self._files.read(RELOAD_OWED) is not None
        if reloaded:
            await self._systemd.reload()
        found = await self.overrides(wanted)
        if not reloaded and any(override.source is None for override in found):
            await self._systemd.reload()
            found = await self.overrides(wanted)
        if unread := _unread(found):
            raise PublishFailed(
                f"systemd has not read {published_files.KUBELET_DROP_IN.name}: {unread[0]}",
                remedy=f"Look at `systemctl cat {unread[0].unit}`, then run `systemctl daemon-reload`",
            )
        self._files.remove(RELOAD_OWED)
        return found

    async def overrides(self, wanted: Publication) -> tuple[Override, ...]:
        """Return the published variables with which systemd would not start kubelet or CRI-O. Raises Unavailable."""
        found: list[Override] = []
        for file in self._files_of(wanted):
            seen = await self._systemd.environment(file.unit) if file.unit and file.drop_in else None
            if file.unit and seen is not None:
                found += overrides(file.unit, file, *self._sources(seen))
        return tuple(found)

    def _files_of(self, wanted: Publication) -> tuple[PublishedFile, ...]:
        """Return the files of *wanted* as the units of this node need them."""
        return published_files.files(replace(wanted, wiring=self.wiring))

    def _sources(self, seen: UnitEnvironment) -> tuple[UnitEnvironment, dict[PurePosixPath, bytes | None]]:
        """Return *seen* with the environment files that its patterns mean, and the contents of all its files."""
        expanded = replace(seen, files=tuple(self._expanded(seen.files)))
        return expanded, {path: self._content(path) for path in expanded.sources}

    def _expanded(self, patterns: Iterable[PurePosixPath]) -> Iterable[PurePosixPath]:
        """Yield the files that *patterns* of EnvironmentFile= mean, in order (glob(7))."""
        for pattern in patterns:
            if not any(sign in pattern.name for sign in "*?["):
                yield pattern
                continue
            for name in sorted(self._files.listing(pattern.parent)):
                if fnmatchcase(name, pattern.name):
                    yield pattern.parent / name

    def _content(self, path: PurePosixPath) -> bytes | None:
        try:
            return self._files.read(path)
        except NodenetError:
            return None  # a directory, or an administrator's file that nodenetd must not read: what it sets is unknown


def _unread(found: Iterable[Override]) -> list[Override]:
    return [override for override in found if override.unread]


# What can be wrong with the node IPs, and what is the remedy?

LOOK_AGAIN_SECONDS = 30.0
"""Without any event: a lost event delays the boot by no more than this."""
RESELECT = "drain the node, run `nodenetctl reselect`, restart CRI-O and kubelet"


def node_ips_lost(cause: str) -> Problem:
    """Return the problem of node IPs that the node no longer has."""
    return Problem(Message.NODE_IP_DRIFT, cause, f"Bring the address back; or {RESELECT}")


def no_longer_selected(refused: Iterable[IPAddress]) -> Problem:
    """Return the problem of node IPs in use that a selection of now would not choose."""
    cause = f"{listed(refused)}, published as node IP, would not be selected now"
    remedy = f"Look at `nodenetctl explain node-ip --ignore-published`; {RESELECT}"
    return Problem(Message.NODE_IP_DRIFT, cause, remedy)


def family_missing(selection: Selection) -> Problem | None:
    """Return the problem of a family that the settings name and that did not come."""
    if not selection.missing:
        return None
    families = " and ".join(str(family) for family in selection.missing)
    cause = f"No {families} node IP within {MOST_SECONDS:.0f} s: {selection.waiting}"
    remedy = "Look at `nodenetctl explain node-ip`; take the family out of `families` if it is not wanted"
    return Problem(Message.NODE_IP_INCOMPLETE, cause, remedy)


def held(failure: str, node_ips: Iterable[IPAddress]) -> Waiting:
    """Return the wait for a node file that does not fail: the node did not have *node_ips* in its last boot."""
    what = f"kubelet does not start with {listed(node_ips)}, which the node did not have in its last boot"
    return Waiting(f"{failure}; {what}; an edit of the file is taken by itself", seconds=LOOK_AGAIN_SECONDS)


def lost_family(last: LastPublished, selection: Selection) -> bool:
    """Return whether *selection* lacks a family of the *last* node IPs that it may have: the next boot waits for it."""
    now = set(map(family_of, selection.node_ips))
    return any(family in selection.second - now for family in map(family_of, last.addresses))


def not_back(wanted: Iterable[IPAddress], published: Iterable[IPAddress]) -> Problem:
    """Return the problem of the last node IPs that did not come back within `node_ip_wait`."""
    cause = (
        f"{listed(wanted)}, the last node IP, did not come back within node_ip_wait; kubelet got {listed(published)}"
    )
    remedy = "Bring the address back and reboot; or, to keep the other one, run `nodenetctl reselect`"
    return Problem(Message.NODE_IP_INCOMPLETE, cause, remedy)


def conflicting(cause: str, facts: Facts) -> Failed:
    """Return the failure of VIPs that are this node's own addresses."""
    remedy = "Give the VIPs addresses that no host has, or this node another address; then run `nodenetctl reload`"
    return Failed(
        Problem(Message.NODE_IP_CLAIMED, cause, remedy), facts, Again(frozenset({Topic.KERNEL}), LOOK_AGAIN_SECONDS)
    )


def unwritten(error: PublishFailed) -> Problem:
    """Return the problem of a file that kubelet does not need to start."""
    return Problem(error.message, error.cause, f"{error.remedy}; then run `nodenetctl reload --wait`")


def override(found: tuple[Override, ...]) -> Problem | None:
    """Return the problem of published variables that another file overrides."""
    if not found:
        return None
    sources = " and ".join(
        dict.fromkeys(str(item.source or f"what `systemctl cat {item.unit}` shows") for item in found)
    )
    names = " and ".join(dict.fromkeys(item.name for item in found))
    cause = "; ".join(map(str, found))
    return Problem(
        Message.NODE_IP_NOT_IN_USE,
        cause,
        f"Take {names} out of {sources}, run `systemctl daemon-reload`, then restart the unit; "
        "a hint selects another node IP",
    )


def listed(addresses: Iterable[IPAddress]) -> str:
    """Return the addresses as a sentence names them."""
    return " and ".join(map(str, addresses))


class Confirmation:
    """The last look at the publication, directly before READY: may kubelet start with it?"""

    def __init__(self, kernel: Kernel, systemd: Systemd, publisher: Publisher) -> None:
        """*publisher* wrote the files."""
        self._kernel = kernel
        self._systemd = systemd
        self._publisher = publisher

    def drift(self, facts: Facts) -> Problem | None:
        """Return the problem of published node IPs that are gone. Raises Unavailable when the kernel is silent."""
        return None if facts.selection is None else _lost(facts.selection, self._kernel.snapshot())

    async def of_files(self, facts: Facts, *, kept: bool) -> str | None:
        """Return why kubelet must not start with the files of the built-in stage, None when it may.

        The node has the published addresses, the files name them, and systemd has read the drop-ins. A publication
        that was *kept* because kubelet or CRI-O runs with it needs none of these while one of them runs.
        """
        if facts.selection is None or (kept and await self._is_in_use()):
            return None
        try:
            wanted = Publication(facts.selection.node_ips, facts.selection.remote_worker)
            unread = [item for item in await self._publisher.overrides(wanted) if item.unread]
            # Last: systemd may take seconds to answer, and READY follows at once.
            snapshot = self._kernel.snapshot()
            if lost := _lost(facts.selection, snapshot):
                return lost.cause
            if unusable := last_published.unusable(facts.selection.node_ips, snapshot):
                return unusable
            if changed := self._publisher.as_written(wanted):
                return f"{changed} was changed by another program"
        except NodenetError as error:
            return str(error)
        return str(unread[0]) if unread else None

    async def of_unit(self, facts: Facts) -> str | None:
        """Return the same where a unit publishes: its files are its own, so only the addresses are looked for."""
        try:
            lost = self.drift(facts)
        except NodenetError as error:
            return str(error)
        return lost.cause if lost and not await self._is_in_use() else None

    async def _is_in_use(self) -> bool:
        """Return whether kubelet or CRI-O runs already: waiting protects nothing then, and the loss is drift."""
        return await self._systemd.any_runs(USERS) is True


def _lost(selection: Selection, snapshot: Snapshot) -> Problem | None:
    gone = last_published.lost(selection.node_ips, snapshot)
    return node_ips_lost(last_published.cause(gone, selection.link, snapshot)) if gone else None
