"""What is the network now, so that it can be put back later: all profiles, and which link uses which?"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Collection
from dataclasses import replace

from nodenet.core.change.way_back import Network
from nodenet.core.errors import PublishFailed
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import Device
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.links import NICS
from nodenet.core.value import frozen
from nodenet.ports import Files, Profiles

WIRED = frozenset({"802-3-ethernet", "infiniband"})
"""Kinds of profiles of NICs: a file that identifies one by its PCI address may mean each of them."""


async def profiles_of(
    found: Inventory,
    keep: Callable[[str], Awaitable[KeptProfile]],
    links: Collection[str] = (),
    uuids: Collection[str] = (),
) -> tuple[KeptProfile, ...]:
    """Return all profiles of *found*, but those that NetworkManager makes by itself; of these, *uuids* and of *links*.

    Raises as *keep*, which returns one by its UUID.
    """
    present = [each.uuid for each in found.profiles if not each.generated or each.link in links or each.uuid in uuids]
    return tuple([await keep(uuid) for uuid in present])


async def network_of_links(  # noqa: PLR0913  (what a node file says of its links)
    keeper: ProfileKeeper,
    links: Collection[str],
    names: Collection[str] = (),
    macs: Collection[str] = (),
    *,
    all_nics: bool = False,
    whole: bool = False,
) -> Network:
    """Return the present network, for a change of *links* and of the NICs that have one of *macs*.

    *names*: of new profiles. *all_nics*: each NIC may be meant. *whole*: with the profiles that NetworkManager made by
    itself for any NIC: a later file may name each. Raises Unavailable, PublishFailed.
    """
    found = await keeper.profiles.inventory()
    nics = {each.link for each in found.devices if each.kind in NICS} if whole else set()
    links = {*links, *(each.link for each in found.devices if each.kind in NICS and _mac(each) in macs)}
    wired = [each.uuid for each in found.profiles if each.kind in WIRED and all_nics]
    profiles = await profiles_of(found, keeper.keep, links | nics, wired)
    active = {device.link: device.profile.uuid for device in found.devices if device.profile}
    return Network(tuple(sorted(links)), profiles, active, tuple(sorted(names)))


async def network_of_file(keeper: ProfileKeeper, wish: Desired, *, whole: bool = False) -> Network:
    """Return the present network, for an apply of a node file. Raises Unavailable, PublishFailed."""
    links, names, macs = wish.links.existing | wish.links.made, wish.links.profiles, wish.links.macs.values()
    return await network_of_links(keeper, links, names, macs, all_nics=bool(wish.links.by_key), whole=whole)


def _mac(device: Device) -> str:
    """Return its own MAC address: the port of a bond has that of the bond."""
    return device.permanent_mac or device.mac or ""


# How is a profile stored before libnmstate changes it, so that it can be restored with every comment?

PRIVATE = 0o600
"""NetworkManager ignores keyfiles that others may read (nm-settings-keyfile(5))."""
WITHOUT_COMMENTS = "NetworkManager has its settings, but not its comments"


@frozen
class ProfileKeeper:
    """Stores the settings that NetworkManager has for a profile, and the rest of its file."""

    profiles: Profiles
    files: Files

    async def keep(self, uuid: str) -> KeptProfile:
        """Return the profile with its secrets and its file. Raises Unavailable, PublishFailed."""
        kept = await self.profiles.keep(uuid)
        content = self.files.read(kept.file) if kept.file else None
        try:
            return replace(kept, keyfile=content.decode() if content is not None else None)
        except UnicodeDecodeError:
            return kept

    async def give_back(self, kept: KeptProfile) -> PublishFailed | None:
        """Make the profile what it was, and its file to the byte; return why the file is not, if so.

        NetworkManager has all settings then and writes its own text of them. Raises Unavailable.
        """
        await self.profiles.give_back(kept)
        if kept.file is None or kept.keyfile is None:
            return None
        try:
            written = self.files.write(kept.file, kept.keyfile.encode(), PRIVATE)
        except PublishFailed as error:
            return error.saying(f"{error.cause}; {WITHOUT_COMMENTS}", error.remedy)
        if written:
            await self.profiles.load(str(kept.file))
        return None
