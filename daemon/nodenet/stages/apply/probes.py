"""Does the network work as before, while an apply can still be rolled back?

Everything is asked at once, before the apply and after it. A probe ends with its first answer. After the apply only
what could roll it back is asked again, until it answers or `probe_timeout` is over.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePath

import structlog

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.kernel.snapshot import MAIN_TABLE, Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import LeaseMark, is_held
from nodenet.core.node_file.content import Desired
from nodenet.core.probes.questions import (
    NO_LOOK,
    Answer,
    Kind,
    Look,
    Question,
    Scope,
    controls,
    has_restarted,
    is_undecided,
    known,
    look_at,
    new_addresses,
    on_host,
    questions,
)
from nodenet.core.probes.verdict import Verdict, is_hopeless, merged, verdict
from nodenet.core.resolver import FILES, servers_of_others
from nodenet.core.settings.model import Settings
from nodenet.core.value import frozen
from nodenet.ports import Files, Kernel, Neighbours, Profiles, ResolverProbe, Targets
from nodenet.stage_edges import StageEdges

# Do other hosts have addresses that a node file newly asks for? Asked before the apply (RFC 5227, 2.1).
#
# One packet refuses nothing: an address that was answered for is asked for twice more within two seconds, and counts as
# that of another host where one of these is answered, too.

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


# Which of the questions are answered, before the apply and after it?

log = structlog.get_logger()

CA_FILE = "/etc/kubernetes/ca.crt"
"""Who signed the certificates of HTTPS targets, where `hosted.ca_file` is empty."""

GATEWAY_SECONDS = 3.0
"""How long a gateway may take that has had all the time to be there: it is asked three times, as one packet may be lost
and the node may be busy with its boot."""
ROUND_SECONDS = 1.0
"""The same of other hosts, and after an apply, before everything that matters is asked again."""
LEASE_SECONDS = 55.0
"""How long a lease may take: NetworkManager's DHCP gives up after 45 s (``dhcp-timeout``), and begins again at once."""
FORWARD_SECONDS = 35.0
"""How long a switch port may take after its carrier came back: twice the forward delay of a spanning tree (IEEE 802.1D:
15 s), and what is asked then. A lease may take so much longer."""
HTTPS_SECONDS = 5.0
"""How long one HTTPS request may take, which needs a process and a handshake: seconds on a node that is busy with its
boot. It takes no longer than `probe_timeout`."""
NO_WISH = Desired(empty=True)
PAUSE_SECONDS = 0.1
"""Between two rounds: routes and addresses of a DHCP server come late."""
BACK_SECONDS = 10.0
"""How long a rollback may take to restore the network; then the stages behind report what is missing."""
DAD_SECONDS = 3.0
"""How long the kernel may take to find that another host has an IPv6 address of the file: one probe and a second by
default (``dad_transmits``). NetworkManager waits for that where it activates a link, but not where it changes one."""


@frozen
class ProbeEdges:
    """The edges that probes work through."""

    kernel: Kernel
    neighbours: Neighbours
    resolver: ResolverProbe
    targets: Targets
    files: Files
    profiles: Profiles

    @classmethod
    def of(cls, edges: StageEdges) -> ProbeEdges:
        """Return those of *edges*."""
        return cls(edges.kernel, edges.neighbours, edges.resolver_probe, edges.targets, edges.files, edges.profiles)


@frozen
class Before:
    """What answers before an apply, the question for its new addresses, and the network of the node."""

    look: Look = NO_LOOK
    wish: Desired = NO_WISH
    """What the file asks for, with the kernel's names of links."""
    snapshot: Snapshot = field(default_factory=Snapshot)
    duplicates: Duplicates | None = None
    leases: Mapping[str, LeaseMark] = field(default_factory=dict)
    """What NetworkManager shows of the leases that the file asks for, right before the apply."""

    @property
    def is_silent(self) -> bool:
        """Whether there are gateways behind a carrier, and none answers: the switch port may not forward yet."""
        carriers = {link.name for link in self.snapshot.links if link.up and link.carrier}
        asked = [each for each in self.look.answers if each.kind is Kind.GATEWAY and each.link in carriers]
        return bool(asked) and self.look.gateway is None


@dataclass(slots=True)
class Probes:
    """The probes of one stage. *seconds* is `probe_timeout`; with 0 nothing is asked.

    *forward_seconds* is how long a switch port may take to forward, *back_seconds* how long a rollback.
    """

    edges: ProbeEdges
    scope: Scope
    seconds: float
    forward_seconds: float = FORWARD_SECONDS
    back_seconds: float = BACK_SECONDS
    took: dict[Question, float] = field(default_factory=dict, init=False)
    """The seconds of the last answer to each question."""
    _held: tuple[str, Look] = field(default=("", NO_LOOK), init=False)
    """The file that is tried, and what answered before its first try: a rollback takes a while."""

    @classmethod
    def of(cls, edges: StageEdges, settings: Settings) -> Probes:
        """Return the probes that *settings* ask for."""
        authority = settings.hosted.ca_file or CA_FILE
        targets = [replace(each, ca_file=authority if each.path else "") for each in settings.probe_targets]
        vips = frozenset(map(family_of, settings.vips))
        families = vips if settings.families == "auto" else frozenset(map(Family, settings.families))
        scope = Scope(tuple(targets), settings.route_tables, families)
        return cls(ProbeEdges.of(edges), scope, float(settings.probe_timeout))

    async def before(self, wish: Desired, patience: float = 0.0) -> Before:
        """Return what answers before an apply, with the question whether other hosts have its new addresses.

        The caller ends that question. *patience*: for so many seconds it is asked again while there are gateways, and
        none answers. Raises Unavailable while the kernel does not answer: what worked before would not be known.
        """
        end = asyncio.get_running_loop().time() + patience
        logged = False
        while True:
            found = await self._at_present(wish)
            if not found.is_silent or asyncio.get_running_loop().time() >= end:
                return found
            if found.duplicates:
                found.duplicates.end()
            if not logged:
                text = f"No gateway answers yet: a new node file waits for one for up to {patience:g} s"
                log.info(text, message=Message.PROBE_SILENT, stage="nmstate")
                logged = True
            await asyncio.sleep(PAUSE_SECONDS)

    async def _at_present(self, wish: Desired) -> Before:
        snapshot = self.edges.kernel.snapshot()
        wish = on_host(wish, snapshot.links)
        asked = questions(snapshot, self._servers(snapshot), self.scope, large=wish.demands.mtu)
        own = {mac for link in snapshot.links for mac in (link.mac, link.permanent_mac) if mac}
        unique = tuple(new_addresses(snapshot, wish.addresses))
        duplicates = Duplicates(self._ask, self.edges.neighbours, unique, own)
        try:
            answers = await self._ask(asked, GATEWAY_SECONDS)
        except BaseException:
            duplicates.end()
            raise
        look = look_at(snapshot, answers | known(snapshot, _links(wish)), self.scope)
        return Before(look, wish, snapshot, duplicates)

    async def leases(self, wish: Desired) -> Mapping[str, LeaseMark]:
        """Return what NetworkManager shows of the DHCPv4 leases that the file asks for. Raises Unavailable."""
        links = {each.link for each in wish.demands.leases if each.family is Family.IPV4}
        return await self.edges.profiles.leases(links) if links else {}

    def has_begun(self, digest: str) -> bool:
        """Return whether the file with *digest* was tried before."""
        return self._held[0] == digest

    def remember(self, digest: str, look: Look, wish: Desired) -> Look:
        """Return what answered before this try of the file with *digest*, or before an earlier one.

        *wish*: what the file asks for, with the kernel's names.
        """
        if self._held[0] == digest:
            look = merged(self._held[1], look)
        self._held = digest, look
        asked = wish.demands.within({MAIN_TABLE, *self.scope.tables})
        return replace(look, asked=asked, required=self.scope.families)

    def forget(self) -> None:
        """Forget what answered before: the file is applied, or will not be tried again."""
        self._held = "", NO_LOOK

    async def after(self, before: Before) -> tuple[Look, Verdict]:
        """Return what answers after the apply, and what that means; at once when nothing speaks against it.

        Raises Unavailable where kernel or NetworkManager do not answer until time is over.
        """
        time = asyncio.get_running_loop().time
        began, end = time(), time() + self.seconds
        look, wish = NO_LOOK, before.wish
        while True:
            last = time() >= end  # known before the round, so that the last one is a whole one
            try:
                snapshot = self.edges.kernel.snapshot()
                # After an interruption the link may have come up moments ago, and its changes since are not known.
                learns = before.look.owes_gateway or has_restarted(before.snapshot, snapshot, _links(wish))
                more = self.forward_seconds if learns else 0.0
                held, given_up = await self._leases_held(before, snapshot, time() - began)
                look = await self._round(before, look, snapshot, held)
                found = verdict(before.look, look)
                checks = is_undecided(snapshot, wish.addresses) and time() - began < DAD_SECONDS
                # Also where nothing is demanded: an address that goes in some seconds would be selected as node IP.
                if not (found.failed or checks or given_up) or (last and not given_up):
                    return look, found
                end = max(end, began + more)
                if found.lease and time() < began + LEASE_SECONDS + more:  # with the lease the gateway is asked, too
                    end = max(end, min(time() + GATEWAY_SECONDS, began + LEASE_SECONDS + more))
            except Unavailable:  # what is asked does not answer at present
                if last:
                    raise
            await asyncio.sleep(PAUSE_SECONDS)

    async def restored(self, before: Before) -> None:
        """Return when the node has its addresses again and its gateway answers, after *back_seconds* at the latest.

        NetworkManager answers a rollback before it has activated the restored profiles.
        """
        gateway = before.look.gateway
        addresses = {item.address for item in before.snapshot.addresses}
        end = asyncio.get_running_loop().time() + self.back_seconds
        while asyncio.get_running_loop().time() < end:
            with contextlib.suppress(Unavailable):
                here = {item.address for item in self.edges.kernel.snapshot().addresses}
                if addresses <= here and (not gateway or await self._answer(gateway, ROUND_SECONDS) is Answer.YES):
                    return
            await asyncio.sleep(PAUSE_SECONDS)

    async def _round(self, before: Before, last: Look, snapshot: Snapshot, held: Collection[str]) -> Look:
        """Ask what is new or could fail, and return all that is known now, with leases for the links *held*."""
        asked = questions(snapshot, self._servers(snapshot), self.scope, large=before.wish.demands.mtu)
        old = {each: Answer.NOT_ASKED for each in asked if is_hopeless(each, before.look)}
        # A gateway may have answered over an address that the node does not keep.
        old |= {each: last.answers[each] for each in asked if each in last.answers and each.kind is not Kind.GATEWAY}
        due = [each for each in asked if old.get(each, Answer.NO) not in (Answer.YES, Answer.NOT_ASKED)]
        given = old | await self._ask(due, ROUND_SECONDS)
        answers = {each: given[each] for each in asked}
        return look_at(snapshot, answers | known(snapshot, _links(before.wish)), self.scope, held)

    async def _leases_held(self, before: Before, snapshot: Snapshot, seconds: float) -> tuple[frozenset[str], bool]:
        """Return the links that NetworkManager holds a lease for, and whether one still has the address of another.

        Raises Unavailable.
        """
        leases = await self.leases(before.wish)
        own = {link: {each.address for each in snapshot.addresses if each.link == link} for link in leases}
        held = {link for link, mark in leases.items() if is_held(before.leases.get(link), mark, seconds, own[link])}
        return frozenset(held), any(leases[link].address in own[link] for link in leases.keys() - held)

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
                longest = min(HTTPS_SECONDS, self.seconds) if question.target.path else ROUND_SECONDS
                return await edges.targets.answers(question.target, longest)
            if address is None:
                return Answer.UNKNOWN
            if question.kind is Kind.DNS:
                # One packet may be lost, and a server that was not heard before is not compared.
                heard = await edges.resolver.answers(address, "") or await edges.resolver.answers(address, "")
            else:
                heard = await edges.neighbours.answers(address, question.link, seconds)
        except Unavailable:  # the link is gone for the moment
            return Answer.NO
        return Answer.YES if heard else Answer.NO

    def _servers(self, snapshot: Snapshot) -> tuple[IPAddress, ...]:
        own = {item.address for item in snapshot.addresses}
        return servers_of_others({path: self._read(path) for path in FILES}, own)

    def _read(self, path: PurePath) -> bytes | None:
        try:
            return self.edges.files.read(path)
        except PublishFailed:
            return None


def _links(wish: Desired) -> frozenset[str]:
    return wish.links.existing | wish.links.made
