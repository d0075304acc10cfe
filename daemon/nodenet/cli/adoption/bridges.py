"""Which bridges does the node have, and are their profiles on the disk or only in NetworkManager's memory?

The former chain makes br-ex in each boot from the profile that the administrator gave the uplink, and deletes the
bridge first. nodenet's profiles of br-ex are on the disk. To hand a node back while it runs, NetworkManager keeps these
in its memory only, and the uplink's former profile goes back to the disk: NetworkManager reads it at the next boot.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import PurePosixPath

from nodenet.cli import facts_here
from nodenet.cli.bus_session import system_bus
from nodenet.core.adoption.facts import SeenBridge
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.condition import Owner, condition_of, profiles_of
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.change import record as change_record
from nodenet.core.change.record import What
from nodenet.core.errors import PublishFailed
from nodenet.core.network_manager.profile_backup import KeptProfile
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.edge.files import disk
from nodenet.edge.network_manager.profiles import IN_MEMORY, IN_MEMORY_ONLY, TO_DISK, Profiles

RECORD = PurePosixPath("/var/lib/nodenet/bridge.json")
INTENT = PurePosixPath("/var/lib/nodenet/bridge-intent.json")
PRIVATE = 0o600
"""NetworkManager ignores keyfiles that others may read (nm-settings-keyfile(5))."""


def seen() -> tuple[SeenBridge, ...]:
    """Return br-ex and br-ex1 as far as they exist. Raises SettingsInvalid, Unavailable, NotAllowed."""
    facts, _ = facts_here.read()
    found = []
    for name in (BRIDGE, EXTRA_BRIDGE):
        condition = condition_of(facts, name)
        if condition.owner is Owner.NONE:
            continue
        profiles = profiles_of(facts, name)
        kept = tuple(each.uuid for each in profiles if _is_kept(each.path))
        memory = tuple(each.uuid for each in profiles if not _is_kept(each.path))
        found.append(SeenBridge(name, condition.owner, condition.uplink, kept, memory))
    return tuple(found)


def unfinished() -> str:
    """Return why a br-ex of nodenet cannot be handed back now, "" where it can. Raises PublishFailed."""
    record = _record()
    if record is None:
        return ""
    content = disk.read(change_record.PATH)
    try:
        if content and change_record.parse(content).what is What.BRIDGE:
            return "nodenetd is changing br-ex, or was interrupted while it did"
    except ValueError as error:
        return f"{change_record.PATH} cannot be read: {error}"
    if record.leases:
        return "the address of br-ex is static until the DHCP server confirms its lease"
    lost = [kept.name for kept in record.originals.values() if kept.file and kept.keyfile is None]
    return f"the file of the uplink's former profile {lost[0]!r} is not known" if lost else ""


def to_memory(names: tuple[str, ...]) -> None:
    """Keep the profiles of the bridges *names* until the next boot only, and put the uplinks' former ones on disk.

    The former profiles first: a power cut in the middle leaves the uplink with a profile that gives it its network.
    Raises Unavailable, PublishFailed.
    """
    record = _record()
    originals = {kept.uuid: kept for kept in record.originals.values() if kept.file} if record else {}
    uuids = [uuid for bridge in seen() if bridge.name in names for uuid in bridge.on_disk]

    async def change(profiles: Profiles) -> None:
        for uuid in sorted(uuids, key=lambda each: each not in originals):
            await profiles.store(uuid, IN_MEMORY if uuid in originals else IN_MEMORY_ONLY)
            if uuid in originals:
                _put_back(originals[uuid])

    asyncio.run(_with_profiles(change))
    for kept in originals.values():
        _put_back(kept)  # also of a profile that libnmstate replaced by one of its own
    disk.sync(KEYFILES)  # NetworkManager does not; the next boot must not begin with what was removed


def to_disk(names: tuple[str, ...]) -> None:
    """Save the profiles of the bridges *names*, as they are in memory, on the disk. Raises Unavailable."""
    uuids = [uuid for bridge in seen() if bridge.name in names for uuid in bridge.in_memory]

    async def change(profiles: Profiles) -> None:
        for uuid in uuids:
            await profiles.store(uuid, TO_DISK)

    asyncio.run(_with_profiles(change))


def remembered() -> bool:
    """Return whether nodenetd has a record of bridges. Raises PublishFailed."""
    return disk.read(RECORD) is not None or disk.read(INTENT) is not None


def forget() -> None:
    """Remove what nodenetd remembers of bridges that it made earlier. Raises PublishFailed."""
    disk.remove(INTENT)
    disk.remove(RECORD)


async def _with_profiles(change: Callable[[Profiles], Awaitable[None]]) -> None:
    async with system_bus() as bus:
        await change(Profiles(bus))


def _put_back(kept: KeptProfile) -> None:
    if kept.file and kept.keyfile is not None:
        disk.write(kept.file, kept.keyfile.encode(), PRIVATE)


def _record() -> BridgeRecord | None:
    content = disk.read(RECORD)
    try:
        return bridge_record.parse(content) if content else None
    except ValueError as error:
        remedy = "Start nodenetd, which sets it aside"
        raise PublishFailed(f"{RECORD} cannot be read: {error}", remedy=remedy) from error


def _is_kept(path: str) -> bool:
    """Return whether a profile with the file *path* is there after a boot."""
    return PurePosixPath(path).is_relative_to(KEYFILES)
