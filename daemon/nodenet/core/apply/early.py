"""Can a node file be applied before NetworkManager has ended its start?

That start ends when no first activation is left. Where no DHCP server answers, the profile that NetworkManager makes by
itself for a link keeps it for ``dhcp-timeout`` (45 s by default, nm-settings(5)) in each of four tries. The rest
of that start does not change what is already decided on the links of the file.
"""

from __future__ import annotations

from nodenet.core.network_manager.objects import Inventory
from nodenet.core.node_file.links import Links

GRACE_SECONDS = 3.0
"""How long NetworkManager may be starting: it finds its links and activates static profiles in a second."""
LONGEST_PAUSE_SECONDS = 60.0
START_SECONDS = 200.0
"""A start that has lasted so long may never end: a DHCP client without a time-out, on a bridge without an uplink.

The four tries of a link with the default time-out are over after 180 s.
"""


def are_decided(links: Links, found: Inventory) -> bool:
    """Return whether NetworkManager's start changes nothing more on *links*.

    A link is decided where its activation has ended, well or not. So is one for which NetworkManager asks for a lease
    with a profile of its own in memory, unless the file wants that lease: the file replaces the profile.
    """
    if not links.existing:
        return False
    decided = found.settled | (found.automatic - links.leased)
    return links.existing <= decided and (links.made & found.states.keys()) <= decided


def pause(lasted: float) -> float:
    """Return the seconds until the next look, after a start that has *lasted* so many."""
    return max(GRACE_SECONDS - lasted, 0.0) or min(max(5.0, lasted / 2), LONGEST_PAUSE_SECONDS)
