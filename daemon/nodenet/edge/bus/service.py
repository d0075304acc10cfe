"""What does nodenetd offer to programs over D-Bus, and how does it report changes to them?

The objects, their interfaces and values come from ``core.status.bus_interfaces``; how calls are received and answered
is in ``edge.bus.objects``.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import time
from collections.abc import Awaitable, Callable
from typing import Any

from nodenet import __version__
from nodenet.core.boot.stage_state import RELOAD, REMOVE, RESELECT, Inhibitor, run
from nodenet.core.errors import Unavailable, UsageInvalid
from nodenet.core.since import until_common
from nodenet.core.stage_name import StageName
from nodenet.core.status import bus_interfaces
from nodenet.core.status.bus_interfaces import MANAGER, NAME, OBJECTS, PATH
from nodenet.core.status.document import BootStatus, document
from nodenet.core.trial.trial import TrialOrder, order
from nodenet.core.value import frozen
from nodenet.edge.bus.connection import DBUS, Bus, Refused
from nodenet.edge.bus.objects import BusObjects

BY_ROOT = " (uid 0)"
"""No other caller gets an order through (`BusObjects`)."""


@frozen
class Orders:
    """What callers may ask for; each may raise NodenetError."""

    reload: Callable[[str], Awaitable[None]]
    """Takes who asks for it, for the history; the same below."""
    prune: Callable[[str], Awaitable[None]]
    """Reloads, and removes what earlier node files have left over."""
    reselect: Callable[[str], Awaitable[None]]
    remove_bridge: Callable[[str], Awaitable[None]]
    run_stage: Callable[[StageName, str], None]
    inhibit: Callable[[StageName, str, str], int]
    """Returns the descriptor that goes to the caller; it is closed here once it is sent."""
    explain: Callable[[str], str]
    try_file: Callable[[TrialOrder], Awaitable[None]]
    """Returns when the file is applied and waits for one of the next two."""
    confirm: Callable[[str], Awaitable[None]]
    """Takes the SHA-256 of the file that is confirmed, "" for whichever is on trial."""
    roll_back: Callable[[str], Awaitable[None]]
    """The same, of the file whose trial is to end."""
    history: Callable[[], str]
    """Returns the entries of the history as JSON, without their files and networks."""
    to_entry: Callable[[int, str, str, bool], TrialOrder]
    """Returns the order to go back to an entry: its number, for so many seconds, who asks, and whether by force."""


class Service(BusObjects):
    """The object /org/nodenet1 and one below it for each stage."""

    def __init__(self, bus: Bus, orders: Orders, status: Callable[[], BootStatus]) -> None:
        """Serve on *bus*; *status* is asked whenever a property is read."""
        super().__init__(bus, NAME, OBJECTS)
        self._orders = orders
        self._status = status
        self._shown: BootStatus | None = None
        self._sequence = 0

    def show(self, status: BootStatus) -> None:
        """Emit what changed since the last call."""
        before, self._shown = self._shown, status
        if before is None:
            return
        was = {path: self._values(path, before) for path in OBJECTS}
        for stage in bus_interfaces.changed_stages(before, status):
            self._sequence += 1
            body = [stage.name.value, stage.status.value, stage.detail, _microseconds_now(), self._sequence]
            self.emit(PATH, MANAGER, "StageChanged", body)
        for path in OBJECTS:
            self.emit_properties(path, was[path], self._values(path, status))
        for name, signal in bus_interfaces.signals(before, status).items():
            self.emit(PATH, MANAGER, name, signal)

    def values(self, path: str) -> dict[str, Any]:
        """Return the value of each property of an object."""
        return self._values(path, self._status())

    def _values(self, path: str, status: BootStatus) -> dict[str, Any]:
        _, stage = OBJECTS[path]
        if stage is None:
            return bus_interfaces.of_manager(status, __version__, self._sequence)
        return bus_interfaces.of_stage(status, stage)

    def document(self, member: str, arguments: list[str]) -> str | None:
        """Return the document that a question asks for, None for arguments that it does not take."""
        match member, arguments:
            case "Explain", [topic]:
                return self._orders.explain(topic)
            case "GetStatus", []:
                return json.dumps(document(self._status()))
        return None

    async def obey(self, member: str, arguments: list[str]) -> int | str | None:
        """Do what an order asks for; return the descriptor of an inhibitor, or the history. Raises NodenetError."""
        orders = self._orders
        bare = {
            "Reload": (orders.reload, RELOAD),
            "Prune": (orders.prune, RELOAD),
            "Reselect": (orders.reselect, RESELECT),
            "RemoveBridge": (orders.remove_bridge, REMOVE),
        }
        match member, arguments:
            case name, [] if name in bare:
                ask, what = bare[name]
                await ask(f"{what}{BY_ROOT}")
            case "Try", [name, digest, seconds, who]:
                await self._orders.try_file(order(name, digest, seconds, who))
            case "ConfirmTrial", [digest]:
                await self._orders.confirm(digest)
            case "RollBackTrial", [digest]:
                await self._orders.roll_back(digest)
            case "RollBackTo", [number, seconds, who, force]:
                await self._orders.try_file(self._orders.to_entry(int(number), seconds, who, force == str(True)))
            case "RunStage" | "Run", [name]:
                self._orders.run_stage(_stage(name), f"{run(name)}{BY_ROOT}")
            case "Inhibit", [stage, who, why]:
                return self._orders.inhibit(_stage(stage), who, why)
            case "History", []:
                return await asyncio.to_thread(orders.history)  # up to 20 MB are read
        return None


def _microseconds_now() -> int:
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def _stage(name: str) -> StageName:
    try:
        return StageName(name)
    except ValueError:
        known = ", ".join(stage.value for stage in StageName)
        raise UsageInvalid(f"there is no stage {name!r}", remedy=f"Stages are: {known}") from None


# How long does an inhibitor last?
#
# An inhibitor is the writing end of a pipe; the reading end stays here. When the last copy of the writing end is closed
# because its process closes it or ends, the reading end gets end of file (pipe(7)), and the inhibitor is released.

SWALLOWED_BYTES = 65536


class InhibitorLocks:
    """The pipes of all inhibitors."""

    def __init__(self, inhibitor: Callable[[Inhibitor], None], release: Callable[[Inhibitor], None]) -> None:
        """*inhibitor* gets a new one and may refuse it (raises NodenetError); *release* gets it when it ends."""
        self._hold = inhibitor
        self._release = release
        self._numbers = itertools.count(1)
        self._pipes: dict[int, Inhibitor] = {}

    def take(self, stage: StageName, who: str, why: str) -> int:
        """Inhibit *stage*; return the descriptor to hand to the holder and then to close here. Raises NodenetError."""
        inhibitor = Inhibitor(stage, who, why, next(self._numbers))
        ours, theirs = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            self._hold(inhibitor)
        except BaseException:
            os.close(ours)
            os.close(theirs)
            raise
        self._pipes[ours] = inhibitor
        asyncio.get_running_loop().add_reader(ours, self._readable, ours)
        return theirs

    def _readable(self, ours: int) -> None:
        """Discard what a holder writes; at end of file the inhibitor is over."""
        if os.read(ours, SWALLOWED_BYTES):
            return
        self._release(self._forget(ours))

    def close(self) -> None:
        """Let go of every pipe: holders see it as theirs breaking."""
        for ours in tuple(self._pipes):
            self._forget(ours)

    def _forget(self, ours: int) -> Inhibitor:
        asyncio.get_running_loop().remove_reader(ours)
        os.close(ours)
        return self._pipes.pop(ours)


# Does the system bus still answer, while its connection is open?
#
# A stopped bus looks like a bus on which nothing happens: a program that waits for a signal waits for ever. So the bus
# is asked from time to time. When it answers again, every state that a missed signal may have changed is read.

LOOK_SECONDS = 60.0
"""Rare, since every look wakes a processor on each node of a cluster."""
LOOK_AGAIN_SECONDS = 2.0
"""How soon it is asked again while it does not answer."""


async def watch(
    bus: Bus, changed: Callable[[bool], None], *, look: float = LOOK_SECONDS, again: float = LOOK_AGAIN_SECONDS
) -> None:
    """Call *changed* when the bus no longer answers (False) and when it does again (True), until cancelled.

    The end of a connection is reported by ``Bus``, not here.
    """
    silent = False
    while True:
        await asyncio.sleep(again if silent else until_common(asyncio.get_running_loop().time(), look))
        answers = await _answers(bus)
        if not bus.connected:
            silent = False
        elif answers is silent:
            silent = not answers
            changed(answers)


async def _answers(bus: Bus) -> bool:
    try:
        await bus.call(*DBUS, "GetId")
    except Unavailable:
        return False
    except Refused:
        return True  # an answer, if only that it has too much to do
    return True
