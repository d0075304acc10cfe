"""Which published node IPs has the node lost, and why?

The kernel's list of addresses decides. Whether a server can listen on an address proves nothing: with
`net.ipv4.ip_nonlocal_bind`, which is usual on nodes with keepalived, it can listen on every address.
"""

from __future__ import annotations

from collections.abc import Sequence

from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import AddressFlag, Snapshot


def lost(published: Sequence[IPAddress], snapshot: Snapshot) -> tuple[IPAddress, ...]:
    """Return the *published* addresses that no link has."""
    present = {item.address for item in snapshot.addresses}
    return tuple(address for address in published if address not in present)


def unusable(published: Sequence[IPAddress], snapshot: Snapshot) -> str | None:
    """Return why a *published* address that a link has cannot be used, None when all can (ip-address(8))."""
    for item in snapshot.addresses:
        if item.address not in published:
            continue
        if AddressFlag.DAD_FAILED in item.flags:
            return f"Node IP {item.address} is also the address of another host ({item.link}: dadfailed)"
        if AddressFlag.TENTATIVE in item.flags and AddressFlag.OPTIMISTIC not in item.flags:
            return f"Node IP {item.address} is still checked for duplicates ({item.link}: tentative)"
    return None


def cause(gone: Sequence[IPAddress], link: str | None, snapshot: Snapshot) -> str:
    """Return the sentence that names the addresses and what is the matter with their *link*."""
    named = " and ".join(map(str, gone))
    subject = f"Node IPs {named} are" if len(gone) > 1 else f"Node IP {named} is"
    return f"{subject} missing ({_state(link, snapshot)})"


def _state(name: str | None, snapshot: Snapshot) -> str:
    if name is None:
        return "no link has it"
    link = next((item for item in snapshot.links if item.name == name), None)
    if link is None:
        return f"{name}: no such link"
    if not link.up:
        return f"{name}: down"
    if not link.carrier:
        return f"{name}: no carrier"
    others = [str(item.address) for item in snapshot.addresses if item.link == name and not item.address.is_link_local]
    return f"{name}: has {', '.join(others)}" if others else f"{name}: no address"
