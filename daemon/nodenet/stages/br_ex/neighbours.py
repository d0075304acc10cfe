"""How does a node keep its neighbours while its addresses move to another link?

A new link has an empty neighbour table. Its first ARP request may be lost, because Open vSwitch does not forward yet,
and the kernel repeats it after one second (``retrans_time_ms``, arp(7)). So the new link gets the entries of the old
one: the neighbours are the same hosts behind the same cable. The kernel checks each by itself when it is used (RFC 4861
section 7.3.3, and the same for ARP).
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Mapping

import structlog

from nodenet.core.errors import Unavailable
from nodenet.core.kernel.neighbours import Neighbour
from nodenet.ports import Neighbours

log = structlog.get_logger()

EVERY_SECONDS = 0.03
"""Between two looks: the link is made, goes down and up, and loses its entries each time."""


@contextlib.asynccontextmanager
async def neighbours_follow(neighbours: Neighbours, links: Mapping[str, str]) -> AsyncIterator[None]:
    """While the block runs, let each new link of *links* (old → new) have the neighbours that the old one had.

    What the kernel refuses is logged and is no reason to fail: it then asks by itself, after a second at the latest.
    """
    try:
        known = {new: neighbours.known(old) for old, new in links.items()}
    except Unavailable as error:
        log.info(f"Neighbours do not move: {error.cause}", stage="configure-ovs")
        known = {}
    follower = asyncio.create_task(_follow(neighbours, known))
    try:
        yield
    finally:
        follower.cancel()
        await asyncio.wait([follower])


async def _follow(neighbours: Neighbours, known: Mapping[str, tuple[Neighbour, ...]]) -> None:
    try:
        while any(known.values()):
            for link, before in known.items():
                there = {entry.address for entry in neighbours.known(link)}
                if lacking := [entry for entry in before if entry.address not in there]:
                    neighbours.learn(link, lacking)
            await asyncio.sleep(EVERY_SECONDS)
    except Unavailable as error:
        log.info(f"Neighbours do not move: {error.cause}", stage="configure-ovs")
