"""Does the system bus still answer, though the connection to it stands?

A bus that is stopped says nothing, like one on which nothing happens: whoever waits for a signal waits on. It is asked
now and then, and once it answers again whatever was missed is to be read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nodenet.core.errors import Unavailable
from nodenet.edge.bus.connection import DBUS, Bus

LOOK_SECONDS = 60.0
"""Rare, since every look wakes a processor on each node of a cluster."""
LOOK_AGAIN_SECONDS = 2.0
"""How soon it is asked again while it does not answer."""


async def watch(
    bus: Bus, changed: Callable[[bool], None], *, look: float = LOOK_SECONDS, again: float = LOOK_AGAIN_SECONDS
) -> None:
    """Tell *changed* when the bus no longer answers (False) and when it does again (True), until cancelled.

    That a connection ends is not told here: ``Bus`` tells it.
    """
    silent = False
    while True:
        await asyncio.sleep(again if silent else look)
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
    return True
