"""Which links of a node file are waited for: those that udev may still bring, and those that still activate?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from nodenet.core.kernel.snapshot import Link
from nodenet.core.network_manager.objects import IDLE, Inventory
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.links import Links

MOST = 16
"""NICs that are named."""
WAIT_SECONDS = 20.0
"""How long one boot waits for the links of a file: kubelet waits too, and without them it starts all the same."""


def keys(present: Iterable[Link]) -> frozenset[str]:
    """Return how a file may identify links that are *present*: every name and every MAC address of hardware."""
    names = {name for link in present for name in link.names}
    return frozenset(names | {link.hardware_mac.lower() for link in present if link.hardware_mac})


def keys_of(links: Links) -> frozenset[str]:
    """Return how a file identifies the *links* that must be there: by name, or by MAC address."""
    return links.awaited.union(links.macs.values())


def missing(links: Links, present: Collection[str], failure: NmstateFailure) -> frozenset[str]:
    """Return the links that the kernel does not have, where *failure* is about one of them: by name, or by MAC.

    *present*: `keys` of every link. A file that is wrong in another way does not become right by waiting.
    """
    gone = keys_of(links).difference(present)
    words = {word.strip(".,;:'\"`()[]") for word in f"{failure.cause} {failure.said}".split()}
    words |= {word.lower() for word in words}  # a MAC address
    return gone if failure.kind is FailureKind.INVALID and words & gone else frozenset()


def missing_bases(links: Links, present: Collection[str]) -> frozenset[str]:
    """Return the links that the kernel does not have and that libnmstate does not miss before it makes a VLAN."""
    return links.bases.difference(present)


def missing_reason(file: str, links: Collection[str], there: str) -> str:
    """Return what is waited for, in words; *there*: the links that the host has, as `host_has` says it."""
    named = f"link{'s' * (len(links) > 1)} {', '.join(sorted(links))}"
    return f"the {named} of {file}, which udev may still bring; {there}"


def lacking(links: Links, present: Collection[Link]) -> tuple[str, ...]:
    """Return the links of a file that are not among those *present*, as people name them: by name, or by MAC."""
    there = keys(present)
    by_mac = [f"{name} with the MAC address {mac}" for name, mac in links.macs.items() if mac not in there]
    return (*sorted(links.awaited - there), *by_mac)


def host_has(links: Iterable[Link], speeds: Mapping[str, int]) -> str:
    """Return the NICs among *links* in words; *speeds*: link → Mbit/s, where it is known."""
    nics = [link for link in links if link.is_nic]
    shown = ", ".join(_in_words(link, speeds.get(link.name, 0)) for link in nics[:MOST])
    more = f" and {len(nics) - MOST} more" * (len(nics) > MOST)
    return f"this host has {shown or 'no NIC'}{more}"


def _in_words(link: Link, speed: int) -> str:
    rate = f"{speed / 1000:g} Gbit/s" if speed >= 1000 else f"{speed} Mbit/s"
    words = (link.hardware_mac or "", rate if speed > 0 else "", "carrier" if link.carrier else "no carrier")
    return f"{link.name} ({', '.join(filter(None, words))})"


# Which links of a node file does NetworkManager still activate, at its start?
#
# Only these are waited for, never the end of that start: where no DHCP server answers on any link, that takes minutes.

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


def unsettled_reason(links: Collection[str]) -> str:
    """Return what is waited for, in words."""
    return f"NetworkManager, which still activates {', '.join(sorted(links))}"
