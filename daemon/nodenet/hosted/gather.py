"""What does nodenetd report about this node, and where does the kernel have its node IPs?"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from ipaddress import ip_address
from typing import Any

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.hosted_services.cluster import Cluster, Known, known
from nodenet.core.hosted_services.model import Here, Place, Service, here
from nodenet.core.hosted_services.plan import Plan, plan
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.value import frozen
from nodenet.hosted.state import State

log = structlog.get_logger()

AUTHORITY = "authority"
HOLD_SECONDS = 5.0
"""How long a node IP may be on no link before this node gives up the VIPs of its family."""
QUICK_NODES = 200
"""More are judged in a thread: ten thousand take a good part of a second."""


@frozen
class Sources:
    """What the inputs are made of: each is asked at every look."""

    status: Callable[[], Mapping[str, Any] | None]
    """nodenetd's status document, None while there is none."""
    snapshot: Callable[[], Snapshot]
    cluster: Callable[[], Cluster]
    remote_worker: Callable[[], bool]
    authority: Callable[[], str]
    """The CA of the API in PEM. Raises Unavailable."""


class Gather:
    """Makes the inputs of the plan; a look that fails changes nothing."""

    def __init__(self, state: State, sources: Sources) -> None:
        """Look at nothing yet."""
        self._state = state
        self._sources = sources
        self._last: tuple[Cluster, Here, frozenset[IPAddress], str] | None = None
        self._missed: dict[Family, float] = {}
        """Families whose node IP was last seen at another time, and since when it is on no link."""

    async def __call__(self) -> None:
        """Look, and take what is new into the state."""
        document = self._sources.status()
        node_ips = _node_ips(document) if document else ()
        try:
            places = here(
                self._state.node, node_ips, self._sources.snapshot(), remote_worker=self._sources.remote_worker()
            )
        except Unavailable as error:
            self._state.report_failure("kernel", str(error))
            return
        self._state.report_failure("kernel", None)
        if not places.places and self._state.here.places:
            return  # the node IP is gone for a moment, as while it moves to a bridge: the last plan stays
        places = replace(places, places=self._with_held(node_ips, places.places))
        self._look_at_authority()
        digest = hashlib.sha256(self._state.authority.encode()).hexdigest()[:16] if self._state.authority else ""
        cluster, dead, before = self._sources.cluster(), self._state.dead, self._last
        if before is not None and before[0] is cluster and before[1:] == (places, dead, digest):
            return  # what the same inputs mean is known
        slow = max((len(nodes) for nodes in cluster.nodes.values()), default=0) > QUICK_NODES
        self._state.take(
            *(
                await asyncio.to_thread(self._judge, cluster, places, dead, digest)
                if slow
                else self._judge(cluster, places, dead, digest)
            )
        )
        self._last = cluster, places, dead, digest

    def _look_at_authority(self) -> None:
        """Take the CA as it is on the disk; one that cannot be used, as half a file, leaves the one of before."""
        try:
            found = self._sources.authority()
        except Unavailable as error:
            if self._state.wanted(Service.HAPROXY) and self._state.report_failure(AUTHORITY, str(error)):
                log.error(error.cause, message=Message.HOSTED_PROBLEM, cause=error.cause, remedy=error.remedy)
            return
        self._state.report_failure(AUTHORITY, None)
        self._state.authority = found

    def _with_held(self, node_ips: tuple[IPAddress, ...], now: Mapping[Family, Place]) -> Mapping[Family, Place]:
        """Return the places of *now*, and those of published node IPs that are on no link for a moment."""
        time = asyncio.get_running_loop().time()
        gone = {
            family: place
            for family, place in self._state.here.places.items()
            if family not in now and place.address in node_ips
        }
        for family in gone.keys() - self._missed.keys():
            asyncio.get_running_loop().call_later(HOLD_SECONDS, self._state.changed)
            self._missed[family] = time
        self._missed = {family: since for family, since in self._missed.items() if family in gone}
        held = {family: place for family, place in gone.items() if time - self._missed[family] < HOLD_SECONDS}
        found = {**held, **now}
        return {family: found[family] for family in map(family_of, node_ips) if family in found}

    def _judge(self, cluster: Cluster, places: Here, dead: frozenset[IPAddress], authority: str) -> tuple[Known, Plan]:
        found = known(cluster, self._state.options, places, self._state.known.specs)
        found = replace(found, inputs=replace(found.inputs, dead=dead, authority=authority))
        return found, plan(found.inputs)


def _node_ips(document: Mapping[str, Any]) -> tuple[IPAddress, ...]:
    """Return the published node IPs; a document of another shape has none."""
    found = document.get("node_ips")
    try:
        return tuple(ip_address(text) for text in found) if isinstance(found, list) else ()
    except ValueError:
        return ()
