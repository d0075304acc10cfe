"""Which trial of a node file runs, who waits for it, and which orders can the loop be given beside it?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from nodenet.core.boot import stage_state
from nodenet.core.boot.outcome import Facts, Topic, named
from nodenet.core.boot.stage_state import inhibited
from nodenet.core.errors import Busy, NodenetError, Unavailable
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus
from nodenet.core.trial import trial
from nodenet.core.trial.refusals import not_ours, not_over
from nodenet.core.trial.trial import Decision, Trial, TrialEnded, TrialOrder, TrialState
from nodenet.loop import journal
from nodenet.loop.requests import Order, Requests
from nodenet.ports import Clock, TrialRunner

STOPPING = "nodenetd is stopping"


@dataclass(slots=True, eq=False)
class Asked:
    """One trial that a caller asked for: answered when it holds. *decision* is the administrator's, *over* the end."""

    order: TrialOrder
    answer: asyncio.Future[None]
    over: asyncio.Future[None]
    decision: asyncio.Future[Decision]
    refused: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())
    """Fails with why the present *decision* is refused; then both are replaced."""
    touched: bool = False
    """Whether the network was touched."""
    edited: str | None = None
    """The name of the node's own file where it was edited meanwhile."""


def obstacle(status: BootStatus, *, has_runner: bool) -> NodenetError | None:
    """Return why no trial can begin now; *has_runner*: nodenetd applies node files."""
    nmstate = status.boot[StageName.NMSTATE]
    if not has_runner:
        return not_ours(nmstate.provider)
    if wait := inhibited(status.inhibitors, nmstate.name):
        return Busy(f"the stage nmstate is held: {wait.reason}", remedy="End the program that holds it")
    return not_over(status.health) if not status.ready or status.boot.next() is not None else None


class Trials:
    """The present trial."""

    def __init__(self, clock: Clock, wake: Callable[[], None], show: Callable[[Trial], None]) -> None:
        """*wake* lets the loop take the trial that was asked for, *show* puts a trial into the status."""
        self._clock = clock
        self._wake = wake
        self._show = show
        self._asked: Asked | None = None
        self._trial: Trial | None = None

    def refuse(self) -> None:
        """Return where no trial runs. Raises Busy, which is logged."""
        if self._asked is None:
            return
        refusal = trial.held(self._trial or _begun(self._asked.order), self._clock.boottime())
        journal.order_refused(refusal)
        raise refusal

    async def begin(self, order: TrialOrder) -> None:
        """Ask for a trial and wait until it holds. Raises the error that ends it before that, Busy."""
        self.refuse()
        loop = asyncio.get_running_loop()
        self._asked = asked = Asked(order, loop.create_future(), loop.create_future(), loop.create_future())
        self._wake()
        await asyncio.shield(asked.answer)

    async def decide(self, decision: Decision, digest: str = "") -> None:
        """End the trial and wait until it has ended. Raises UsageInvalid, and why the trial failed.

        A confirmation waits until the file is applied and its probes are over, and a rollback that comes meanwhile goes
        first. *digest*: of the file that the decision is about; "": of whichever is on trial.
        """
        asked = self._asked
        if asked is None:
            raise trial.no_trial()
        if digest not in ("", asked.order.digest):
            raise trial.another(asked.order.name, asked.order.digest, digest, decision)
        if decision is Decision.CONFIRM:
            await asyncio.shield(asked.answer)
        await _answered(asked, decision)
        try:
            asked.over.result()
        except TrialEnded:
            if decision is Decision.CONFIRM:
                raise
        else:
            if decision is Decision.ROLL_BACK:
                raise trial.confirmed_already(asked.order)

    def refused(self, error: NodenetError | None) -> None:
        """End the trial that was asked for: the loop does not begin it because of *error*."""
        if self._asked and error:
            self._end(self._asked, _begun(self._asked.order).ended(TrialState.FAILED, error.cause), error)

    async def hold(self, runner: TrialRunner, facts: Facts) -> bool | None:
        """Have the file tried that was asked for; return whether it was confirmed, None where nothing was touched."""
        asked = self._asked
        if asked is None:
            return None
        self._put(_begun(asked.order))
        try:
            path = await runner.hold(asked.order, facts, _Administrator(self, asked))
        except asyncio.CancelledError:
            self._end(asked, self._present(asked).ended(TrialState.ROLLED_BACK, STOPPING), Unavailable(STOPPING))
            raise
        except Exception as error:  # noqa: BLE001  (whatever it is, the caller is answered and the loop goes on)
            self._failed(asked, error)
            return False if asked.touched else None
        self._end(asked, self._present(asked).ended(TrialState.CONFIRMED, installed=path), None)
        return True

    def _failed(self, asked: Asked, error: Exception) -> None:
        known = named(error, "the trial")
        state = TrialState.ROLLED_BACK if isinstance(error, TrialEnded) else TrialState.FAILED
        if isinstance(error, TrialEnded):
            journal.trial_rolled_back(asked.order.name, known)
        elif asked.touched or not isinstance(error, NodenetError):  # a refusal is the caller's alone
            journal.unforeseen(known, error, None)
        self._end(asked, self._present(asked).ended(state, known.cause), known)

    def _present(self, asked: Asked) -> Trial:
        return self._trial or _begun(asked.order)

    def _end(self, asked: Asked, ended: Trial, error: NodenetError | None) -> None:
        self._asked = self._trial = None
        if asked.edited:
            journal.trial_edited(asked.edited)
        self._show(replace(ended, edited=asked.edited))
        for future in (asked.answer, asked.over):
            if not future.done():
                future.set_exception(error) if error else future.set_result(None)
                future.exception()  # a caller that has gone leaves no warning behind

    def _put(self, present: Trial) -> None:
        self._trial = present
        self._show(present)

    def holds(self, asked: Asked, until: float) -> None:
        """Answer the caller: the file is applied, and is rolled back at *until*."""
        self._put(self._present(asked).holding(until))
        if not asked.answer.done():
            asked.answer.set_result(None)


class _Administrator:
    """Who decides about one trial (`nodenet.ports.Administrator`)."""

    def __init__(self, trials: Trials, asked: Asked) -> None:
        self._trials = trials
        self._asked = asked

    def begins(self) -> None:
        self._asked.touched = True

    def holds(self, until: float) -> None:
        self._trials.holds(self._asked, until)

    async def decided(self, seconds: float) -> Decision | None:
        with suppress(TimeoutError):
            return await asyncio.wait_for(asyncio.shield(self._asked.decision), seconds)
        return None

    def refuses(self, error: NodenetError) -> None:
        loop = asyncio.get_running_loop()
        refused, self._asked.refused = self._asked.refused, loop.create_future()
        self._asked.decision = loop.create_future()
        journal.order_refused(error)
        refused.set_exception(error)
        refused.exception()  # a caller that has gone leaves no warning behind

    def edited(self, name: str) -> None:
        self._asked.edited = name


async def _answered(asked: Asked, decision: Decision) -> None:
    """Give *decision*, and return when the trial has ended. Raises why a confirmation is refused."""
    while not asked.over.done():
        refused = asked.refused
        if not asked.decision.done():
            asked.decision.set_result(decision)
        await asyncio.wait({asked.over, refused}, return_when=asyncio.FIRST_COMPLETED)
        if refused.done() and decision is Decision.CONFIRM:
            refused.result()


def _begun(order: TrialOrder) -> Trial:
    return Trial(order.name, order.digest, order.who)


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
        self._requests.reruns[name] = who or stage_state.run(name)
        self._requests.wakened.set()

    async def reload(self, who: str = stage_state.RELOAD) -> None:
        """Read settings and node file again and run the stages. Raises NodenetError when that is refused."""
        await self._ask(Order.RELOAD, who)

    async def prune(self, who: str = stage_state.RELOAD) -> None:
        """Do the same, and remove what earlier node files have left over. Raises NodenetError."""
        self._trials.refuse()
        self._requests.prune = True
        await self._requests.ask(Order.RELOAD, who)

    async def reselect(self, who: str = stage_state.RESELECT) -> None:
        """Select the node IPs again and ignore what is published. Raises NodenetError when none is eligible."""
        await self._ask(Order.RESELECT, who)

    async def remove_bridge(self, who: str = stage_state.REMOVE) -> None:
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
