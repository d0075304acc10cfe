"""How are properties set on the bridges' own profiles?"""

from __future__ import annotations

from nodenet.core.br_ex.record import ProfileSettings
from nodenet.core.errors import Unavailable
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.value import frozen
from nodenet.ports import Manager, Profiles
from nodenet.stages.apply.others import OthersOnLinks


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
            async with self.others.kept():  # NetworkManager leaves nothing on the link that it did not put there
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
