"""What does nodenetd report about this node, and where does the kernel have its node IPs?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.cluster import Cluster, Known, known
from nodenet.core.hosted_services.here import here
from nodenet.core.hosted_services.model import Here
from nodenet.core.hosted_services.plan import Plan, plan
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.hosted.state import State

QUICK_NODES = 200
"""More are judged in a thread: ten thousand take a good part of a second."""


class Gather:
    """Makes the inputs of the plan; a look that fails changes nothing."""

    def __init__(
        self,
        state: State,
        status: Callable[[], Mapping[str, Any] | None],
        snapshot: Callable[[], Snapshot],
        cluster: Callable[[], Cluster],
        remote_worker: Callable[[], bool],
    ) -> None:
        """*status* returns nodenetd's status document, None while there is none."""
        self._state = state
        self._status = status
        self._snapshot = snapshot
        self._cluster = cluster
        self._remote_worker = remote_worker
        self._last: tuple[Cluster, Here, frozenset[IPAddress]] | None = None

    async def __call__(self) -> None:
        """Look, and take what is new into the state."""
        document = self._status()
        node_ips = _node_ips(document) if document else ()
        try:
            places = here(self._state.node, node_ips, self._snapshot(), remote_worker=self._remote_worker())
        except Unavailable as error:
            self._state.report_failure("kernel", str(error))
            return
        self._state.report_failure("kernel", None)
        if not places.places and self._state.here.places:
            return  # the node IP is gone for a moment, as while it moves to a bridge: the last plan stays
        cluster, dead, before = self._cluster(), self._state.dead, self._last
        if before is not None and before[0] is cluster and before[1:] == (places, dead):
            return  # what the same inputs mean is known
        slow = max((len(nodes) for nodes in cluster.nodes.values()), default=0) > QUICK_NODES
        self._state.take(
            *(
                await asyncio.to_thread(self._judge, cluster, places, dead)
                if slow
                else self._judge(cluster, places, dead)
            )
        )
        self._last = cluster, places, dead

    def _judge(self, cluster: Cluster, places: Here, dead: frozenset[IPAddress]) -> tuple[Known, Plan]:
        found = known(cluster, self._state.options, places, self._state.known.specs)
        found = replace(found, inputs=replace(found.inputs, dead=dead))
        return found, plan(found.inputs)


def _node_ips(document: Mapping[str, Any]) -> tuple[IPAddress, ...]:
    """Return the published node IPs; a document of another shape has none."""
    found = document.get("node_ips")
    try:
        return tuple(ip_address(text) for text in found) if isinstance(found, list) else ()
    except ValueError:
        return ()
