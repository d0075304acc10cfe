"""Does this node take part in VRRP, and does each VIP have one holder on the wire?

The wire is asked before VRRP starts and from then on. What is seen moves the position of this node
(``core.hosted_services.stance``), and the position is a number in a file that keepalived watches.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Mapping

import structlog

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.hosted_services import stance
from nodenet.core.hosted_services.budget import Budget
from nodenet.core.hosted_services.duties import VipDuty
from nodenet.core.hosted_services.holders import Sighting, holders, probe_seconds, strangers, yields
from nodenet.core.hosted_services.keepalived import MUTE_FILES, WEIGHT_FILES, receives, router_ids
from nodenet.core.hosted_services.model import Purpose, Role, Service
from nodenet.core.hosted_services.packets import Advert
from nodenet.core.hosted_services.stance import Look, Position, Stance
from nodenet.core.ip import Family, IPAddress, family_of
from nodenet.core.messages import Message
from nodenet.hosted.state import State
from nodenet.ports.vips import Addresses, Weights, Wire

log = structlog.get_logger()

SOON_SECONDS = 0.5
"""Between two looks while one of them speaks for another position."""
IDLE_SECONDS = 5.0
MOST_PEERS = 256
"""Nodes whose MACs are asked for at once."""
LEARN_SECONDS = 10.0
"""How often the MACs of the nodes are asked for at most: a stranger that stays costs no more questions."""
SPLITS, SPLIT_SECONDS = 5, 60.0
"""So many second holders of a VIP are logged at once, and one more after each pause."""
OBEY_SECONDS = 3.0
"""keepalived reads a number within milliseconds; a node may be busy."""
ADVERTS = 3
"""After so many intervals without an advertisement, VRRP takes the holder for dead (RFC 5798, 6.1)."""


class VipKeeper:
    """Holds the position of this node for each VIP, and writes the weights."""

    def __init__(
        self, state: State, wire: Wire, addresses: Addresses, weights: Weights, healthy: Callable[[Purpose], list[int]]
    ) -> None:
        """*healthy* returns the weights of the healthy services of this node for a purpose."""
        self._state = state
        self._wire = wire
        self._addresses = addresses
        self._weights = weights
        self._healthy = healthy
        self._heard: dict[tuple[int, Family], float] = {}
        self._macs: dict[tuple[str, IPAddress], str] = {}
        """The MAC of each node's address on a link, as it was last seen."""
        self._split: set[IPAddress] = set()
        """VIPs whose second holder was logged."""
        self._splits: dict[IPAddress, Budget] = {}
        self._silent: dict[IPAddress, float] = {}
        """VIPs whose instance sends nothing by its number, and since when."""
        self._learnt = -LEARN_SECONDS
        self.look_now = asyncio.Event()

    def prepare(self, *, speaking: bool) -> None:
        """Start with the positions of an earlier companion; a node that takes part continues to do so."""
        for purpose in Purpose:
            weight = self._weights.read(WEIGHT_FILES[purpose])
            for vip in self._state.options.vips(purpose):
                muted = self._weights.read(MUTE_FILES[purpose, family_of(vip)]) == stance.OUT
                found = stance.at_start(stance.OUT if muted else weight, speaking=speaking)
                self._state.positions[vip] = found

    def heard(self, advert: Advert, family: Family) -> None:
        """Take an advertisement of another host, if keepalived of this node takes it too."""
        if advert.priority and receives(self._state.options, advert, family):
            self._heard[advert.router_id, family] = _now()

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
            pauses = [self._take(duty, seen[duty.address], links[duty.address]) for duty in duties]
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
        state.positions = {vip: found for vip, found in state.positions.items() if vip in wanted}
        state.sightings = {vip: found for vip, found in state.sightings.items() if vip in wanted}

    def _take(self, duty: VipDuty, seen: Sighting, link: str) -> float:
        """Take what was seen of a VIP; return the seconds until it should be looked at again."""
        vip, before = duty.address, self._state.sightings.get(duty.address)
        self._state.sightings[vip] = seen
        leaves = self._state.drained
        position = stance.drained(self._position(duty), leaves=leaves)
        after = stance.drained(stance.after(position, self._judged(duty, seen, link)), leaves=leaves)
        self._state.positions[vip] = after
        self._log(position, after, seen, before)
        unsettled = after.against or after.stance is not Stance.CANDIDATE or seen.count != 1
        candidates = len(self._state.known.inputs.nodes)
        return SOON_SECONDS if unsettled else probe_seconds(candidates, held_here=seen.here)

    async def _sightings(self, links: Mapping[IPAddress, str]) -> dict[IPAddress, Sighting]:
        """Return who holds each VIP now. Raises Unavailable."""
        found: dict[IPAddress, Sighting] = {}
        by_link: dict[str, list[IPAddress]] = {}
        for vip, link in links.items():
            by_link.setdefault(link, []).append(vip)
        for link, addresses in by_link.items():
            claims = await self._wire.claims(addresses, link)
            own = {address.address for address in self._addresses.present(addresses)}
            unknown = {mac for macs in claims.values() for mac in macs} - self._state.peers.keys()
            if unknown or not self._state.peers:
                await self._learn_peers(link)
            found |= {address: Sighting(address, address in own, claims[address]) for address in addresses}
        return found

    async def _learn_peers(self, link: str) -> None:
        """Ask which MACs the other nodes have: who answers for a VIP is a peer or a stranger."""
        if _now() - self._learnt < LEARN_SECONDS:
            return
        self._learnt = _now()
        inputs = self._state.known.inputs
        # A node that calls a VIP its own is no peer: whatever answers there would be one.
        vips = {duty.address for duty in self._state.plan.vips}
        honest = [node for node in inputs.nodes if vips.isdisjoint(node.addresses)]
        nodes = sorted(honest, key=lambda node: node.role is not Role.CONTROL_PLANE)
        names = {
            address: node.name
            for node in nodes[:MOST_PEERS]
            if node.name != inputs.here.name
            for address in node.addresses
            if any(address in place.network and place.link == link for place in inputs.here.places.values())
        }
        claims = await self._wire.claims(names, link) if names else {}
        self._macs |= {(link, address): mac for address, macs in claims.items() for mac in macs if len(macs) == 1}
        listed = {address: node.name for node in honest for address in node.addresses}
        # One MAC an address: hosts that answer with another one each time do not fill the memory.
        self._macs = {key: mac for key, mac in self._macs.items() if key[1] in listed}
        self._state.peers = {mac: listed[address] for (_, address), mac in self._macs.items()}

    def _judged(self, duty: VipDuty, seen: Sighting, link: str) -> Look:
        peers = self._state.peers
        limit = _now() - ADVERTS * self._state.options.advert_interval
        number = router_ids(self._state.options.cluster_domain.partition(".")[0])[duty.purpose]
        return Look(
            strangers=bool(strangers(seen, peers)),
            loses=yields(seen, self._wire.mac_of(link), peers, hears=duty.address not in self._state.unhearing),
            held=seen.count > 0,
            heard=self._heard.get((number, family_of(duty.address)), -1.0) > limit,
        )

    def write_weights(self) -> None:
        """Write the number of each purpose and of each VIP that this node may hold, where it differs."""
        silent: set[IPAddress] = set()
        for purpose in Purpose:
            duties = [duty for duty in self._state.plan.vips if duty.wanted and duty.purpose is purpose]
            stances = {duty.address: self._position(duty).stance for duty in duties}
            healthy = self._healthy(purpose)
            numbers = {vip: stance.weight(one, purpose, healthy) for vip, one in stances.items()}
            if numbers and self._write(WEIGHT_FILES[purpose], max(numbers.values()), f"weight {purpose}"):
                shown = f"{max(numbers.values())} ({' and '.join(sorted(set(stances.values())))})"
                text = f"The weight of this node for the {purpose} VIPs is {shown}"
                log.info(text, message=Message.HOSTED_CHANGED)
            for vip, weight in numbers.items():
                if weight == stance.OUT or vip in self._state.muted:
                    silent.add(vip)
                number = stance.OUT if vip in silent else 0
                self._write(MUTE_FILES[purpose, family_of(vip)], number, f"mute {vip}")
        self._silent = {vip: self._silent.get(vip, _now()) for vip in silent}

    def overdue(self) -> frozenset[IPAddress]:
        """Return the VIPs that keepalived has had to be off for some time: one that is there hangs."""
        now = _now()
        return frozenset(vip for vip, since in self._silent.items() if now - since >= OBEY_SECONDS)

    def _position(self, duty: VipDuty) -> Position:
        return self._state.positions.get(duty.address, Position())

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

    def _log(self, before: Position, after: Position, seen: Sighting, earlier: Sighting | None) -> None:
        changed = before.stance is not after.stance
        names = ", ".join(holders(seen, self._state.node, self._state.peers)) or "no node"
        vip = seen.address
        if earlier is not None and earlier.here != seen.here:
            log.info(f"The VIP {vip} {'came to' if seen.here else 'left'} this node", message=Message.VIP_MOVED)
        if seen.count > 1 and vip not in self._split and self._may_log_split(vip):
            self._split.add(vip)
            cause = f"The VIP {vip} has {seen.count} holders: {names}"
            log.error(cause, message=Message.VIP_SPLIT, cause=cause, remedy="Look for filtered VRRP (protocol 112)")
        if seen.count == 1 and vip in self._split:
            self._split.discard(vip)
            log.info(f"The VIP {vip} has one holder again: {names}", message=Message.VIP_CLEAR)
        if changed and after.stance is Stance.STAYING_OUT:
            cause = f"A host that is not a node of the cluster holds the VIP {vip}: this node stays out"
            log.warning(cause, message=Message.VIP_TAKEN, cause=cause)
        if changed or earlier != seen:
            self._state.changed()


def _now() -> float:
    return asyncio.get_running_loop().time()
