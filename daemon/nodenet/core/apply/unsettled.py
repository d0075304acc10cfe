"""Which links of a node file does NetworkManager still activate, at its start?

Only these are waited for, never the end of that start: where no DHCP server answers on any link, that takes minutes.
"""

from __future__ import annotations

from collections.abc import Collection

from nodenet.core.network_manager.objects import IDLE, Inventory
from nodenet.core.node_file.links import Links

GRACE_SECONDS = 3.0
"""How long NetworkManager may take to find its links, and a DHCP server to answer: what works before the apply is what
the probes compare with."""
SETTLE_SECONDS = 60.0
"""How long a link is waited for: a DHCP client may have no time-out, as that of libnmstate's profiles."""


def unsettled(
    links: Links, found: Inventory, present: Collection[str], seconds: float, *, in_force: bool = False
) -> frozenset[str]:
    """Return the *links* that are unsettled, *seconds* after NetworkManager's start; *present* are those of the kernel.

    *in_force*: the file is only compared with the network, and what it gave to a link may be on its way.

    Where the file wants no lease, what a profile asks for is not waited for: the file replaces the profile.
    """
    if seconds >= SETTLE_SECONDS:
        return frozenset()
    ours = {*links.existing.intersection(present), *links.made.intersection(found.states)} - found.settled
    if seconds < GRACE_SECONDS:
        return frozenset(ours)
    idle = {link for link, state in found.states.items() if state.startswith(IDLE)}
    return frozenset(ours & found.states.keys() & (ours if in_force else links.leased)) - idle


def reason(links: Collection[str]) -> str:
    """Return what is waited for, in words."""
    return f"NetworkManager, which still activates {', '.join(sorted(links))}"
