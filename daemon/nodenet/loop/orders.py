"""What can the loop be asked for from outside, and what is refused while a trial of a node file holds the network?"""

from __future__ import annotations

from nodenet.core.boot import request
from nodenet.core.boot.outcome import Topic
from nodenet.core.stage_name import StageName
from nodenet.core.trial.trial import Decision, TrialOrder
from nodenet.loop.requests import Order, Requests
from nodenet.loop.trials import Trials
from nodenet.ports import Clock


class LoopOrders:
    """The orders of the loop, for the bus and for signals."""

    def __init__(self, requests: Requests, trials: Trials, clock: Clock) -> None:
        """Give them to *requests* and *trials*."""
        self._requests = requests
        self._trials = trials
        self._clock = clock

    def wake(self, topic: Topic) -> None:
        """Note that something about *topic* changed."""
        self._requests.topics[topic] = self._clock.boottime()
        self._requests.wakened.set()

    def stop(self) -> None:
        """End the loop; a running attempt is cancelled and cleans up."""
        self._requests.stop = True
        self._requests.wakened.set()

    def rerun(self, name: StageName, who: str = "") -> None:
        """Run stage *name* and those behind it again. Raises Busy during a trial, like each order below.

        *who*: who asks for that, for the history; the same below.
        """
        self._trials.refuse()
        self._requests.reruns[name] = who or request.run(name)
        self._requests.wakened.set()

    async def reload(self, who: str = request.RELOAD) -> None:
        """Read settings and node file again and run the stages. Raises NodenetError when that is refused."""
        await self._ask(Order.RELOAD, who)

    async def prune(self, who: str = request.RELOAD) -> None:
        """Do the same, and remove what earlier node files have left over. Raises NodenetError."""
        self._trials.refuse()
        self._requests.prune = True
        await self._requests.ask(Order.RELOAD, who)

    async def reselect(self, who: str = request.RESELECT) -> None:
        """Select the node IPs again and ignore what is published. Raises NodenetError when none is eligible."""
        await self._ask(Order.RESELECT, who)

    async def remove_bridge(self, who: str = request.REMOVE) -> None:
        """Move the node back to the uplink without br-ex. Raises NodenetError when it could not be."""
        await self._ask(Order.REMOVE_BRIDGE, who)

    async def _ask(self, order: Order, who: str) -> None:
        self._trials.refuse()
        await self._requests.ask(order, who)

    async def try_file(self, order: TrialOrder) -> None:
        """Apply a node file until an administrator decides; return when it is applied. Raises NodenetError."""
        await self._trials.begin(order)

    async def confirm(self, digest: str) -> None:
        """Keep and install the file with *digest*, which is on trial; "": whichever is.

        Raises NodenetError where that could not be done, UsageInvalid where another file is on trial.
        """
        await self._trials.decide(Decision.CONFIRM, digest)

    async def roll_back(self, digest: str) -> None:
        """End the trial of the file with *digest*, "": whichever is on trial; return when the network is as before.

        Raises NodenetError, UsageInvalid where another file is on trial.
        """
        await self._trials.decide(Decision.ROLL_BACK, digest)
