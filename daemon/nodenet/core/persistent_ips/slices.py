"""What does a pod get while the API is away? An address of this node's slice, where the network has one.

A slice is a part of a subnet that no other node gives addresses of, so no Lease has to be created first. It is created
when the API answers again (``repair.restore``). Until then the record has no Lease UID.
"""

from __future__ import annotations

from collections.abc import Iterator

from nodenet.core.ip import IPAddress
from nodenet.core.persistent_ips.api import ApiAway
from nodenet.core.persistent_ips.effects import Here, Hold, Steps
from nodenet.core.persistent_ips.model import Owner, PodReference, Reservation, State
from nodenet.core.persistent_ips.network import Network
from nodenet.core.persistent_ips.pool import Pool
from nodenet.core.persistent_ips.questions import pod_reference
from nodenet.core.persistent_ips.reserve import Asked, Reserved, reserve


def reference_or_none(here: Here, asked: Asked) -> Steps[PodReference | None]:
    """Return what the pod says of this interface; None without the API, where it can have no claim.

    Raises CniError, ApiAway, Forbidden.
    """
    try:
        return (yield from pod_reference(here, asked))
    except ApiAway:
        if asked.network.persistent or not _has_slices(here, asked.network):
            raise
        return None


def reserve_for_pod(here: Here, asked: Asked, owner: Owner) -> Steps[Reserved]:
    """Return a reservation of each pool for a pod, of this node's slices while the API is away.

    Raises Exhausted, ApiAway, Forbidden.
    """
    try:
        return (yield from reserve(here, asked, owner, ()))
    except ApiAway:
        if not _has_slices(here, asked.network):
            raise
        yield Hold(("slice", asked.network.name))  # until the record is in the book
        rows = _rows(here, asked.network, owner)
        if rows is None:
            raise
        return Reserved(rows, ())


def serves_alone(here: Here, network: Network) -> bool:
    """Return whether a pod that was never seen gets an address without the API."""
    if network.persistent or not _has_slices(here, network):
        return False
    return all(next(_free(here, network, pool), None) is not None for pool in network.pools)


def _has_slices(here: Here, network: Network) -> bool:
    return here.slices and all(any(pool.slice_of(here.node)) for pool in network.pools)


def _rows(here: Here, network: Network, owner: Owner) -> tuple[Reservation, ...] | None:
    """Return a reservation of each pool, None where a slice is full."""
    held = here.book.held_by(owner, network.name)
    found = []
    for pool in network.pools:
        row = next((one for one in held if one.address.network == pool.subnet), None)
        if row is None:
            if (ip := next(_free(here, network, pool), None)) is None:
                return None
            row = Reservation(network.name, pool.interface(ip), owner, State.REPORTED, "", "", here.now)
        found.append(row)
    return tuple(found)


def _free(here: Here, network: Network, pool: Pool) -> Iterator[IPAddress]:
    return (ip for ip in pool.slice_of(here.node) if not here.book.taken(network.name, ip))
