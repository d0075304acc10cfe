"""What are the profiles of the last known good network, and which of the present ones are not of it?

All that node files have changed since is undone. A link that no file names, and a profile of an administrator for it,
are none of nodenet's business: they stay as they are, however long ago the good network was.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace

from nodenet.core.change.way_back import HARDWARE, Network
from nodenet.core.history.entry import Entry
from nodenet.core.network_manager.profile_backup import KeptProfile


def network_of(good: Entry, newer: Iterable[Entry], bad: Network, bridges: Collection[str] = ()) -> Network | None:
    """Return the network of *good* as a way back leads to it; None where there is none.

    *newer* are the entries since. *bad* is the present network, with the links of the file that is given up. A way back
    does not lead below one of *bridges* that was made since: its uplink has no addresses of its own.
    """
    then = good.network
    if then is None or any(bridge in bad.active and bridge not in then.active for bridge in bridges):
        return None
    since = [then, bad, *(each.network for each in newer if each.network)]
    links = {link for each in since for link in each.links}
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


def missing_nics(network: Network, present: Collection[str]) -> list[str]:
    """Return the links of *network* that are gone and that NetworkManager cannot make."""
    profiles = {each.uuid: each for each in network.profiles}
    used = ((link, profiles.get(uuid)) for link, uuid in network.active.items() if link not in present)
    return sorted(link for link, each in used if each and each.kind in HARDWARE)


def _is_for(profile: KeptProfile, links: Collection[str], names: Collection[str]) -> bool:
    return profile.link in links or profile.name in names
