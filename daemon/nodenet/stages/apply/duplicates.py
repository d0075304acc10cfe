"""Do other hosts have addresses that a node file newly asks for? Asked before the apply (RFC 5227, 2.1).

One packet refuses nothing: an address that was answered for is asked for twice more within two seconds, and counts as
that of another host where one of these is answered, too.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

from nodenet.core.errors import Unavailable
from nodenet.core.probes.questions import Answer, Question, controls
from nodenet.ports import Neighbours

UNIQUE_SECONDS = 0.15
"""How long another host may take to defend its address: on a LAN it answers within milliseconds, and NetworkManager
asks once more when it configures the address (ipv4.dad-timeout)."""
TIMES, AGAIN_SECONDS = 2, 1.0
"""How often an address is asked for once it was answered for, and how long each answer may take."""
PROXY_SECONDS = 1.0
"""How long a router may take to answer for any address: Linux does so after 0.8 s at most (``proxy_delay``, arp(7))."""


class Duplicates:
    """A question for new addresses, under way since it was made."""

    def __init__(
        self,
        ask: Callable[[Iterable[Question], float], Awaitable[Mapping[Question, Answer]]],
        neighbours: Neighbours,
        asked: Collection[Question],
        own: Collection[str],
    ) -> None:
        """Put the questions *asked* through *ask*, with a limit in seconds; *own* are the MACs of this node."""
        self._ask = ask
        self._neighbours = neighbours
        self._own = own
        self._asking = asyncio.ensure_future(self._ask_all(asked)) if asked else None

    async def taken(self) -> Mapping[Question, str]:
        """Return the addresses of other hosts, and their MACs, "" where the kernel does not say."""
        return await asyncio.shield(self._asking) if self._asking else {}

    def end(self) -> None:
        """Wait for no answer any longer."""
        if self._asking and not self._asking.cancel() and not self._asking.cancelled():
            self._asking.exception()  # nothing is applied, so it is not awaited

    async def _ask_all(self, asked: Collection[Question]) -> dict[Question, str]:
        found = await asyncio.gather(*map(self._host, asked))
        return {question: mac for question, mac in zip(asked, found, strict=True) if mac is not None}

    async def _host(self, question: Question) -> str | None:
        """Return the MAC of the host that has the address, None where no other host has it."""
        if not await self._answers(question, UNIQUE_SECONDS):
            return None
        mac = self._mac(question)
        if mac in self._own or await self._is_of_router(question, mac):
            return None
        for _ in range(TIMES):
            began = asyncio.get_running_loop().time()
            if await self._answers(question, AGAIN_SECONDS):
                return self._mac(question)
            await asyncio.sleep(began + AGAIN_SECONDS - asyncio.get_running_loop().time())
        return None

    async def _answers(self, question: Question, seconds: float) -> bool:
        return (await self._ask((question,), seconds))[question] is Answer.YES

    async def _is_of_router(self, question: Question, mac: str) -> bool:
        """Return whether a router with *mac* answers for any address (proxy ARP, RFC 1027).

        A MAC of this node is none of another host either (RFC 5227, 2.1.1): a fabric that answers in the place of its
        hosts may remember this one.
        """
        if not mac:
            return False
        beside = await self._ask(controls(question), PROXY_SECONDS)
        answered = (each for each, answer in beside.items() if answer is Answer.YES)
        return any(self._mac(each) == mac for each in answered)

    def _mac(self, question: Question) -> str:
        """Return the MAC that answered *question*, empty where the kernel does not say."""
        try:
            known = self._neighbours.known(question.link)
        except Unavailable:
            return ""
        return next((each.mac.hex(":") for each in known if each.address == question.address and each.mac), "")
