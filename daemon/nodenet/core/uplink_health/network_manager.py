"""What does it mean for the node IPs that NetworkManager is not there?"""

from __future__ import annotations

from collections.abc import Callable, Collection

from nodenet.core.boot.outcome import Problem
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message


def manager_away(in_words: Callable[[float], str], node_ips: Collection[IPAddress], snapshot: Snapshot) -> Problem:
    """Return the problem that NetworkManager is gone since now, with the end of the leases of *node_ips*.

    *in_words* is the time so many seconds from now, as people read it.
    """
    leases = [each for each in snapshot.addresses if each.address in node_ips and not each.is_permanent]
    ends = [
        f"the lease of {each.address} on {each.link} ends at {in_words(each.valid_lifetime or 0)}" for each in leases
    ]
    cause = "; ".join([f"NetworkManager has not run since {in_words(0)}", *ends])
    return Problem(
        Message.MANAGER_AWAY, cause, "Look at `journalctl -u NetworkManager`, then run `systemctl start NetworkManager`"
    )
