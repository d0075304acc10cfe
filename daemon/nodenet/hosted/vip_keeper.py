"""Does this node take part in VRRP, and which hosts answer for each VIP on the wire?

The wire is asked before VRRP starts and from then on, for the VIPs alone: the kernel knows by itself which neighbour
has which MAC, since the holder of a VIP sends its advertisements to each peer. What is seen is reported; only a node
that has not taken part yet waits for another holder (``core.hosted_services.vips``). The stance is a number in a file
that keepalived watches.
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
from nodenet.core.hosted_services.vips import REMEDY, Sighting, Stance, probe_seconds, strangers, with_macs
from nodenet.core.ip import IPAddress, family_of
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.vips import Addresses, Weights, Wire

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
            log.info(f"The VIP {vip} has one holder again: {names}", message=Message.VIP_CLEAR)
        if before is not after and after is Stance.STAYING_OUT:
            cause = f"A host that is not a node of the cluster holds the VIP {vip} ({names}): this node stays out"
            log.warning(cause, message=Message.VIP_TAKEN, cause=cause)
        if before is not after or earlier != seen:
            self._state.changed()


def _now() -> float:
    return asyncio.get_running_loop().time()
