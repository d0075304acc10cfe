"""Does the system bus still answer, while its connection is open?

A stopped bus looks like a bus on which nothing happens: a program that waits for a signal waits for ever. So the bus is
pinged from time to time. When it answers again, every state that a missed signal may have changed is read.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from nodenet.core.common_wake import until_common
from nodenet.core.errors import Unavailable
from nodenet.edge.bus.connection import DBUS, Bus, Refused

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
