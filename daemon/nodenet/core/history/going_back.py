"""Which profiles belong to the last known good network, and which present profiles do not?

All that node files have changed since is undone. A link that no file names, and a profile of an administrator for it,
are none of nodenet's business: they stay as they are, however long ago the good network was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from nodenet.core.change.way_back import HARDWARE, Network
from nodenet.core.history.entry import Entry
from nodenet.core.network_manager.profile_backup import KeptProfile

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
