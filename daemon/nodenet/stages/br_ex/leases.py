"""How are leased addresses static on a bridge at first, and how does DHCP get them back?"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from nodenet.core.boot.outcome import Problem
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.lease import REMOVED, Moment, Verdict, verdict
from nodenet.core.br_ex.plan import Plan
from nodenet.core.br_ex.record import BridgeRecord, ProfileSettings
from nodenet.core.errors import Unavailable
from nodenet.core.messages import Message
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.value import frozen
from nodenet.ports import Clock, Manager, Profiles
from nodenet.stages.apply.others import OthersOnLinks
from nodenet.stages.br_ex.verify import Verifier


@frozen
class StaticLeases:
    """The static copies of leases on the bridges."""

    clock: Clock
    boot_id: str
    profiles: Profiles
    own: BridgeProfiles
    verifier: Verifier

    async def confirm(self, record: BridgeRecord, plan: Plan, facts: BridgeFacts) -> BridgeRecord:
        """Remove the static copies of the leases that DHCP servers confirm now; return the record of the others."""
        await self._ask_again(record)
        await self.verifier.confirmed(record)
        given, confirmed = await self.verifier.given(record), []
        for bridge in record.finish or {}:
            lease = record.leases.get(bridge)
            if lease is None or given.get(bridge) == lease.address:
                confirmed.append(bridge)
        if confirmed:
            record = await self._without_copies(record, confirmed)
            await self.verifier.addressed(plan.expect)
        return await self._with_servers(record, plan, facts) if record.finish else record

    async def _ask_again(self, record: BridgeRecord) -> None:
        """Restart DHCP where it has no answer yet.

        What a new bridge sends is lost until ovs-vswitchd has joined its ports, and a lost first request is repeated
        only after two seconds and a half.
        """
        given = await self.verifier.given(record)
        for bridge in record.leases:
            if bridge not in given:
                await self.profiles.ask_again(bridge)

    async def _with_servers(self, record: BridgeRecord, plan: Plan, facts: BridgeFacts) -> BridgeRecord:
        """Set the leases' name servers on the bridges too: a silent DHCP server does not send them again."""
        finish = dict(record.finish or {})
        for uplink in plan.uplinks:
            device = facts.device(uplink.link)
            if uplink.bridge not in finish or not device or not device.lease4 or not device.lease4.servers:
                continue
            if device.profile and device.profile.setting("ipv4", "ignore-auto-dns"):
                continue
            own = plan.nm_properties.get(uplink.bridge, {}).get("ipv4", {}).get("dns-data") or []
            await self.own.set({uplink.bridge: {"ipv4": {"dns-data": [*own, *device.lease4.servers]}}})
            without = {**finish[uplink.bridge].get("ipv4", {}), "dns-data": own or None}
            finish[uplink.bridge] = {**finish[uplink.bridge], "ipv4": without}
        return replace(record, finish=finish)

    async def settle(self, record: BridgeRecord) -> tuple[BridgeRecord, Problem | None]:
        """Remove each static lease that is confirmed, has ended, or may have ended; return the problem it is, if any.

        A bridge whose server gives another address keeps the leased one until the lease ends. A rollback would not
        help: the uplink would ask the same server, and get the other address too.
        """
        given, now = await self.verifier.given(record), self.moment()
        verdicts = {bridge: verdict(lease, given.get(bridge), now) for bridge, lease in record.leases.items()}
        problem = next((found for each in verdicts if (found := _problem(each, record, verdicts, given))), None)
        done = [bridge for bridge in record.finish or {} if verdicts.get(bridge, Verdict.CONFIRMED) in REMOVED]
        if done:
            known = (lease for bridge in done if (lease := record.leases.get(bridge)))
            ended = frozenset(lease.address for lease in known) - frozenset(given.values())
            record = await self._without_copies(record, done)
            await self.verifier.left(ended)
        return record, problem

    def noted_now(self, record: BridgeRecord) -> BridgeRecord:
        """Return *record* with leases of an earlier boot noted in this one: the wall clock does not matter then."""
        now = self.moment()
        held = {
            bridge: lease if lease.noted.boot_id == self.boot_id else lease.at(now)
            for bridge, lease in record.leases.items()
        }
        return replace(record, leases=held)

    def moment(self) -> Moment:
        """Return the boot and both clocks as of now."""
        return Moment(self.boot_id, self.clock.boottime(), self.clock.unix())

    async def _without_copies(self, record: BridgeRecord, bridges: Collection[str]) -> BridgeRecord:
        """Remove the static leases of *bridges*; return the record without them."""
        await self.own.set({bridge: (record.finish or {})[bridge] for bridge in bridges}, again=True)
        return record.finished(bridges)


def _problem(
    bridge: str, record: BridgeRecord, verdicts: Mapping[str, Verdict], given: Mapping[str, str]
) -> Problem | None:
    """Return what an administrator must know about the static lease of *bridge*, if anything."""
    address = record.leases[bridge].address
    match verdicts[bridge]:
        case Verdict.ENDED:
            cause = f"The lease of {address} has ended and no DHCP server renews it"
            remedy = "Look at the DHCP server; the address comes back with its answer"
        case Verdict.UNKNOWN:
            cause = f"The lease of {address} is from an earlier boot, and this node's clock cannot say if it has ended"
            remedy = "Look at the DHCP server; the address comes back with its answer"
        case Verdict.OTHER:
            cause = f"The DHCP server gives {bridge} {given[bridge]}; the node keeps {address} until its lease ends"
            remedy = "Let the DHCP server give this node its address again, or reboot to take the new one"
        case _:
            return None
    return Problem(Message.LEASE_LOST, cause, remedy)


# How are properties set on the bridges' own profiles?


@frozen
class BridgeProfiles:
    """NetworkManager's profiles of the interfaces br-ex and br-ex1."""

    profiles: Profiles
    manager: Manager
    others: OthersOnLinks

    async def set(self, settings: ProfileSettings, *, again: bool = False) -> None:
        """Set properties of the bridges' own profiles, and reapply those that a device uses.

        A profile without a device is changed too: it would bring the old values back in the next boot. A profile that
        does not exist is passed over once NetworkManager has read all of them. *again*: reapply also what the profile
        has already; a kill may have come before the device took it up. Raises Unavailable.
        """
        inventory = await self.profiles.inventory()
        for bridge, changes in settings.items():
            device = next((each for each in inventory.devices if _is_of(each.link, each.kind, bridge)), None)
            profiles = (each for each in inventory.profiles if _is_of(each.link, each.kind, bridge))
            profile = (device.profile if device else None) or next(profiles, None)
            if profile is None:
                await self._refuse_while_starting(bridge)
                continue
            differed = await self.profiles.set(profile.uuid, changes)
            if not (differed or again) or device is None or device.profile is None:
                continue
            # NetworkManager leaves nothing on the link that it did not put there.
            async with self.others.kept(if_known=True):
                if "ipv6" in changes and device.lease6:
                    # NetworkManager 1.58 ends DHCPv6 permanently when IPv6 settings are reapplied.
                    await self.profiles.activate(profile.uuid, bridge)
                else:
                    await self.profiles.reapply(bridge)

    async def _refuse_while_starting(self, bridge: str) -> None:
        """Raise Unavailable unless NetworkManager has read all its profiles."""
        if (found := await self.manager.state()) is not ManagerState.READY:
            raise Unavailable(f"NetworkManager has no profile of {bridge} yet: {found}")


def _is_of(link: str, kind: str, bridge: str) -> bool:
    return (link, kind) == (bridge, "ovs-interface")
