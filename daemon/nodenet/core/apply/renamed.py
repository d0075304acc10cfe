"""Which NICs of a node file that has worked have another name now?

An upgrade of the kernel or of systemd gives a NIC another name, or two NICs exchange their names. The history knows the
permanent MAC of each NIC that a file names, from when the file was in force. The file then means the same NIC, whatever
its name is. A NIC whose MAC address this host no longer has was replaced: its name still means the NIC that has it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from nodenet.core.kernel.snapshot import Link
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.node_file.links import Links

MOST = 4
"""NICs that one message names."""
Renamed = tuple[str, str, str]
"""The name in the file, the name of now, and the permanent MAC."""


def macs_of(links: Links, present: Iterable[Link], renamed: Iterable[Renamed] = ()) -> dict[str, str]:
    """Return name in the file → permanent MAC of each NIC of *links*, which have the names of now.

    A MAC that several NICs have identifies none of them, as that of virtual ports of a bond.
    """
    before = {now: name for name, now, _ in renamed}
    by_name = {name: link for link in present if link.is_nic for name in link.names}
    macs = [link.hardware_mac for link in {link.index: link for link in by_name.values()}.values()]
    found = {name: by_name[name].hardware_mac for name in sorted(links.awaited & by_name.keys())}
    return {before.get(name, name): mac for name, mac in found.items() if mac and macs.count(mac) == 1}


def renamed(macs: Mapping[str, str], present: Iterable[Link]) -> tuple[Renamed, ...]:
    """Return the NICs that have another name than in the file, by *macs*: name in the file → permanent MAC.

    Nothing where the new name of one is what the file calls another NIC that is gone: the file has no meaning then.
    """
    by_mac: dict[str, list[Link]] = {}
    for link in present:
        if link.is_nic and link.hardware_mac:
            by_mac.setdefault(link.hardware_mac, []).append(link)
    alone = {name: by_mac[mac][0] for name, mac in macs.items() if len(by_mac.get(mac, ())) == 1}
    moved = {name: link.name for name, link in alone.items() if name not in link.names}
    if set(moved.values()) & (macs.keys() - moved.keys()):
        return ()
    return tuple((name, now, macs[name]) for name, now in sorted(moved.items()))


def back(names: Iterable[str], macs: Mapping[str, str], present: Iterable[Link]) -> tuple[Renamed, ...]:
    """Return which NICs of *names*, which had other names, are called as in the file again."""
    here = {(name, link.hardware_mac) for link in present if link.is_nic for name in link.names}
    return tuple((name, name, macs[name]) for name in names if (name, macs.get(name)) in here)


def moves(found: Iterable[Renamed], used: Mapping[str, str], present: Iterable[Profile]) -> dict[str, str]:
    """Return UUID → link of each profile that names another link than its NIC has now.

    *used*: name in the file → UUID of the profile that the NIC had with the file.
    """
    links = {each.uuid: each.link for each in present if each.on_disk}
    due = {used[name]: now for name, now, _ in found if name in used}
    return {uuid: now for uuid, now in due.items() if links.get(uuid, "") not in ("", now)}


def cause(file: str, found: Iterable[Renamed]) -> str:
    """Return what has happened, and what follows from it."""
    return f"{in_words(found)}; {file} is used with the new name of each NIC"


def remedy(file: str, found: Iterable[Renamed], lines: Mapping[str, int]) -> str:
    """Return the edit to make in *file*; *lines*: name in the file → the line of its entry, where it has one."""
    edits = [_edit(name, mac, lines.get(name)) for name, _, mac in found]
    more = f"; {len(edits) - MOST} more" * (len(edits) > MOST)
    shown = "; ".join(edits[:MOST])
    return f"Write into {file} {shown}{more}. `nodenetctl explain nmstate` prints each entry ready to paste"


def block(found: Iterable[Renamed]) -> str:
    """Return the first lines of each entry, ready to paste into a node file."""
    entries = (
        f'- name: {name}\n  type: ethernet\n  identifier: mac-address\n  mac-address: "{mac}"\n'
        for name, _, mac in found
    )
    return "".join(entries)


def in_words(found: Iterable[Renamed]) -> str:
    """Return which NICs have which names now."""
    words = [_in_words(*each) for each in found]
    return ", ".join(words[:MOST]) + f" and {len(words) - MOST} more" * (len(words) > MOST)


def _in_words(name: str, now: str, mac: str) -> str:
    if name == now:
        return f"{name} has the name of the node file again (same MAC {mac})"
    return f"{name} is called {now} now (same MAC {mac})"


def _edit(name: str, mac: str, line: int | None) -> str:
    place = f"below `name: {name}` in line {line}" if line else f"an entry with `name: {name}` and `type: ethernet`"
    return f'{place}: `identifier: mac-address` and `mac-address: "{mac}"`'
