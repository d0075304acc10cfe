"""What has a node that is ready lost since: NetworkManager, a node IP, or a program that runs with it?"""

from __future__ import annotations

import time
from collections.abc import Callable

from nodenet.core.boot.in_use import PEOPLE, other_than_published
from nodenet.core.boot.outcome import Facts, Problem
from nodenet.core.node_ip.published_files import UNITS, Publication
from nodenet.core.uplink_health.health import manager_away
from nodenet.stage_edges import StageEdges


class NodeLosses:
    """One look at everything that no event reports; it waits for nothing and asks no program."""

    def __init__(self, edges: StageEdges) -> None:
        """Look through *edges*."""
        self._edges = edges
        self._away: Problem | None = None
        """The problem of the present absence of NetworkManager: when it began is known only once."""

    def seen(self, drift: Callable[[Facts], Problem | None], facts: Facts, *, publishes: bool) -> tuple[Problem, ...]:
        """Return the losses, a cause before what follows from it. *publishes*: the files are those of nodenetd.

        Raises Unavailable when the kernel does not answer.
        """
        found = (self._manager(facts), drift(facts), self._not_in_use(facts) if publishes else None)
        return tuple(filter(None, found))

    def _manager(self, facts: Facts) -> Problem | None:
        if not self._edges.manager.is_away():
            self._away = None
        elif self._away is None:
            node_ips = facts.selection.node_ips if facts.selection else ()
            self._away = manager_away(self._in_words, node_ips, self._edges.kernel.snapshot())
        return self._away

    def _in_words(self, seconds: float) -> str:
        """Return the time *seconds* from now as people read it."""
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(self._edges.clock.unix() + seconds))

    def _not_in_use(self, facts: Facts) -> Problem | None:
        if facts.selection is None or not facts.selection.node_ips:
            return None
        processes = self._edges.processes
        environments = {unit: processes.environment(unit) for unit in PEOPLE}
        running = [unit for unit in UNITS if environments[unit] is not None]
        arguments = {unit: processes.kubelet_arguments(unit) for unit in running}
        publication = Publication(facts.selection.node_ips, facts.selection.remote_worker)
        return other_than_published(publication, environments, arguments)
