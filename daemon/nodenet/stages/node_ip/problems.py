"""What can be wrong with the node IPs, and what is the remedy?"""

from __future__ import annotations

from collections.abc import Iterable

from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Again, Failed, Problem, Topic, Waiting
from nodenet.core.errors import PublishFailed
from nodenet.core.ip import IPAddress, family_of
from nodenet.core.messages import Message
from nodenet.core.node_ip.last_published import LastPublished
from nodenet.core.node_ip.patience import MOST_SECONDS
from nodenet.core.node_ip.select import Selection
from nodenet.core.node_ip.unit_environment import Override

LOOK_AGAIN_SECONDS = 30.0
"""Without any event: a lost event delays the boot by no more than this."""
RESELECT = "drain the node, run `nodenetctl reselect`, restart CRI-O and kubelet"


def node_ips_lost(cause: str) -> Problem:
    """Return the problem of node IPs that the node no longer has."""
    return Problem(Message.NODE_IP_DRIFT, cause, f"Bring the address back; or {RESELECT}")


def no_longer_selected(refused: Iterable[IPAddress]) -> Problem:
    """Return the problem of node IPs in use that a selection of now would not choose."""
    cause = f"{listed(refused)}, published as node IP, would not be selected now"
    remedy = f"Look at `nodenetctl explain node-ip --ignore-published`; {RESELECT}"
    return Problem(Message.NODE_IP_DRIFT, cause, remedy)


def family_missing(selection: Selection) -> Problem | None:
    """Return the problem of a family that the settings name and that did not come."""
    if not selection.missing:
        return None
    families = " and ".join(str(family) for family in selection.missing)
    cause = f"No {families} node IP within {MOST_SECONDS:.0f} s: {selection.waiting}"
    remedy = "Look at `nodenetctl explain node-ip`; take the family out of `families` if it is not wanted"
    return Problem(Message.NODE_IP_INCOMPLETE, cause, remedy)


def held(failure: str, node_ips: Iterable[IPAddress]) -> Waiting:
    """Return the wait for a node file that does not fail: the node did not have *node_ips* in its last boot."""
    what = f"kubelet does not start with {listed(node_ips)}, which the node did not have in its last boot"
    return Waiting(f"{failure}; {what}; an edit of the file is taken by itself", seconds=LOOK_AGAIN_SECONDS)


def lost_family(last: LastPublished, selection: Selection) -> bool:
    """Return whether *selection* lacks a family of the *last* node IPs that it may have: the next boot waits for it."""
    now = set(map(family_of, selection.node_ips))
    return any(family in selection.second - now for family in map(family_of, last.addresses))


def not_back(wanted: Iterable[IPAddress], published: Iterable[IPAddress]) -> Problem:
    """Return the problem of the last node IPs that did not come back within `node_ip_wait`."""
    cause = (
        f"{listed(wanted)}, the last node IP, did not come back within node_ip_wait; kubelet got {listed(published)}"
    )
    remedy = "Bring the address back and reboot; or, to keep the other one, run `nodenetctl reselect`"
    return Problem(Message.NODE_IP_NOT_BACK, cause, remedy)


def conflicting(cause: str, facts: Facts) -> Failed:
    """Return the failure of VIPs that are this node's own addresses."""
    remedy = "Give the VIPs addresses that no host has, or this node another address; then run `nodenetctl reload`"
    return Failed(
        Problem(Message.VIP_IS_OWN_ADDRESS, cause, remedy), facts, Again(frozenset({Topic.KERNEL}), LOOK_AGAIN_SECONDS)
    )


def unwritten(error: PublishFailed) -> Problem:
    """Return the problem of a file that kubelet does not need to start."""
    return Problem(error.message, error.cause, f"{error.remedy}; then run `nodenetctl reload --wait`")


def override(found: tuple[Override, ...]) -> Problem | None:
    """Return the problem of published variables that another file overrides."""
    if not found:
        return None
    sources = " and ".join(
        dict.fromkeys(str(item.source or f"what `systemctl cat {item.unit}` shows") for item in found)
    )
    names = " and ".join(dict.fromkeys(item.name for item in found))
    cause = "; ".join(map(str, found))
    return Problem(
        Message.NODE_IP_OVERRIDDEN,
        cause,
        f"Take {names} out of {sources}, run `systemctl daemon-reload`, then restart the unit; "
        "a hint selects another node IP",
    )


def listed(addresses: Iterable[IPAddress]) -> str:
    """Return the addresses as a sentence names them."""
    return " and ".join(map(str, addresses))
