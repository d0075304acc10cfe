"""How does a node come back to its last known good network, and not only to the file of it?

NMState leaves alone what a file does not name, so the older file alone would leave all that the newer one has added:
a bridge, a VLAN, a route, an MTU. The profiles of the good network are put back as the ones from before an interrupted
apply are (`way_back`), and then the file is compared with the network as in each boot.
"""

from __future__ import annotations

from itertools import takewhile

import structlog

from nodenet.core.apply.intent import Phase
from nodenet.core.boot.outcome import Waiting
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.history.going_back import network_of
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.find import NodeFile
from nodenet.stage_edges import Presence
from nodenet.stages.apply.history import History
from nodenet.stages.apply.pipeline import MANAGER, Pipeline
from nodenet.stages.nmstate.way_back import WayBack

log = structlog.get_logger()


class GoingBack:
    """Puts the last known good network back, once for each file that is given up."""

    def __init__(self, history: History, presence: Presence, pipeline: Pipeline, way_back: WayBack) -> None:
        """Take the network from *history* and let *way_back* put it back."""
        self._before = way_back.before
        self._history = history
        self._presence = presence
        self._pipeline = pipeline
        self._way_back = way_back
        self._begun = 0
        """The number of the entry that this process has gone back to."""

    async def first(self, own: NodeFile, wish: Desired, hostname: str | None) -> Waiting | None:
        """Put the good network back that the file *own* is given up for; return what that waits for, if anything.

        Nothing is done where the network is that of the good file, as it is after an apply of *own* that was undone.
        Raises Unavailable, PublishFailed.
        """
        good, record = self._history.good(hostname).entry, self._pipeline.record
        if good is None or good.number == self._begun or record is None or record.in_force == good.digest:
            return None
        state, words = await self._presence.look()
        if state not in (ManagerState.READY, ManagerState.STARTING):
            return Waiting(words, MANAGER)
        newer = takewhile(lambda each: each.number > good.number, self._history.all())
        network = network_of(good, newer, await self._before.look(own, wish), (BRIDGE, EXTRA_BRIDGE))
        if network is None:
            return None
        self._way_back.begin(network)
        # Not one that has succeeded: what is kept is put back, also by the next nodenetd.
        self._pipeline.save(self._pipeline.intent(good.digest, Phase.ROLLED_BACK, in_force=None, brings_bridge=False))
        self._begun = good.number
        text = f"The network of {good.name} comes back, as it was in entry {good.number} of the history"
        log.warning(text, message=Message.GOING_BACK, stage="nmstate", entry=good.number)
        return await self._way_back.restored()
