"""What is kept of a change of the network that is over?

Each change is one entry with a number: what it was, how it ended, the text of its node file, and the network after it.
The node file alone is no way back: NMState leaves alone what a file does not name. The profiles of the network are one.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, field, replace
from enum import StrEnum
from typing import Any

from nodenet.core.change import record
from nodenet.core.change.way_back import HARDWARE, Network
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.node_file.find import NodeFile, is_of_cluster
from nodenet.core.record_version import fields
from nodenet.core.value import frozen

VERSION = 1
MOST_ENTRIES = 50
MOST_BYTES = 20 << 20
"""Of all entries together."""
SUFFIX = ".json"
PREFIX = "the last known good "
"""Before the name of a file that is used in the place of another one."""


class Kind(StrEnum):
    """What a change was."""

    NODE_FILE = "node-file"
    TRIAL = "trial"
    BRIDGE = "bridge"
    BRIDGE_REMOVAL = "bridge-removal"
    GOING_BACK = "going-back"
    """To the last known good network, after boots that did not stay READY."""
    ROLLBACK = "rollback"
    """To an earlier entry, by order of an administrator."""
    PRUNE = "prune"
    """What earlier files had left over was removed."""


class Result(StrEnum):
    """How a change ended."""

    COMMITTED = "committed"
    REFUSED = "refused"
    """The network is as it was before, unless the cause says otherwise."""


OF_BRIDGES = frozenset({Kind.BRIDGE, Kind.BRIDGE_REMOVAL})
"""Changes of br-ex: the node file in force stays, and so does the entry of its apply."""


@frozen
class Entry:
    """A change that is over.

    *name*, *text* and *digest* are those of the node file in force after it, or of the refused one; *hostname* is the
    host that it is for. *time* is Unix time. *settings* is the SHA-256 of the settings. *good*: the node worked with
    it. *network* is the result: None for a refused change, or if it is too large to keep. *dns* is
    NetworkManager's own DNS configuration, as JSON. *shown* is the network for people: no profiles and no secrets.
    """

    kind: Kind
    result: Result
    name: str
    text: str
    digest: str
    hostname: str | None
    boot_id: str
    time: float
    number: int = 0
    who: str = ""
    cause: str = ""
    probes: str = ""
    settings: str = ""
    good: bool = False
    network: Network | None = None
    dns: Any = None
    shown: dict[str, Any] = field(default_factory=dict)
    owned: dict[str, Any] = field(default_factory=dict)
    """What nodenet has made on the node by then (`left_over`)."""
    macs: dict[str, str] = field(default_factory=dict)
    """The permanent MAC of each NIC, by its name in the node file."""
    names: dict[str, str] = field(default_factory=dict)
    """The names of NICs that were other ones than in the node file, by these."""

    @property
    def had_gateway(self) -> bool:
        """Whether a gateway answered when the node began to work with it, as its probes say."""
        return "gateway " in self.probes

    @property
    def in_force(self) -> bool:
        """Whether the change brought its node file into force."""
        return self.result is Result.COMMITTED and self.kind not in OF_BRIDGES

    @property
    def file(self) -> NodeFile:
        """Its node file, as if it were read from the directory."""
        return NodeFile(PREFIX + self.name, self.text, self.digest)

    def refused_for(self, hostname: str | None) -> str | None:
        """Return why the entry is not for this host, None where it is.

        *hostname* is None while the node has no name. The file of the cluster is the same for every host, so it is
        used then too.
        """
        if self.hostname == hostname or (None in (self.hostname, hostname) and is_of_cluster(self.name)):
            return None
        this = f"this one is {hostname}" if hostname else "this one has no name yet"
        return f"it belongs to the host {self.hostname}, and {this}"


def says_the_same(entry: Entry, newest: Entry | None) -> bool:
    """Return whether *entry* says nothing that *newest*, the entry before it, does not say."""
    if newest is None:
        return False
    keys = ("result", "name", "digest", "hostname", "cause", "names")
    return all(getattr(entry, key) == getattr(newest, key) for key in keys) and entry.kind is newest.kind


def number_of(name: str) -> int | None:
    """Return the number of the entry in the file *name*, None where it is none."""
    stem = name.removesuffix(SUFFIX)
    return int(stem) if name.endswith(SUFFIX) and stem.isascii() and stem.isdecimal() else None


def numbers(listing: Iterable[str]) -> list[int]:
    """Return the numbers of the entries in *listing*, the newest first."""
    return sorted({number for name in listing if (number := number_of(name)) is not None}, reverse=True)


def surplus(sizes: Sequence[tuple[int, int]], needed: Collection[int] = ()) -> list[int]:
    """Return the numbers of the entries that are dropped; *sizes* are number and bytes of each, the newest first.

    The newest one stays, and those that are *needed*: the newest good one, which is the way back, and the one in force,
    which knows what earlier files have made.
    """
    dropped: list[int] = []
    spared = {number for number, _ in sizes[:1]} | set(needed)
    count, total = len(spared), sum(size for number, size in sizes if number in spared)
    for number, size in sizes:
        if number in spared:
            continue
        count, total = count + 1, total + size
        if count > MOST_ENTRIES or total > MOST_BYTES:
            dropped.append(number)
    return dropped


def render(entry: Entry, most: int) -> bytes:
    """Return the entry as it is stored, in *most* bytes at most where that can be: else without the network."""
    content = _rendered(entry)
    return content if len(content) <= most else _rendered(replace(entry, network=None, dns=None, shown={}, owned={}))


def _rendered(entry: Entry) -> bytes:
    network = None if entry.network is None else asdict(entry.network)
    values = {**asdict(replace(entry, network=None)), "network": network}
    del values["number"]  # its file has it
    return json.dumps({"version": VERSION, **values}).encode() + b"\n"


def parse(content: bytes, number: int) -> Entry:
    """Return the entry *number* from its bytes. Raises ValueError where it is torn, damaged, or of another version."""
    found = fields(content, VERSION)
    try:
        network = found.pop("network")
        kept = None if network is None else record.network_from(network)
        kind, result = Kind(found.pop("kind")), Result(found.pop("result"))
        entry = Entry(kind=kind, result=result, number=number, network=kept, **found)
        digest = hashlib.sha256(entry.text.encode()).hexdigest()
    except (AttributeError, KeyError, TypeError, UnicodeError) as error:
        raise ValueError(f"not a complete entry: {error}") from error
    texts = (entry.name, entry.boot_id, entry.who, entry.cause, entry.probes, entry.settings, entry.hostname or "")
    sound = all(isinstance(text, str) for text in texts) and isinstance(entry.good, bool)
    parts = (entry.shown, entry.owned, entry.macs, entry.names)
    sound = sound and isinstance(entry.time, int | float) and all(isinstance(each, dict) for each in parts)
    if not (sound and all(isinstance(each, str) for each in (*entry.macs.values(), *entry.names.values()))):
        raise ValueError("not an entry: a value has another type")
    if entry.digest not in (digest, ""):
        raise ValueError("its text is not the one that its SHA-256 was made of")
    return entry


OVS_PORT = "ovs-port"


def network_of(good: Entry, newer: Iterable[Entry], bad: Network, bridges: Collection[str] = ()) -> Network | None:
    """Return the network of *good* as a way back leads to it; None where there is none.

    *newer* are the entries since. *bad* is the present network, with the links of the file that is given up. *bridges*
    that no file names, and their uplinks, are left alone: no file changes them while they are there, their profiles
    have what the present lease is, and the stage configure-ovs repairs them.
    """
    then = good.network
    if then is None:
        return None
    since = [then, bad, *(each.network for each in newer if each.network)]
    links = {link for each in since for link in each.links}
    if made := {bridge for bridge in bridges if bridge in bad.active} - links:
        links -= made | _below_bridges(bad)
    names = {name for each in since for name in each.names}
    used = {uuid for link, uuid in then.active.items() if link in links}
    return replace(
        then,
        links=tuple(sorted(links)),
        names=tuple(sorted(names)),
        profiles=tuple(each for each in then.profiles if each.uuid in used or _is_for(each, links, names)),
        active={link: uuid for link, uuid in then.active.items() if link in links},
        due={},
    )


def _below_bridges(network: Network) -> set[str]:
    """Return the links that are ports of a bridge of Open vSwitch."""
    ports = {each.uuid for each in network.profiles if each.controller_kind == OVS_PORT}
    return {link for link, uuid in network.active.items() if uuid in ports}


def missing_nics(network: Network, present: Collection[str]) -> list[str]:
    """Return the links of *network* that are gone and that NetworkManager cannot make."""
    profiles = {each.uuid: each for each in network.profiles}
    used = ((link, profiles.get(uuid)) for link, uuid in network.active.items() if link not in present)
    return sorted(link for link, each in used if each and each.kind in HARDWARE)


def _is_for(profile: KeptProfile, links: Collection[str], names: Collection[str]) -> bool:
    return profile.link in links or profile.name in names
