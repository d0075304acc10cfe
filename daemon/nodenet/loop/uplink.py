"""Can the node IPs still be reached after READY? It watches, reports, and never changes the network.

The kernel says when the carrier of the uplink changes, and when a default route ends. Gateways are asked once a minute.
DNS servers are asked with every other beat of the watchdog, and their answers are read with the beat between. A node
that runs well wakes for nothing else.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from nodenet.core.boot.outcome import Problem
from nodenet.core.boot.stage_state import Status
from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Link
from nodenet.core.resolver import Texts, has_own_server, servers_of_others
from nodenet.core.since import BEAT_SECONDS
from nodenet.core.stage_name import StageName
from nodenet.core.status.document import BootStatus
from nodenet.core.uplink_health.health import (
    AGAIN_SECONDS,
    CARRIER,
    CLAIM,
    FINE,
    Condition,
    DnsServers,
    WayOut,
    carrier_problem,
    claim_problem,
    has_carrier,
    notes,
    until_asked,
)
from nodenet.core.uplink_health.watched import (
    OVS_KINDS,
    Gateway,
    Place,
    gateways,
    of_other_hosts,
    place_of,
    uplinks,
)
from nodenet.core.value import frozen
from nodenet.ports import Clock, Kernel, Neighbours, Ovsdb

PROBE_SECONDS = 60.0
"""Between two questions to a gateway that answers."""
NAME_SERVER_SECONDS = 2 * BEAT_SECONDS
"""The same for DNS servers: more often, since their answers are read a beat later. It costs no wake-up."""
ANSWER_SECONDS = 2.0
"""How long a gateway may take, and a DNS server that did not answer in time before."""
SETTLE_SECONDS = 0.5
"""After a default route ended: its replacement comes right behind it."""
PORTS_SECONDS = PROBE_SECONDS / 2
"""How long the ports of a bridge are taken for known; less than a minute, so each look once a minute asks again."""
CHANGING = (StageName.NMSTATE, StageName.CONFIGURE_OVS)
"""The stages that change routes. They have probes of their own, and roll back what does not answer."""


class Links(Protocol):
    """A few links of the kernel, and their changes."""

    def link(self, name: str) -> Link | None:
        """Return a link as it is now, None where there is none. Raises Unavailable."""

    def listen(self, names: Sequence[str], changed: Callable[[], None], unrouted: Callable[[], None]) -> None:
        """Call *changed* after changes of these links and no others, *unrouted* when a default route has ended.

        Raises Unavailable.
        """

    def close(self) -> None:
        """Listen no longer."""


class NameServers(Protocol):
    """The DNS servers that this node asks."""

    def files(self) -> Texts:
        """Return the files that list them."""

    def ask(self, servers: Collection[IPAddress]) -> None:
        """Ask each of *servers*."""

    def answered(self) -> frozenset[IPAddress]:
        """Return those that have answered since."""

    def close(self) -> None:
        """Ask no longer."""


class Rivals(Protocol):
    """Other hosts that claim addresses of this node."""

    def ask(self, addresses: Iterable[IPAddress], link: str) -> None:
        """Ask the hosts on *link* who has *addresses*."""

    def heard(self) -> Mapping[IPAddress, frozenset[str]]:
        """Return the MACs of those that have claimed one since."""

    def close(self) -> None:
        """Listen no longer."""


@frozen
class UplinkEdges:
    """The edges that the watch looks through."""

    links: Links
    neighbours: Neighbours
    kernel: Kernel
    ovsdb: Ovsdb
    clock: Clock
    name_servers: NameServers
    rivals: Rivals


class UplinkWatch:
    """Sees every status, and reports a problem of the uplink, or that there is none any more."""

    def __init__(self, edges: UplinkEdges, report: Callable[[Problem | None, tuple[str, ...]], None]) -> None:
        """*report* is called with each change of the problem, and of what is only to be noted."""
        self._edges = edges
        self._report = report
        self._reported: tuple[Problem | None, tuple[str, ...]] = (None, ())
        self._place: Place | None = None
        """Where the node IPs are; None before READY."""
        self._moved = asyncio.Event()
        self._look_again = asyncio.Event()
        """Set after an event of an uplink, and once a minute in case one was missed."""
        self._ask_again = asyncio.Event()
        """Set when what gateways answered before says nothing any more.

        A default route has ended, the carrier is back, or no DNS server answers: a silent gateway would be the cause.
        """
        self._is_changing = False
        """Whether a stage changes the network now: a gateway or server that is silent meanwhile is no loss yet."""
        self._applied: str | None = None
        """The digest of the node file that the network was made by: another one may want no default route."""
        self._servers = DnsServers()
        """The only thing that is not forgotten with the uplink: which DNS servers answered holds for the node."""
        self._no_server: Problem | None = None
        self._forget()

    def _forget(self) -> None:
        """Begin with an uplink of which nothing is known."""
        self._names: tuple[str, ...] = ()
        self._names_due = 0.0
        """When the uplinks are looked up again (CLOCK_BOOTTIME): a reload can move a bridge to another link."""
        self._carrier, self._way_out, self._claimed = FINE, WayOut(), FINE
        self._claim: Problem | None = None
        self._legs: tuple[str, ...] = ()
        self._no_carrier: Problem | None = None
        self._no_answer: Problem | None = None

    def show(self, status: BootStatus) -> None:
        """Begin to watch with READY, and again where the node IPs come to another link."""
        if status.facts.applied_digest != self._applied:
            self._applied = status.facts.applied_digest
            self._way_out = replace(self._way_out, had=frozenset())
        is_changing = any(status.boot[name].status is Status.RUNNING for name in CHANGING)
        if self._is_changing and not is_changing:
            self._ask_again.set()
        self._is_changing = is_changing
        place = place_of(status.facts) if status.ready else None
        if place != self._place:
            self._place = place
            self._moved.set()

    async def run(self) -> None:
        """Watch until cancelled. Raises what ended the watch; called again, it watches the same uplink."""
        while True:
            await self._moved.wait()
            self._moved.clear()
            self._forget()
            if self._place is None:
                self._servers, self._no_server = self._servers.unwatched(), None
                self._publish()  # what was wrong with it would never be seen to be over
                continue
            try:
                await self._watch(self._place)
            except Exception:
                self._moved.set()
                raise

    async def _watch(self, place: Place) -> None:
        """Watch until the node IPs are elsewhere."""
        watching = (self._watch_carrier, self._ask_gateways, self._ask_name_servers, self._ask_rivals)
        works = (*(watch(place) for watch in watching), self._moved.wait())
        tasks = [asyncio.ensure_future(work) for work in works]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            ended = await asyncio.gather(*tasks, return_exceptions=True)
            self._edges.links.close()
            self._edges.name_servers.close()
            self._edges.rivals.close()
        for error in ended:
            if isinstance(error, Exception):
                raise error

    async def _watch_carrier(self, place: Place) -> None:
        while True:
            self._look_again.clear()
            least = 0.0
            try:
                self._look_at_carrier(place, await self._uplinks(place))
            except Unavailable:  # not known at present: the next look is in a minute, or soon where one is due
                least = AGAIN_SECONDS
            due = self._carrier.due(CARRIER)
            left = None if due is None else max(due - self._edges.clock.boottime(), least)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left):
                    await self._look_again.wait()

    async def _uplinks(self, place: Place) -> Sequence[str]:
        """Return the uplinks. Open vSwitch is asked only where the node file made the bridge. Raises Unavailable."""
        known = self._names not in ((), (place.link,))
        if known and (place.uplink or self._edges.clock.boottime() < self._names_due):
            return self._names
        self._names_due = self._edges.clock.boottime() + PORTS_SECONDS  # also where Open vSwitch does not answer
        try:
            names = await self._find_uplinks(place)
        except Unavailable:
            if not known:
                raise
            return self._names  # the last answer, until Open vSwitch gives another
        if known and names != self._names:
            self._carrier, self._no_carrier = FINE, None  # of links that are no uplinks any more
            self._publish()
        self._names = names
        return names

    async def _find_uplinks(self, place: Place) -> tuple[str, ...]:
        link = self._edges.links.link(place.link)
        asks = place.uplink is None and link is not None and link.kind in OVS_KINDS
        return uplinks(place, await self._edges.ovsdb.bridges() if asks else ())

    def _look_at_carrier(self, place: Place, names: Sequence[str]) -> None:
        self._edges.links.listen(names, self._look_again.set, self._ask_again.set)
        links = [self._edges.links.link(name) for name in names]
        before = self._carrier
        self._carrier = before.seen(self._edges.clock.boottime(), CARRIER, lost=not has_carrier(links))
        if before.lost and before.differs is None and self._carrier.differs is not None:
            self._ask_again.set()
        if self._carrier.lost is before.lost:
            return
        since = self._carrier.since
        self._no_carrier = None if since is None else carrier_problem(place, names, links, self._in_words(since))
        self._publish()

    async def _ask_gateways(self, place: Place) -> None:
        while True:
            with contextlib.suppress(Unavailable):  # the link is gone: its carrier is the problem
                await self._look_at_gateways(place)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(
                    min(_until_asked(each, PROBE_SECONDS) for each in (self._way_out.gateways, self._way_out.routes))
                ):
                    await self._ask_again.wait()
                await asyncio.sleep(SETTLE_SECONDS)
            self._ask_again.clear()
            self._look_again.set()

    async def _look_at_gateways(self, place: Place) -> None:
        snapshot = self._edges.kernel.snapshot()
        found = gateways(snapshot, place.families)
        answers = await asyncio.gather(*map(self._answers, found))
        silent = tuple(each for each, answer in zip(found, answers, strict=True) if not answer)
        if self._is_changing:
            return
        self._way_out = self._way_out.seen(self._edges.clock.boottime(), place, snapshot, silent)
        self._no_answer = self._way_out.problem(place.link, self._in_words)
        self._legs = notes(place, self._names or (place.link,), snapshot)
        self._publish()

    async def _answers(self, gateway: Gateway) -> bool:
        return await self._edges.neighbours.answers(gateway.address, gateway.link, ANSWER_SECONDS)

    async def _ask_name_servers(self, place: Place) -> None:
        while True:
            await self._look_at_name_servers(self._own_addresses(place))
            await asyncio.sleep(_until_asked(self._servers.condition, NAME_SERVER_SECONDS))

    async def _ask_rivals(self, place: Place) -> None:
        """Ask once a minute whether another host has a node IP; the answers are read with the next beat."""
        while True:
            self._edges.rivals.ask(place.node_ips, place.link)
            is_fine = self._claimed == FINE
            await asyncio.sleep(_until_asked(FINE, BEAT_SECONDS) if is_fine else ANSWER_SECONDS)
            claims = self._of_other_hosts(self._edges.rivals.heard(), place)
            if not self._is_changing:
                self._claimed = self._claimed.seen(self._edges.clock.boottime(), CLAIM, lost=bool(claims))
                if self._claimed.since is None or claims:
                    self._claim = self._claim_of(claims, place)
                self._publish()
            await asyncio.sleep(_until_asked(self._claimed, PROBE_SECONDS))

    def _claim_of(self, claims: Mapping[IPAddress, Collection[str]], place: Place) -> Problem | None:
        since = self._claimed.since
        return None if since is None else claim_problem(claims, place.link, self._in_words(since))

    def _of_other_hosts(
        self, claims: Mapping[IPAddress, Collection[str]], place: Place
    ) -> Mapping[IPAddress, Collection[str]]:
        """Return *claims* without those of gateways and of this node's own links."""
        if not claims:
            return claims
        with contextlib.suppress(Unavailable):
            snapshot = self._edges.kernel.snapshot()
            routers = gateways(snapshot, place.families)
            return of_other_hosts(claims, self._edges.neighbours.known(place.link), routers, snapshot.links)
        return claims

    def _own_addresses(self, place: Place) -> Collection[IPAddress]:
        """Return all addresses of the node: a server at one of them is its own. Only the node IPs where that fails."""
        with contextlib.suppress(Unavailable):
            return {*place.node_ips, *(each.address for each in self._edges.kernel.snapshot().addresses)}
        return place.node_ips

    async def _look_at_name_servers(self, own: Collection[IPAddress]) -> None:
        texts = self._edges.name_servers.files()
        self._edges.name_servers.ask(listed := servers_of_others(texts, own))
        is_fine = self._servers.condition == FINE
        await asyncio.sleep(_until_asked(FINE, BEAT_SECONDS) if is_fine else ANSWER_SECONDS)
        answered = self._edges.name_servers.answered()
        if not answered and (self._is_changing or self._no_carrier or self._no_answer):
            self._servers = self._servers.unknown()
            return
        now, has_own = self._edges.clock.boottime(), has_own_server(texts, own)
        self._servers = self._servers.seen(now, listed, answered, has_own=has_own)
        self._no_server = self._servers.problem(self._in_words)
        if is_fine and self._servers.condition != FINE:
            self._ask_again.set()
        self._publish()

    def _in_words(self, boottime: float) -> str:
        """Return a time of CLOCK_BOOTTIME as people read it; nothing is decided by it."""
        clock = self._edges.clock
        return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(clock.unix() - clock.boottime() + boottime))

    def _publish(self) -> None:
        problem = self._no_carrier or self._claim or self._no_answer or self._no_server
        if (problem, self._legs) != self._reported:
            self._reported = problem, self._legs
            self._report(problem, self._legs)


def _until_asked(condition: Condition, seconds: float) -> float:
    return until_asked(condition, asyncio.get_running_loop().time(), seconds)
