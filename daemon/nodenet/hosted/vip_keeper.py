"""Does this node take part in VRRP, and which hosts answer for each VIP on the wire?

The wire is asked before VRRP starts and from then on, for the VIPs alone: the kernel knows by itself which neighbour
has which MAC, since the holder of a VIP sends its advertisements to each peer. What is seen is reported; only a node
that has not taken part yet waits for another holder (``core.hosted_services.vips``). The stance is a number in a file
that keepalived watches. Two watches beside that: whether VRRP has its peers, and whether keepalived hangs. A node that
leaves gives up its VIPs first.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

import structlog

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.hosted_services import vips
from nodenet.core.hosted_services.duties import VipDuty
from nodenet.core.hosted_services.keepalived import MUTE_FILES, WEIGHT_FILES
from nodenet.core.hosted_services.model import Purpose, Service
from nodenet.core.hosted_services.units import Budget
from nodenet.core.hosted_services.vips import (
    REMEDY,
    Sighting,
    Stance,
    patience,
    probe_seconds,
    silent,
    strangers,
    with_macs,
)
from nodenet.core.ip import IPAddress, family_of
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.hosted_services import Addresses, AddressEvents, LivingProcesses, Weights, Wire

log = structlog.get_logger()

SOON_SECONDS = 0.5
"""Between two looks at first while a VIP has not one holder; each pause is twice the one before."""
IDLE_SECONDS = 5.0
SPLITS, SPLIT_SECONDS = 5, 60.0
"""So many second holders of a VIP are logged at once, and one more after each pause."""


class VipKeeper:
    """Holds the stance of this node for each VIP, and writes the weights."""

    def __init__(
        self, state: State, wire: Wire, addresses: Addresses, weights: Weights, healthy: Callable[[Purpose], list[int]]
    ) -> None:
        """*healthy* returns the weights of the healthy services of this node for a purpose."""
        self._state = state
        self._wire = wire
        self._addresses = addresses
        self._weights = weights
        self._healthy = healthy
        self._outside: dict[IPAddress, float] = {}
        """VIPs for which this node stays out, and since when."""
        self._pauses: dict[IPAddress, float] = {}
        """How long the last pause was for each VIP that is not settled."""
        self._split: set[IPAddress] = set()
        """VIPs whose second holder was logged."""
        self._splits: dict[IPAddress, Budget] = {}
        self.look_now = asyncio.Event()

    def prepare(self, *, speaking: bool) -> None:
        """Start with the stances of an earlier companion; a node that takes part continues to do so."""
        for purpose in Purpose:
            weight = self._weights.read(WEIGHT_FILES[purpose])
            for vip in self._state.options.vips(purpose):
                muted = self._weights.read(MUTE_FILES[purpose, family_of(vip)]) == vips.OUT
                found = vips.at_start(vips.OUT if muted else weight, speaking=speaking)
                self._state.stances[vip] = found

    async def run(self) -> None:
        """Look at the wire and write the weights, until cancelled."""
        while True:
            self.look_now.clear()
            pause = await self.look()
            try:
                async with asyncio.timeout(pause):
                    await self.look_now.wait()
            except TimeoutError:
                continue

    async def look(self) -> float:
        """Look once, at all VIPs together; return the seconds until the next look."""
        waits = self._state.waits.get(Service.KEEPALIVED)
        duties = [] if waits else [duty for duty in self._state.plan.vips if duty.wanted]
        try:
            # A node IP may go while the wire is asked.
            links = {duty.address: self._state.here.places[family_of(duty.address)].link for duty in duties}
            seen = await self._sightings(links)
            pauses = [self._take(duty, seen[duty.address]) for duty in duties]
            self._forget({duty.address for duty in duties})
            self._state.report_failure("wire", None)
        except Unavailable as error:
            self._state.report_failure("wire", str(error))
            pauses = [SOON_SECONDS]
        self.write_weights()
        return min(pauses, default=IDLE_SECONDS)

    def _forget(self, wanted: Collection[IPAddress]) -> None:
        """Forget the other VIPs than those *wanted*: this node may not hold them now."""
        state = self._state
        state.stances = {vip: found for vip, found in state.stances.items() if vip in wanted}
        state.sightings = {vip: found for vip, found in state.sightings.items() if vip in wanted}

    def _take(self, duty: VipDuty, seen: Sighting) -> float:
        """Take what was seen of a VIP; return the seconds until it should be looked at again."""
        vip, state, now = duty.address, self._state, _now()
        earlier, before = state.sightings.get(vip), self._stance(vip)
        foreign = bool(strangers(seen, state.peers))
        waited = now - self._outside.get(vip, now)
        state.sightings[vip] = seen
        state.stances[vip] = after = vips.next_stance(before, strangers=foreign, waited=waited, leaves=state.drained)
        if after is Stance.STAYING_OUT:
            self._outside.setdefault(vip, now)
        else:
            self._outside.pop(vip, None)
        self._log(before, after, seen, earlier)
        return self._pause(vip, after, seen)

    def _pause(self, vip: IPAddress, after: Stance, seen: Sighting) -> float:
        candidates = len(self._state.known.inputs.nodes)
        if after is Stance.CANDIDATE and seen.count == 1:
            self._pauses.pop(vip, None)
            return probe_seconds(candidates, held_here=seen.here)
        longest = probe_seconds(candidates, held_here=seen.here, settled=False)
        self._pauses[vip] = min(2 * self._pauses.get(vip, SOON_SECONDS / 2), longest)
        return self._pauses[vip]

    async def _sightings(self, links: Mapping[IPAddress, str]) -> dict[IPAddress, Sighting]:
        """Return who holds each VIP now. Raises Unavailable."""
        found: dict[IPAddress, Sighting] = {}
        by_link: dict[str, list[IPAddress]] = {}
        for vip, link in links.items():
            by_link.setdefault(link, []).append(vip)
        macs: dict[str, str] = {}
        for link, addresses in by_link.items():
            claims = await self._wire.claims(addresses, link)
            own = {address.address for address in self._addresses.present(addresses)}
            macs |= self._names(link) if any(claims.values()) else {}
            found |= {address: Sighting(address, address in own, claims[address]) for address in addresses}
        self._state.peers = macs
        return found

    def _names(self, link: str) -> dict[str, str]:
        """Return which node has which MAC, as the kernel knows its neighbours; no node has the address of a VIP."""
        inputs, vips = self._state.known.inputs, {duty.address for duty in self._state.plan.vips}
        honest = (node for node in inputs.nodes if vips.isdisjoint(node.addresses) and node.name != inputs.here.name)
        listed = {address: node.name for node in honest for address in node.addresses}
        return {mac: listed[address] for address, mac in self._wire.neighbours(link) if address in listed}

    def write_weights(self) -> None:
        """Write the number of each purpose and of each VIP that this node may hold, where it differs."""
        for purpose in Purpose:
            duties = [duty for duty in self._state.plan.vips if duty.wanted and duty.purpose is purpose]
            stances = {duty.address: self._stance(duty.address) for duty in duties}
            healthy = self._healthy(purpose)
            numbers = {vip: vips.weight_of(one, purpose, healthy) for vip, one in stances.items()}
            if numbers and self._write(WEIGHT_FILES[purpose], max(numbers.values()), f"weight {purpose}"):
                shown = f"{max(numbers.values())} ({' and '.join(sorted(set(stances.values())))})"
                text = f"The weight of this node for the {purpose} VIPs is {shown}"
                log.info(text, message=Message.HOSTED_CHANGED)
            for vip, weight in numbers.items():
                number = vips.OUT if weight == vips.OUT or vip in self._state.muted else 0
                self._write(MUTE_FILES[purpose, family_of(vip)], number, f"mute {vip}")

    def _stance(self, vip: IPAddress) -> Stance:
        return self._state.stances.get(vip, Stance.PROBING)

    def _write(self, path: str, number: int, topic: str) -> bool:
        """Write a number; return whether it differed. A failure is reported."""
        try:
            differed = self._weights.write(path, number)
        except PublishFailed as error:
            self._state.report_failure(topic, str(error))
            return False
        self._state.report_failure(topic, None)
        return differed

    def _may_log_split(self, vip: IPAddress) -> bool:
        """Return whether a second holder is logged: any host of the LAN can come and go as one."""
        budget = self._splits.get(vip, Budget(SPLITS, SPLIT_SECONDS))
        if budget.wait(_now()) > 0:
            return False
        self._splits[vip] = budget.used(_now())
        return True

    def _log(self, before: Stance, after: Stance, seen: Sighting, earlier: Sighting | None) -> None:
        names = with_macs(seen, self._state.node, self._state.peers)
        vip = seen.address
        if earlier is not None and earlier.here != seen.here:
            log.info(f"The VIP {vip} {'came to' if seen.here else 'left'} this node", message=Message.VIP_MOVED)
        if seen.count > 1 and vip not in self._split and self._may_log_split(vip):
            self._split.add(vip)
            cause = f"The VIP {vip} has {seen.count} holders: {names}"
            log.error(cause, message=Message.VIP_SPLIT, cause=cause, remedy=f"{REMEDY[:1].upper()}{REMEDY[1:]}")
        if seen.count == 1 and vip in self._split:
            self._split.discard(vip)
            log.info(f"The VIP {vip} has one holder again: {names}")
        if before is not after and after is Stance.STAYING_OUT:
            cause = f"A host that is not a node of the cluster holds the VIP {vip} ({names}): this node stays out"
            log.warning(cause, message=Message.STACK_WAITING, cause=cause)
        if before is not after or earlier != seen:
            self._state.changed()


def _now() -> float:
    return asyncio.get_running_loop().time()


# Does VRRP of this node exchange advertisements with its peers? A VIP without that is not advertised from here.
#
# The rule is ``core.hosted_services.vips``. Each change of an address is looked at, at once.

PAUSE_SECONDS = 1.0
"""Before the next look where the kernel does not answer."""
SETTLE_SECONDS = 0.05
"""Changes that follow one another so closely are one: any host of the LAN causes them by router advertisements."""
GUARD_SECONDS = 2.0
"""From a move of a VIP to a look at the wire, as a holder has between two looks: other nodes look rarely."""
TIMER_SECONDS = 0.01
"""Timers are no more exact than that."""


class SourceGuard:
    """Keeps ``State.muted``."""

    def __init__(
        self,
        state: State,
        events: AddressEvents,
        addresses: Addresses,
        changed: Callable[[], None],
        moved: Callable[[], None],
    ) -> None:
        """Call *changed* after each change of ``State.muted``, and *moved* when this node has got or lost a VIP."""
        self._state = state
        self._events = events
        self._addresses = addresses
        self._changed = changed
        self._moved = moved
        self._held: set[IPAddress] = set()
        """VIPs that this node held at the last look."""
        self._due: dict[IPAddress, float] = {}
        """VIPs that this node holds without its node IP, and when it gives each of them up."""

    async def run(self) -> None:
        """Look after each change of an address, until cancelled."""
        try:
            while True:
                try:
                    await self._events.next()
                except Unavailable as error:
                    self._state.report_failure("events of addresses", str(error))
                    await asyncio.sleep(PAUSE_SECONDS)
                else:
                    self._state.report_failure("events of addresses", None)
                    self.look()
                    await asyncio.sleep(SETTLE_SECONDS)
        finally:
            self._events.close()

    def look(self) -> None:
        """Take what is there now: after a change of an address, and after keepalived has got another configuration."""
        try:
            found = self._found()
        except Unavailable as error:
            self._state.report_failure("addresses", str(error))
            return
        self._state.report_failure("addresses", None)
        if found != self._state.muted:
            self._log(found - self._state.muted, "VRRP cannot use the node IP: this node does not take part for")
            self._log(self._state.muted - found, "This node takes part in VRRP again for")
            self._state.muted = found
            self._changed()
            self._state.changed()

    def _found(self) -> frozenset[IPAddress]:
        """Return the VIPs that this node must not advertise. Raises Unavailable."""
        state = self._state
        vips = [duty.address for duty in state.plan.vips if duty.wanted]
        sources = {**state.here.places, **state.sources}
        present = self._addresses.present((*vips, *(place.address for place in sources.values())))
        held = {one.address for one in present}.intersection(vips)
        self._note_moves(held)
        found = silent(state.known.inputs, state.plan.vips, sources, present)
        return (found - held) | self._overdue(found & held)

    def _note_moves(self, held: set[IPAddress]) -> None:
        if held != self._held:
            self._held = held
            asyncio.get_running_loop().call_later(GUARD_SECONDS, self._moved)

    def _overdue(self, held: Collection[IPAddress]) -> frozenset[IPAddress]:
        """Return those that this node has held without its node IP for so long that it gives them up."""
        loop, interval = asyncio.get_running_loop(), self._state.options.advert_interval
        now = loop.time()
        for vip in set(held) - self._due.keys():
            loop.call_later(patience(vip, interval) + TIMER_SECONDS, self.look)
        self._due = {vip: self._due.get(vip, now + patience(vip, interval)) for vip in held}
        return frozenset(vip for vip, due in self._due.items() if now >= due)

    def _log(self, vips: Collection[IPAddress], text: str) -> None:
        if vips:
            log.info(f"{text} {' and '.join(sorted(map(str, vips)))}", message=Message.HOSTED_CHANGED)


# Does keepalived hang with a VIP of this node? Then it is restarted, and systemd takes its VIPs off.
#
# A keepalived that holds a VIP sends an advertisement in each interval, so its processes begin to run again and again.
# The peers do not hear one that hangs and elect another holder, while this node still answers for the VIP.

PROGRAM = "keepalived"
WATCH_SECONDS = 1.0
LOOKS = 3
"""So many in a row without a sign of life mean that it hangs; of long intervals more."""
HANGS = "keepalived holds a VIP and does nothing: it is restarted"


class KeepalivedWatch:
    """Watches the unit of keepalived."""

    def __init__(self, state: State, processes: LivingProcesses, addresses: Addresses) -> None:
        """Nothing is looked at yet."""
        self._state = state
        self._processes = processes
        self._addresses = addresses

    def runs(self) -> bool:
        """Return whether keepalived runs now."""
        return PROGRAM in self._processes.now().values()

    async def run(self) -> None:
        """Look, until cancelled."""
        before, idle = 0, 0
        while True:
            switches = self._processes.switches()
            idle = idle + 1 if self._holds_a_vip() and switches and switches == before else 0
            before = switches
            if idle >= max(LOOKS, LOOKS * self._state.options.advert_interval):
                log.error(HANGS, message=Message.HOSTED_FAILED, cause=HANGS)
                idle = 0
                self._state.hung.add(Service.KEEPALIVED)
                self._state.changed()
            await asyncio.sleep(WATCH_SECONDS)

    def _holds_a_vip(self) -> bool:
        vips = [duty.address for duty in self._state.plan.vips if duty.wanted]
        try:
            return bool(self._addresses.present(vips)) if vips else False
        except Unavailable:  # the kernel is asked again soon
            return False


# How does a node leave so that no new connection fails? First its VIPs move away, then its load balancer stops.

MARGIN_SECONDS = 3.0
POLL_SECONDS = 0.1
INTERVALS = 5
"""VRRP takes over after three intervals and a part of a fourth; the wire is asked after that."""


class Drain:
    """The planned leave of this node."""

    def __init__(self, state: State, look: Callable[[], None], keep: Callable[[bool], None]) -> None:
        """*look* wakes the look at the wire; *keep* remembers for this boot whether the node is drained."""
        self._state = state
        self._look = look
        self._keep = keep

    async def drain(self) -> bool:
        """Lower the priority, wait until another node holds each VIP; return whether one does.

        The node stays drained in either case. Without a successor it keeps its VIPs: one holder is better than none.
        """
        self._state.drained = True
        self._keep(True)  # noqa: FBT003
        until = asyncio.get_running_loop().time() + INTERVALS * self._state.options.advert_interval + MARGIN_SECONDS
        while not (gone := self._gone()) and asyncio.get_running_loop().time() < until:
            self._look()
            await asyncio.sleep(POLL_SECONDS)
        self._state.changed()
        if gone:
            log.info("This node is drained: other nodes hold its VIPs")
        else:
            cause = "This node is drained, and no other node took its VIPs"
            log.warning(cause, cause=cause)
        return gone

    def undo(self) -> None:
        """Take part again."""
        self._state.drained = False
        self._keep(False)  # noqa: FBT003
        self._look()
        self._state.changed()

    def _gone(self) -> bool:
        """Return whether each VIP that this node may hold is seen elsewhere and not here."""
        if not self._state.running.get(Service.KEEPALIVED):
            return True
        wanted = [duty.address for duty in self._state.plan.vips if duty.wanted]
        seen = [self._state.sightings.get(address) for address in wanted]
        return all(sighting is not None and not sighting.here and sighting.others for sighting in seen)
