"""May kubelet start with the published node IPs? Checked directly before READY."""

from __future__ import annotations

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Problem
from nodenet.core.errors import NodenetError
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.node_ip import drift
from nodenet.core.node_ip.published_files import USERS, Publication
from nodenet.core.node_ip.select import Selection
from nodenet.ports import Kernel, Systemd
from nodenet.stages.node_ip.problems import node_ips_lost
from nodenet.stages.node_ip.publish import Publisher


class Confirmation:
    """The last look at the publication."""

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
            if unusable := drift.unusable(facts.selection.node_ips, snapshot):
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
    gone = drift.lost(selection.node_ips, snapshot)
    return node_ips_lost(drift.cause(gone, selection.link, snapshot)) if gone else None
