"""What does nodenetd report about this node, and where does the kernel have its node IPs?"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from ipaddress import ip_address
from typing import Any

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.cluster import Cluster, known
from nodenet.core.hosted_services.here import here
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.hosted.state import State


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

    def __call__(self) -> None:
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
        self._state.take(known(self._cluster(), self._state.options, places))


def _node_ips(document: Mapping[str, Any]) -> tuple[IPAddress, ...]:
    """Return the published node IPs; a document of another shape has none."""
    found = document.get("node_ips")
    try:
        return tuple(ip_address(text) for text in found) if isinstance(found, list) else ()
    except ValueError:
        return ()
