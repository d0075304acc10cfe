"""Does the network work as before, while an apply can still be rolled back?

Everything is asked at once, before the apply and after it. A probe ends with its first answer. After the apply only
what could roll it back is asked again, until it answers or `probe_timeout` is over.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import PurePath

import structlog

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.node_file.content import Desired
from nodenet.core.probes.questions import (
    NO_LOOK,
    Answer,
    Kind,
    Look,
    Question,
    Scope,
    controls,
    has_default,
    known,
    new_addresses,
    questions,
)
from nodenet.core.probes.verdict import (
    Verdict,
    can_fail,
    is_hopeless,
    merged,
    verdict,
)
from nodenet.core.resolver.resolv_conf import nameservers
from nodenet.core.resolver.view import NM_FILES, RESOLV_CONF, View
from nodenet.core.settings.model import Settings
from nodenet.ports import Files, Kernel, Neighbours, ResolverProbe, Targets
from nodenet.stage_edges import StageEdges

log = structlog.get_logger()

BASELINE_SECONDS = 1.0
"""How long a host may take that has had all the time to be there."""
ROUND_SECONDS = 1.0
"""The same after an apply, before everything that matters is asked again."""
PAUSE_SECONDS = 0.1
"""Between two rounds: routes and addresses of a DHCP server come late."""
BACK_SECONDS = 10.0
"""How long a rollback may take to restore the network; then the stages behind report what is missing."""
UNIQUE_SECONDS = 0.15
"""How long another host may take to defend its address: on a LAN it answers within milliseconds, and NetworkManager
asks once more when it configures the address (ipv4.dad-timeout)."""


@dataclass(frozen=True, slots=True)
class ProbeEdges:
    """The edges that probes work through."""

    kernel: Kernel
    neighbours: Neighbours
    resolver: ResolverProbe
    targets: Targets
    files: Files

    @classmethod
    def of(cls, edges: StageEdges) -> ProbeEdges:
        """Return those of *edges*."""
        return cls(edges.kernel, edges.neighbours, edges.resolver_probe, edges.targets, edges.files)


@dataclass(frozen=True, slots=True)
class Before:
    """What answers before an apply, which of its addresses other hosts have, and the addresses of the node."""

    look: Look = NO_LOOK
    taken: tuple[Question, ...] = ()
    addresses: frozenset[IPAddress] = frozenset()


@dataclass(slots=True)
class Probes:
    """The probes of one stage. *seconds* is `probe_timeout`; with 0 nothing is asked."""

    edges: ProbeEdges
    scope: Scope
    seconds: float
    took: dict[Question, float] = field(default_factory=dict, init=False)
    """The seconds of the last answer to each question."""
    _held: tuple[str, Look] = field(default=("", NO_LOOK), init=False)
    """The file that is tried, and what answered before its first try: a rollback takes a while."""

    @classmethod
    def of(cls, edges: StageEdges, settings: Settings) -> Probes:
        """Return the probes that *settings* ask for."""
        scope = Scope(settings.probe_targets, settings.route_tables)
        return cls(ProbeEdges.of(edges), scope, float(settings.probe_timeout))

    async def before(self, wish: Desired) -> Before:
        """Return what answers before an apply, and which new addresses other hosts have."""
        try:
            snapshot = self.edges.kernel.snapshot()
        except Unavailable:  # nothing is known to have worked
            return Before()
        asked = questions(snapshot, self._servers(), self.scope)
        unique = tuple(new_addresses(snapshot, wish.addresses))
        answers, taken = await asyncio.gather(self._ask(asked, BASELINE_SECONDS), self._taken(unique))
        look = Look(answers | known(snapshot, _links(wish)), has_default(snapshot, self.scope))
        return Before(look, taken, frozenset(item.address for item in snapshot.addresses))

    def remember(self, digest: str, look: Look) -> Look:
        """Return what answered before this try of the file with *digest*, or before an earlier one."""
        if self._held[0] == digest:
            look = merged(self._held[1], look)
        self._held = digest, look
        return look

    def forget(self) -> None:
        """Forget what answered before: the file is applied, or will not be tried again."""
        self._held = "", NO_LOOK

    async def after(self, before: Look, wish: Desired) -> tuple[Look, Verdict]:
        """Return what answers after the apply, and what that means; at once when nothing speaks against it."""
        loop = asyncio.get_running_loop()
        end = loop.time() + self.seconds
        look = NO_LOOK
        while True:
            last = loop.time() >= end  # known before the round, so that the last one is a whole one
            with contextlib.suppress(Unavailable):  # the kernel does not answer at present
                look = await self._round(before, look, wish)
                found = verdict(before, look)
                if last or not found.failed:
                    return look, found
            if last:
                return look, Verdict()  # what is not known speaks against no file
            await asyncio.sleep(PAUSE_SECONDS)

    async def restored(self, before: Before) -> None:
        """Return when the node has its addresses again and its gateway answers, after BACK_SECONDS at the latest.

        NetworkManager answers a rollback before it has activated the restored profiles.
        """
        gateway = before.look.gateway
        end = asyncio.get_running_loop().time() + BACK_SECONDS
        while asyncio.get_running_loop().time() < end:
            with contextlib.suppress(Unavailable):
                here = {item.address for item in self.edges.kernel.snapshot().addresses}
                if before.addresses <= here and (
                    not gateway or await self._answer(gateway, ROUND_SECONDS) is Answer.YES
                ):
                    return
            await asyncio.sleep(PAUSE_SECONDS)

    async def _round(self, before: Look, last: Look, wish: Desired) -> Look:
        """Ask what is new or could fail, and return all that is known now. Raises Unavailable."""
        snapshot = self.edges.kernel.snapshot()
        asked = questions(snapshot, self._servers(), self.scope)
        old = {each: Answer.NO for each in asked if is_hopeless(each, before)}
        old |= {each: last.answers[each] for each in asked if each in last.answers}
        due = [each for each in asked if each not in old or can_fail(each, old[each], before)]
        answers = old | await self._ask(due, ROUND_SECONDS)
        return Look(answers | known(snapshot, _links(wish)), has_default(snapshot, self.scope))

    async def _taken(self, addresses: Iterable[Question]) -> tuple[Question, ...]:
        """Return those addresses that another host has; not those that a router answers for (proxy ARP, RFC 1027)."""
        answers = await self._ask(addresses, UNIQUE_SECONDS)
        found = [question for question, answer in answers.items() if answer is Answer.YES]
        return tuple([question for question in found if not await self._is_proxied(question)])

    async def _is_proxied(self, question: Question) -> bool:
        beside = await self._ask(controls(question), UNIQUE_SECONDS)
        try:
            macs = {each.address: each.mac for each in self.edges.neighbours.known(question.link)}
        except Unavailable:
            return False
        mac = macs.get(question.address) if question.address else None
        answered = [each for each, answer in beside.items() if answer is Answer.YES]
        return mac is not None and any(each.address and macs.get(each.address) == mac for each in answered)

    async def _ask(self, asked: Iterable[Question], seconds: float) -> dict[Question, Answer]:
        found = tuple(asked)
        return dict(zip(found, await asyncio.gather(*(self._answer(each, seconds) for each in found)), strict=True))

    async def _answer(self, question: Question, seconds: float) -> Answer:
        time = asyncio.get_running_loop().time
        began = time()
        answer = await self._asked(question, seconds)
        self.took[question] = time() - began
        return answer

    async def _asked(self, question: Question, seconds: float) -> Answer:
        edges, address = self.edges, question.address
        try:
            if question.target:
                return await edges.targets.answers(question.target, seconds)
            if address is None:
                return Answer.UNKNOWN
            if question.kind is Kind.DNS:
                heard = await edges.resolver.answers(address, "")
            else:
                heard = await edges.neighbours.answers(address, question.link, seconds)
        except Unavailable:  # the link is gone for the moment
            return Answer.NO
        return Answer.YES if heard else Answer.NO

    def _servers(self) -> tuple[IPAddress, ...]:
        """Return the DNS servers that the node has from NetworkManager, else those of resolv.conf."""
        view = View(found=self._read(RESOLV_CONF), manager_files=tuple(map(self._read, NM_FILES)))
        return nameservers(view.source)

    def _read(self, path: PurePath) -> bytes | None:
        try:
            return self.edges.files.read(path)
        except PublishFailed:
            return None


def _links(wish: Desired) -> frozenset[str]:
    return wish.links.existing | wish.links.made
