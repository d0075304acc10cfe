"""How does a node return to its last known good network, and not only to the node file of that network?

NMState leaves alone what a file does not name, so the older file alone would leave all that the newer one has added:
a bridge, a VLAN, a route, an MTU. So the network is undone to the one of the entry, as an interrupted change is. Then
the file is compared with the network as in each boot.
"""

from __future__ import annotations

from itertools import takewhile

import structlog

from nodenet.core.apply.intent import Phase
from nodenet.core.boot.outcome import Waiting
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.change.record import Change, What
from nodenet.core.history.going_back import network_of
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.node_file.content import Desired
from nodenet.stage_edges import StageEdges
from nodenet.stages.apply.history import History
from nodenet.stages.apply.network_before import ProfileKeeper, network_of_file
from nodenet.stages.apply.pipeline import MANAGER, Pipeline

log = structlog.get_logger()


class GoingBack:
    """Lets the last known good network come back, once for each file that is given up."""

    def __init__(self, edges: StageEdges, pipeline: Pipeline) -> None:
        """Take the network from the history, and leave it to the undo of *pipeline*'s open change."""
        self._keeper = ProfileKeeper(edges.profiles, edges.files)
        self._history = History(edges.files)
        self._presence = edges.presence
        self._pipeline = pipeline
        self._begun = 0
        """The number of the entry that this process has gone back to."""

    async def first(self, wish: Desired, hostname: str | None) -> Waiting | None:
        """Let the good network come back that the file with *wish* is given up for; return what that waits for, if so.

        Nothing is done where the network is that of the good file, as it is after an apply that was undone. Raises
        Unavailable, PublishFailed.
        """
        good, record = self._history.good(hostname).entry, self._pipeline.record
        if good is None or good.number == self._begun or record is None or record.in_force == good.digest:
            return None
        state, words = await self._presence.look()
        if state not in (ManagerState.READY, ManagerState.STARTING):
            return Waiting(words, MANAGER)
        newer = takewhile(lambda each: each.number > good.number, self._history.all())
        network = network_of(good, newer, await network_of_file(self._keeper, wish), (BRIDGE, EXTRA_BRIDGE))
        if network is None:
            return None
        # Not one that has succeeded: the network comes back, also by the next nodenetd.
        apply = self._pipeline.intent(good.digest, Phase.APPLYING, in_force=None, brings_bridge=False)
        self._pipeline.changes.leave(Change(What.GOING_BACK, good.name, apply, network))
        self._begun = good.number
        text = f"The network of {good.name} comes back, as it was in entry {good.number} of the history"
        log.warning(text, message=Message.GOING_BACK, stage="nmstate", entry=good.number)
        return Waiting(f"the network of {good.name}, as it was in entry {good.number} of the history", seconds=0.0)
