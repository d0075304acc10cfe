"""Is there a way out of the node: a default route, and a gateway that answers?"""

from __future__ import annotations

from collections.abc import Callable
from typing import Self

from nodenet.core.boot.outcome import Problem
from nodenet.core.ip import Family, family_of
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.uplink_health.health import (
    FINE,
    GATEWAY,
    KNOWN,
    ROUTE,
    Condition,
    gateway_problem,
    route_problem,
)
from nodenet.core.uplink_health.watched import Gateway, Place, routed
from nodenet.core.value import frozen


@frozen
class WayOut:
    """What is reported about gateways and default routes, and what the last look found.

    *had*: the families that had a default route; a node without one from the beginning needs none. *gone*: those that
    have none any more. *silent*: the gateways that did not answer.
    """

    gateways: Condition = FINE
    routes: Condition = FINE
    had: frozenset[Family] = frozenset()
    gone: frozenset[Family] = frozenset()
    silent: tuple[Gateway, ...] = ()

    @property
    def lost(self) -> bool:
        """Whether a loss is reported."""
        return self.gateways.lost or self.routes.lost

    def seen(self, now: float, place: Place, snapshot: Snapshot, silent: tuple[Gateway, ...]) -> Self:
        """Return what is known after a look at *now* (CLOCK_BOOTTIME), where the gateways *silent* did not answer.

        A family whose node IPs are gone needs no route: their loss is reported by itself.
        """
        here = frozenset(family_of(item.address) for item in snapshot.addresses if item.address in place.node_ips)
        present = routed(snapshot, place.families)
        if self.lost and not (here or present):
            return self  # the routes went with the node IPs: nothing is known to be back
        gone = (self.had - present) & here
        routes = self.routes.seen(now, ROUTE, lost=bool(gone))
        if self.gateways.lost and gone and not routes.lost:
            silent = silent or self.silent  # they have not answered: there is no route to ask over
        patience = KNOWN if self.routes.lost else GATEWAY
        gateways = self.gateways.seen(now, patience, lost=bool(silent))
        return type(self)(gateways, routes, self.had | present, gone, silent)

    def problem(self, link: str, in_words: Callable[[float], str]) -> Problem | None:
        """Return what is reported, None where nothing is; *link* has the node IPs, *in_words* is a time as text."""
        if self.routes.since is not None:
            return route_problem(self.gone, link, in_words(self.routes.since))
        return None if self.gateways.since is None else gateway_problem(self.silent, in_words(self.gateways.since))
