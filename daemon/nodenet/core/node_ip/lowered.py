"""Which links that may give the node its address has another program set down, or NetworkManager given up?

NetworkManager sets each link up that it manages, to see its carrier. It does so once, and a link that another program
or a driver sets down later stays down. Open vSwitch does it too: where its userspace datapath lets a link go, it sets
the flags that the link had before, and these may be older than NetworkManager's.
"""

from __future__ import annotations

from collections.abc import Mapping

from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.network_manager.objects import DISCONNECTED, Inventory
from nodenet.core.node_ip.inputs import own_links
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.rules import is_denied

ASKED_FOR = "asked for"
"""In the words of a device that an administrator has disconnected."""
NOT_MANAGED = ("unmanaged", "unknown")
"""States of NetworkManager's devices (NMDeviceState) whose links are another program's."""


def down(snapshot: Snapshot, policy: Policy) -> tuple[str, ...]:
    """Return the links that are set down and that *policy* lets have the node IP, by index."""
    links = (link for link in snapshot.links if not (link.up or link.loopback or is_denied(link, policy)))
    return tuple(link.name for link in sorted(links, key=lambda link: link.index))


def managed(links: tuple[str, ...], states: Mapping[str, str]) -> tuple[str, ...]:
    """Return those of *links* that NetworkManager manages; *states*: link → its state in words."""
    return tuple(name for name in links if name in states and not states[name].startswith(NOT_MANAGED))


def given_up(snapshot: Snapshot, policy: Policy, found: Inventory) -> tuple[str, ...]:
    """Return the links with a carrier that NetworkManager activates no more, though their profiles ask for that.

    After four tries it waits for five minutes; one answer to its duplicate address detection ends a try.
    """
    own = {link.name for link in own_links(snapshot, policy) if link.up and link.carrier}
    wanted = {each.link for each in found.profiles if each.setting("connection", "autoconnect", default=True)}
    idle = (name for name, words in found.states.items() if words.startswith(DISCONNECTED) and ASKED_FOR not in words)
    return tuple(sorted(name for name in idle if name in own and name in wanted))
