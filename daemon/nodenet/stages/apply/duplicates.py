"""Do other hosts have addresses that a node file newly asks for? The answer is awaited partly beside the apply."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

from nodenet.core.errors import Unavailable
from nodenet.core.probes.questions import Answer, Question, controls
from nodenet.ports import Neighbours

UNIQUE_SECONDS = 0.15
"""How long another host may take to defend its address: on a LAN it answers within milliseconds, and NetworkManager
asks once more when it configures the address (ipv4.dad-timeout)."""
HEAD_START_SECONDS = 0.05
"""After how long without an answer the apply may begin: libnmstate first reads the network for some 50 ms."""
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
        self._macs: dict[Question, bytes | None] = {}
        """Who has answered, None where the kernel does not say."""
        self._heard = asyncio.Event()
        self._began = asyncio.get_running_loop().time()
        self._asking = asyncio.ensure_future(self._ask_all(asked)) if asked else None

    async def first(self) -> tuple[Question, ...]:
        """Return the addresses of other hosts, none where no host has answered within HEAD_START_SECONDS."""
        if self._asking is None:
            return ()
        heard = asyncio.ensure_future(self._heard.wait())
        try:
            left = self._began + HEAD_START_SECONDS - asyncio.get_running_loop().time()
            await asyncio.wait((heard, self._asking), timeout=max(0.0, left), return_when=asyncio.FIRST_COMPLETED)
        finally:
            heard.cancel()
        return await self.rest() if self._heard.is_set() else ()

    async def rest(self) -> tuple[Question, ...]:
        """Return the addresses of other hosts that have answered within UNIQUE_SECONDS and were not returned before.

        Whether a router has answered is asked here, not beside the apply: that empties the table of neighbours.
        """
        if self._asking:
            await asyncio.shield(self._asking)
        answered, self._macs = self._macs, {}
        taken = await asyncio.gather(*(self._is_of_host(*each) for each in answered.items()))
        return tuple(question for question, is_taken in zip(answered, taken, strict=True) if is_taken)

    def end(self) -> None:
        """Wait for no answer any longer."""
        if self._asking and not self._asking.cancel() and not self._asking.cancelled():
            self._asking.exception()  # nothing is applied, so it is not awaited

    async def _ask_all(self, asked: Iterable[Question]) -> None:
        await asyncio.gather(*map(self._hear, asked))

    async def _hear(self, question: Question) -> None:
        if (await self._ask((question,), UNIQUE_SECONDS))[question] is Answer.YES:
            self._macs[question] = self._mac(question)
            self._heard.set()

    async def _is_of_host(self, question: Question, mac: bytes | None) -> bool:
        """Return whether another host has the address that *mac* has answered for.

        Not if a router answers for it (proxy ARP, RFC 1027), and not if it is answered with a MAC of this node
        (RFC 5227, 2.1.1): a fabric that answers in the place of its hosts may remember this one.
        """
        if mac is None:  # it has answered
            return True
        if mac.hex(":") in self._own:
            return False
        beside = await self._ask(controls(question), PROXY_SECONDS)
        answered = (each for each, answer in beside.items() if answer is Answer.YES)
        return not any(self._mac(each) == mac for each in answered)

    def _mac(self, question: Question) -> bytes | None:
        """Return the MAC that answered *question*, None where the kernel does not say."""
        try:
            known = self._neighbours.known(question.link)
        except Unavailable:
            return None
        return next((each.mac for each in known if each.address == question.address), None)
