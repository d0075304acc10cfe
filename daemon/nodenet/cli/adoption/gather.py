"""What is this node like before it is adopted or handed back? Nothing is changed."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path, PurePosixPath

from nodenet.cli import status
from nodenet.cli.adoption import bridges
from nodenet.core.adoption.facts import AdoptionFacts, UnitState, open_trial, unit_states
from nodenet.core.adoption.former_chain import (
    COMPANIONS,
    DNS,
    EVERY_UNIT,
    GATE_COPY,
    GATE_FILE,
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
from nodenet.core.errors import SettingsInvalid, Unavailable
from nodenet.core.hostname.name import normalised
from nodenet.core.ip import IPAddress
from nodenet.core.node_file.find import APPLIED, Rivals, search
from nodenet.core.node_ip.published_files import NAMES_NODE_IPS, node_ips
from nodenet.core.resolver import resolv_conf
from nodenet.core.resolver.view import RESOLV_CONF
from nodenet.core.settings import parse as settings_parser
from nodenet.core.settings.model import Settings
from nodenet.core.value import frozen
from nodenet.edge.files import disk
from nodenet.edge.files import settings as settings_files
from nodenet.edge.kernel import netlink
from nodenet.edge.systemd import systemctl

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
        seen = bridges.seen()
    except Unavailable as error:
        raise Unavailable(error.cause, remedy=error.remedy or NOT_SEEN) from error
    return replace(found, bridges=seen, remembered=bridges.remembered(), unfinished=bridges.unfinished())


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
    servers = resolv_conf.nameservers(disk.read(RESOLV_CONF))[: resolv_conf.MAX_SERVERS]
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
