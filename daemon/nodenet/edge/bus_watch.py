"""Does the system bus still answer, though the connection to it stands?

A bus that is stopped says nothing, like one on which nothing happens: whoever waits for a signal waits on. It is asked
now and then, and once it answers again whatever was missed is to be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nodenet.core.errors import Unavailable
from nodenet.edge.bus import DBUS, Bus

LOOK_SECONDS = 60.0
"""Rare, since every look wakes a processor on each node of a cluster."""
LOOK_AGAIN_SECONDS = 2.0
"""How soon it is asked again while it does not answer."""
MOMENT_SECONDS = 0.1
"""Until the end of a connection, which ends the question too, is seen by ``Bus`` for certain."""


async def watch(
    bus: Bus, changed: Callable[[bool], None], *, look: float = LOOK_SECONDS, again: float = LOOK_AGAIN_SECONDS
) -> None:
    """Tell *changed* when the bus no longer answers (False) and when it does again (True), until cancelled.

    That a connection ends is not told here: ``Bus`` tells it.
    """
    silent = False
    while True:
        await asyncio.sleep(again if silent else look)
        asked = bus.connections
        answers = await _answers(bus)
        if not bus.connected or bus.connections != asked:
            silent = False
        elif answers is silent:
            silent = not answers
            changed(answers)


async def _answers(bus: Bus) -> bool:
    try:
        await bus.call(*DBUS, "GetId")
    except Unavailable:
        await asyncio.sleep(MOMENT_SECONDS)
        return False
    return True
