"""What is this node like before it is adopted or handed back, and where are the profiles of its bridges kept?"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePosixPath

import structlog

from nodenet.cli import facts_here, status
from nodenet.cli.ask import system_bus
from nodenet.core.adoption.former_chain import (
    COMPANIONS,
    CONFIGURING,
    DNS,
    EVERY_UNIT,
    GATE_COPY,
    GATE_FILE,
    MAIN_UNITS,
    MARKER,
    MARKS,
    MTU_MIGRATION,
    NETWORK_UNITS,
    OURS,
    all_drop_ins,
    drop_ins,
    drops_conditions,
    gate_copy,
    held,
)
from nodenet.core.adoption.steps import (
    MASKED,
    AdoptionFacts,
    SeenBridge,
    UnitState,
    in_charge,
    listed,
    open_trial,
    unit_states,
)
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.condition import Owner, condition_of, profiles_of
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE
from nodenet.core.change import record as change_record
from nodenet.core.change.record import What
from nodenet.core.errors import NodenetError, PublishFailed, SettingsInvalid, Unavailable
from nodenet.core.hostname import normalised
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.node_file.find import APPLIED, Rivals, search
from nodenet.core.node_ip.published_files import NAMES_NODE_IPS, node_ips
from nodenet.core.resolver import MAX_SERVERS, RESOLV_CONF, nameservers
from nodenet.core.settings import parse as settings_parser
from nodenet.core.settings.model import Settings
from nodenet.core.settings.parse import flat, parse
from nodenet.core.value import frozen
from nodenet.edge.adoption import interrupted
from nodenet.edge.files import disk
from nodenet.edge.files import settings as settings_files
from nodenet.edge.kernel import netlink
from nodenet.edge.network_manager.profiles import IN_MEMORY, IN_MEMORY_ONLY, TO_DISK, Profiles
from nodenet.edge.systemd import journal, systemctl
from nodenet.edge.systemd.systemctl import is_switched_off, show

# Which bridges does the node have, and are their profiles on the disk or only in NetworkManager's memory?
#
# The former chain makes br-ex in each boot from the profile that the administrator gave the uplink, and deletes the
# bridge first. nodenet's profiles of br-ex are on the disk. To hand a node back while it runs, NetworkManager keeps
# these in its memory only, and the uplink's former profile goes back to the disk: NetworkManager reads it at the next
# boot.

RECORD = PurePosixPath("/var/lib/nodenet/bridge.json")
INTENT = PurePosixPath("/var/lib/nodenet/bridge-intent.json")
PRIVATE = 0o600
"""NetworkManager ignores keyfiles that others may read (nm-settings-keyfile(5))."""


def seen_bridges() -> tuple[SeenBridge, ...]:
    """Return br-ex and br-ex1 as far as they exist. Raises SettingsInvalid, Unavailable, NotAllowed."""
    facts, _ = facts_here.read()
    found = []
    for name in (BRIDGE, EXTRA_BRIDGE):
        condition = condition_of(facts, name)
        if condition.owner is Owner.NONE:
            continue
        profiles = profiles_of(facts.profiles, name)
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
    uuids = [uuid for bridge in seen_bridges() if bridge.name in names for uuid in bridge.on_disk]

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
    uuids = [uuid for bridge in seen_bridges() if bridge.name in names for uuid in bridge.in_memory]

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


# What is this node like before it is adopted or handed back? Nothing is changed.

NOT_SEEN = "Look at `systemctl status NetworkManager ovs-vswitchd dbus`; without them it is not known who made br-ex"
UNITS = (*EVERY_UNIT, *OURS, *COMPANIONS, DNS, MTU_MIGRATION)


@frozen
class Before:
    """What must not change: the published node IPs with the link of each, and the DNS servers that glibc asks."""

    places: tuple[tuple[IPAddress, str | None], ...]
    servers: tuple[IPAddress, ...]


def facts(*, with_bridges: bool = True) -> AdoptionFacts:
    """Return the present facts; only *with_bridges*, NetworkManager and Open vSwitch are asked.

    Raises PublishFailed and Unavailable; with bridges also SettingsInvalid and NotAllowed.
    """
    try:
        settings = settings_parser.parse(settings_files.read()).settings
    except SettingsInvalid:
        if with_bridges:
            raise
        settings = Settings()  # nodenet can be removed whatever its settings are
    published, this_boot = _published()
    found = AdoptionFacts(
        units=unit_states(systemctl.show(UNITS)),
        marker=marked(),
        present=tuple(str(path) for path in all_drop_ins() if disk.read(path) is not None),
        held=any(disk.read(path) is not None for path in held(NETWORK_UNITS)),
        network_type=settings.network_type,
        vips=bool(settings.api_vips or settings.ingress_vips),
        stages=settings.stages,
        published=published if this_boot else (),
        addresses=frozenset(entry.address for entry in netlink.snapshot().addresses),
        node_file=changed_node_file(settings),
    )
    void = resets(found.units, found.former)
    found = replace(found, missing=missing(found), resets=void, trial=open_trial(status.read()))
    if not with_bridges:
        return found
    try:
        seen = seen_bridges()
    except Unavailable as error:
        raise Unavailable(error.cause, remedy=error.remedy or NOT_SEEN) from error
    return replace(found, bridges=seen, remembered=remembered(), unfinished=unfinished())


def files(units: Iterable[str]) -> dict[PurePosixPath, bytes]:
    """Return the files of an adopted node that systemd reads, by path. Raises PublishFailed."""
    gate = gate_copy(disk.read(GATE_FILE), disk.read(GATE_COPY))
    return drop_ins(units) | ({} if gate is None else {GATE_COPY: gate})


def missing(found: AdoptionFacts) -> tuple[str, ...]:
    """Return which files and, with the marker, which links of an adopted node are not there. Raises PublishFailed."""
    names = [str(path) for path, content in files(found.former).items() if disk.read(path) != content]
    links = MARKS.items() if found.marker else ()
    return (*names, *(str(path) for path, target in links if not _is_link(path, target)))


def _is_link(path: PurePosixPath, target: PurePosixPath) -> bool:
    return Path(path).is_symlink() and Path(path).readlink() == Path(target)


def resets(units: Mapping[str, UnitState], former: Iterable[str]) -> tuple[str, ...]:
    """Return the drop-ins of *former* and of nodenet's own units that void the conditions of an adoption."""
    known = [units[unit].drop_ins for unit in (*former, *OURS) if unit in units]
    texts = {path: disk.read(path) or b"" for paths in known for path in map(PurePosixPath, paths)}
    return tuple(str(path) for path, text in texts.items() if drops_conditions(path, text.decode(errors="replace")))


def marked() -> bool:
    """Return whether the marker is there, wherever it leads."""
    return os.path.lexists(MARKER)


def before() -> Before:
    """Return what must not change, as it is now. Raises PublishFailed, Unavailable."""
    published, _ = _published()
    links = {entry.address: entry.link for entry in netlink.snapshot().addresses}
    servers = nameservers(disk.read(RESOLV_CONF))[:MAX_SERVERS]
    return Before(tuple((address, links.get(address)) for address in published), servers)


def _published() -> tuple[tuple[IPAddress, ...], bool]:
    return node_ips({path: disk.read(path) for path in NAMES_NODE_IPS})


def changed_node_file(settings: Settings) -> str:
    """Return the name of a node file that differs from the one that was applied last, "" where there is none."""
    directory = PurePosixPath(settings.node_file_dir)
    try:
        name = search(normalised(socket.gethostname()), disk.listing(directory)).found
    except Rivals as rivals:
        return rivals.names  # no reason to keep a node from being handed back
    if name is None or disk.read(directory / name) == disk.read(directory / APPLIED):
        return ""
    return name


# Does the former chain of units configure this node? ``nodenetd.service`` runs this before nodenetd.
#
# It runs only where a unit file of that chain exists and the node is not adopted. Where the question cannot be
# answered, nodenetd starts.

log = structlog.get_logger()

IN_CHARGE = 3
"""The exit code that keeps nodenetd from starting; ``core.adoption.former_chain`` and the gate of kubelet know it.

No error of Python, of a shell or of systemd has it.
"""


def main() -> int:
    """Return IN_CHARGE where the former chain configures this node, else 0."""
    journal.configure("nodenetd")
    try:
        found = _in_charge(unit_states(show(CONFIGURING)), assigned(_settings()))
    except NodenetError as error:
        log.warning(error.cause, message=error.message, cause=error.cause, remedy=error.remedy)
        return 0
    if not found:
        return 0
    if left := interrupted():
        log.warning(left.cause, message=left.message, cause=left.cause, remedy=left.remedy)
    cause = f"{listed(found)} {'configures' if len(found) == 1 else 'configure'} the network of this node"
    remedy = "Run `nodenetctl adopt` to let nodenetd do that, or assign the stages in `[stages]` of the settings"
    event = f"{cause}: nodenetd does not start. {remedy}"
    log.warning(event, message=Message.ADOPTION_FAILED, cause=cause, remedy=remedy)
    return IN_CHARGE


def _in_charge(units: Mapping[str, UnitState], stages: Mapping[str, str]) -> tuple[str, ...]:
    """Return the units in charge. One that a condition of an administrator switches off is like a masked one."""
    found = [unit for unit in in_charge(units, stages) if unit in MAIN_UNITS]
    off = {unit: replace(units[unit], load=MASKED) for unit in found if is_switched_off(unit)}
    return in_charge({**units, **off}, stages)


def _settings() -> list[tuple[str, bytes]]:
    """Return the settings files; none where they cannot be read: nodenetd, which says why, may not be in charge."""
    try:
        return settings_files.read()
    except NodenetError:
        return []


def assigned(documents: Sequence[tuple[str, bytes]]) -> dict[str, str]:
    """Return who does each stage, by settings that may be invalid elsewhere.

    Invalid settings of a program that is not in charge must not matter. Where it is, because they assign to a unit what
    the former chain does, nodenetd starts and says what is wrong; else kubelet would start without it.
    """
    try:
        return dict(parse(documents).settings.stages)
    except NodenetError:
        found = dict(Settings().stages)
    for path, content in documents:
        with suppress(NodenetError):
            for key, value in flat(path, content, {"stages"}):
                if key.startswith("stages.") and isinstance(value, str):
                    found[key.removeprefix("stages.")] = value
    return found


if __name__ == "__main__":
    sys.exit(main())
