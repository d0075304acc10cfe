"""What is checked while the bridges exist, and when is the next check?

A static copy of a lease is removed as soon as a DHCP server confirms the lease; then only Open vSwitch is watched.
"""

from __future__ import annotations

from dataclasses import replace

from nodenet.core.boot.outcome import Again, Done, Facts, Outcome, Problem, Topic
from nodenet.core.boot.stage_state import Request
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.errors import Unavailable
from nodenet.core.messages import Message
from nodenet.ports import Ovsdb
from nodenet.stages.br_ex.make import BridgeMaker

CAUSES = frozenset({Topic.OVS, Topic.NETWORK_MANAGER, Topic.BUS, Topic.UPLINK})
"""The topics that may be why an attempt failed."""
WATCHED = frozenset({Topic.OVS, Topic.NODE_IP_LOST})
"""The topics that say that bridges which were as they should be may not be any more."""
LOOK_SECONDS, MAX_LOOK_SECONDS = 2.0, 15.0
"""Between two attempts where no event says that the awaited thing has come; the second where that may take days."""
PROVE_SECONDS = 3.0
WATCH_SECONDS = 300.0
"""Between two looks at whether ovs-vswitchd still works; each one writes a number into the database."""
CARRIES = "; the leased address is static until the DHCP server confirms it"
SOON = Again(frozenset({Topic.OVS}), LOOK_SECONDS)
"""NetworkManager sets the link's sysctls again a moment after the static copy of a lease is removed."""


def next_look(record: BridgeRecord) -> Again:
    """Return when bridges of *record*, just made or found, are looked at again."""
    return Again(CAUSES, LOOK_SECONDS) if record.finish else Again(WATCHED, WATCH_SECONDS)


def carries(record: BridgeRecord, facts: Facts) -> bool:
    """Return whether a bridge of *record* has the node IP."""
    return facts.selection is not None and facts.selection.link in record.uplinks


class LaterLooks:
    """Remembers the bridges that were made, and checks them again."""

    def __init__(self, ovsdb: Ovsdb, maker: BridgeMaker) -> None:
        """Ask *ovsdb* whether it works; *maker* removes static leases."""
        self._ovsdb = ovsdb
        self._maker = maker
        self._done: Done | None = None
        self._run, self._facts = 0, Facts()
        """What it was done for."""

    def remember(self, outcome: Outcome, request: Request, facts: Facts) -> None:
        """Keep how the attempt for *request* and *facts* ended."""
        self._done = outcome if isinstance(outcome, Done) else None
        self._run, self._facts = request.run, facts

    def forget(self) -> None:
        """Take note that the bridges are gone."""
        self._done = None

    def done_here(self, facts: Facts) -> Done | None:
        """Return what was done, unless the node IPs are others or elsewhere now."""
        done = self._done
        here = done and (facts.same_place(self._facts) or (done.facts and facts.same_place(done.facts)))
        return done if here else None

    async def look(self, request: Request, facts: Facts, record: BridgeRecord | None) -> Done | None:
        """Return the outcome of a later look of the same run; None where a whole pass is due.

        Raises Unavailable, PublishFailed.
        """
        done = self.done_here(facts)
        if done is None or record is None or request.run != self._run or request.retry_refused:
            return None
        return await (self._owed(done, facts, record) if record.finish else self._watched(done, facts))

    async def _watched(self, done: Done, facts: Facts) -> Done:
        """Return the outcome of an existing bridge, with the problem that Open vSwitch has now, if any."""
        try:
            await self._ovsdb.prove_alive(PROVE_SECONDS)
        except Unavailable as error:
            problem = Problem(Message.BRIDGE_FAILED, error.cause, error.remedy)
            return replace(done, facts=facts, problem=problem, again=Again(CAUSES, LOOK_SECONDS))
        return replace(done, facts=facts, problem=None, again=Again(WATCHED, WATCH_SECONDS))

    async def _owed(self, done: Done, facts: Facts, record: BridgeRecord) -> Done:
        """Return the outcome of a bridge with a static lease; remove the static copy if that is possible now.

        Nothing else is checked: a DHCP server may be silent for days.
        """
        record, problem = await self._maker.settle(record)
        if record.finish:
            before = done.again.seconds if done.again else None
            pause = min(2 * (before or LOOK_SECONDS), MAX_LOOK_SECONDS)
            return replace(done, facts=facts, problem=problem, again=Again(CAUSES, pause))
        detail = done.detail.replace(CARRIES, "")
        return replace(done, facts=facts, detail=detail, problem=problem, again=SOON)
