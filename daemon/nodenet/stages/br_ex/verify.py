"""Did the apply succeed? Checked while it can still be rolled back.

The result of libnmstate alone is not enough: the node IPs must be on the bridge, and the gateways that answered before
must answer again.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import Awaitable, Callable, Collection, Iterable, Mapping

from nodenet.core.br_ex.plan import Expectation
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.value import frozen
from nodenet.ports import Kernel, Neighbours, Profiles, Sysctls

BASELINE_SECONDS = 1.0
ANSWER_SECONDS = 35.0
"""How long a gateway may take that answered before: a switch port that has learnt nothing yet may not forward for 30 s
(IEEE 802.1D), and the bridge is a new port to it."""
TAKE_SECONDS = 10.0
BACK_SECONDS = 10.0
"""How long the node IPs may take to come back after a rollback; then READY waits for them, and is reported as lost."""
LOOK_SECONDS = 0.02
ASK_SECONDS = 0.1
"""Between two questions to NetworkManager."""


@frozen
class Verifier:
    """Checks the kernel, NetworkManager and the neighbours."""

    kernel: Kernel
    profiles: Profiles
    neighbours: Neighbours
    address_seconds: float = 20.0
    """How long addresses may take to come to the bridge or to leave it, well within the checkpoint's time-out."""
    lease_seconds: float = 3.0
    """How long a DHCP server may take, once it was asked again, before the finish is put off."""

    async def addressed(self, expect: Iterable[Expectation]) -> None:
        """Return when the node IPs are usable on their bridge. Raises NmstateFailure."""
        wanted = [(address, item.bridge) for item in expect for address in item.addresses]
        missing = self._missing(wanted)

        async def there() -> bool:
            nonlocal missing
            missing = self._missing(wanted)
            return not missing

        if not await _until(there, self.address_seconds, LOOK_SECONDS):
            address, bridge = missing[0]
            raise _no_success(f"{address} did not appear on {bridge} within {self.address_seconds:g} s")

    async def left(self, addresses: Collection[str]) -> None:
        """Return when the node has none of *addresses* any more, after ``address_seconds`` at the latest.

        NetworkManager answers a reapply before it has removed them. One that stays is configured elsewhere too.
        """

        async def gone() -> bool:
            return not any(str(item.address) in addresses for item in self.kernel.snapshot().addresses)

        await _until(gone, self.address_seconds, LOOK_SECONDS)

    def has_carrier(self, link: str) -> None:
        """Raise Unavailable where *link* has no carrier: what it is configured with is not active, and not shown."""
        if any(each.name == link and not each.carrier for each in self.kernel.snapshot().links):
            raise Unavailable(f"{link} has no carrier", remedy="Look at the cable and the switch")

    async def back(self, addresses: Collection[IPAddress]) -> None:
        """Return when the node has all of *addresses* again after a rollback, after BACK_SECONDS at the latest.

        NetworkManager answers a rollback before it has activated the restored profiles.
        """

        async def there() -> bool:
            try:
                return set(addresses) <= {item.address for item in self.kernel.snapshot().addresses}
            except Unavailable:  # looked at again; what failed before is what is reported
                return False

        await _until(there, BACK_SECONDS, LOOK_SECONDS)

    async def confirmed(self, record: BridgeRecord) -> bool:
        """Return whether DHCP servers confirm all static leases within ``lease_seconds``. Raises Unavailable."""
        return await _until(lambda: self.is_confirmed(record), self.lease_seconds, ASK_SECONDS)

    async def is_confirmed(self, record: BridgeRecord) -> bool:
        """Return whether they have confirmed them by now. Raises Unavailable."""
        given = await self.given(record)
        return all(given.get(bridge) == lease.address for bridge, lease in record.leases.items())

    async def answering(
        self, link: str, gateways: Collection[IPAddress], seconds: float = BASELINE_SECONDS
    ) -> frozenset[IPAddress]:
        """Return those *gateways* that answer on *link* within *seconds*. Raises Unavailable."""
        answers = await asyncio.gather(*(self.neighbours.answers(gateway, link, seconds) for gateway in gateways))
        return frozenset(gateway for gateway, answer in zip(gateways, answers, strict=True) if answer)

    async def reachable(self, bridge: str, gateways: Collection[IPAddress]) -> None:
        """Return when all *gateways* answer on *bridge*. Raises NmstateFailure."""
        if silent := set(gateways) - await self.answering(bridge, gateways, ANSWER_SECONDS):
            raise _no_success(
                f"the gateway {min(map(str, silent))} answered before br-ex was made and does not answer on {bridge}"
            )

    async def until_set(self, sysctls: Sysctls, wanted: Mapping[str, Mapping[str, str]]) -> None:
        """Return when the bridges have their settings in the kernel. Raises NmstateFailure.

        A bridge whose profile is activated again does not exist for a moment.
        """
        for bridge, values in wanted.items():
            taken = functools.partial(_taken, sysctls, bridge, values)
            if not await _until(taken, TAKE_SECONDS, ASK_SECONDS):
                raise _no_success(f"the kernel does not take the settings of {bridge}")

    async def given(self, record: BridgeRecord) -> dict[str, str]:
        """Return the address that DHCPv4 gives each bridge now, none where no server answers. Raises Unavailable."""
        devices = (await self.profiles.inventory(profiles=False)).devices
        leased = ((device.link, device.lease4) for device in devices if device.link in record.uplinks)
        return {link: str(lease.address.ip) for link, lease in leased if lease}

    def _missing(self, wanted: Iterable[tuple[IPAddress, str]]) -> list[tuple[IPAddress, str]]:
        snapshot = self.kernel.snapshot()
        places = {(item.address, item.link) for item in snapshot.addresses}
        return [pair for pair in wanted if pair not in places or not self.kernel.can_bind(pair[0], 0)]


async def _until(reached: Callable[[], Awaitable[bool]], seconds: float, pause: float) -> bool:
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            while not await reached():  # noqa: ASYNC110  (nothing signals it)
                await asyncio.sleep(pause)
            return True
    return False


async def _taken(sysctls: Sysctls, link: str, values: Mapping[str, str]) -> bool:
    try:
        sysctls.write(link, values)
    except Unavailable:
        return False
    return True


def _no_success(why: str) -> NmstateFailure:
    return NmstateFailure(FailureKind.VERIFICATION, why)
