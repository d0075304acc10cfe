"""Do the store of this node, the Leases and the claims agree? The steps of ``nodenetctl claims check``.

Only two differences are repaired: an address that is in use or promised and has no Lease gets its Lease back, and a
Lease without an owner is deleted as the service itself does it. Nothing here frees an address of a claim.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.persistent_ips.api import Conflict
from nodenet.core.persistent_ips.book import Book, Put
from nodenet.core.persistent_ips.claim import known_addresses
from nodenet.core.persistent_ips.effects import CreateLease, Here, Hold, Save, Steps, ask
from nodenet.core.persistent_ips.lease import Lease
from nodenet.core.persistent_ips.model import Interface, Owner, Reservation, State
from nodenet.core.persistent_ips.release import ORPHAN_SECONDS, suspects, sweep
from nodenet.core.persistent_ips.repair import restore
from nodenet.core.value import frozen

REMEDY = "Run `nodenetctl claims check --repair`"
LATER = f"{REMEDY} twice, {ORPHAN_SECONDS / 60:g} minutes apart: its pod may still run on a node that is cut off"
Place = tuple[str, IPAddress]


@frozen
class Difference:
    """Something that does not agree; *missing* and *orphan* are what can be repaired."""

    network: str
    address: str
    cause: str
    remedy: str
    missing: Lease | None = None
    row: Reservation | None = None
    """The reservation of this node whose Lease is missing."""
    orphan: Lease | None = None


def differences(here: Here, leases: Iterable[Lease]) -> Iterator[Difference]:
    """Yield what does not agree between the book and the *leases* of the cluster."""
    leases = tuple(leases)
    by_place = {(lease.network, lease.address.ip): lease for lease in leases}
    yield from _of_reservations(here, by_place)
    yield from _of_claims(here, by_place)
    yield from _of_gateways(here)
    for lease in suspects(here, leases):
        text = f"its Lease is of {lease.owner}, which is gone"
        yield Difference(lease.network, str(lease.address), text, LATER, orphan=lease)
    own = {row.lease_uid for row in here.book.reservations()}
    for lease in leases:
        if lease.node == here.node and lease.uid not in own:
            text = f"its Lease of {lease.owner} names this node, whose store does not have it yet"
            remedy = "Check again; where it stays, run `systemctl restart nodenet-ipam`"
            yield Difference(lease.network, str(lease.address), text, remedy)


def _of_reservations(here: Here, leases: Mapping[Place, Lease]) -> Iterator[Difference]:
    for row in here.book.reservations():
        lease = leases.get(row.place)
        if row.state is State.RELEASING:
            continue  # the service deletes its Lease at this moment, or when the API answers
        if lease is None:
            missing = _lease(here, row.network, row.address, row.owner)
            text = f"it is reserved here for {row.owner} and has no Lease"
            yield Difference(row.network, str(row.address), text, REMEDY, missing, row)
        elif lease.owner.uid != row.owner.uid:
            text = f"it is reserved here for {row.owner}, and its Lease is of {lease.owner}"
            yield Difference(row.network, str(row.address), text, "Delete one of both, then its pod")


def _of_claims(here: Here, leases: Mapping[Place, Lease]) -> Iterator[Difference]:
    """Yield what does not agree with claims; of networks that this node has never used, nothing is known."""
    first: dict[Place, Owner] = {}
    reserved = {row.place for row in here.book.reservations()}
    for claim in here.book.claims.all():
        if here.book.network(claim.network) is None:
            continue
        for address in known_addresses(claim):
            place = (claim.network, address.ip)
            other, lease = first.setdefault(place, claim.owner), leases.get(place)
            if other != claim.owner:
                text = f"it is in the status of {claim.owner} and of {other}"
                yield Difference(claim.network, str(address), text, "Delete one of both claims")
            elif lease is None and place not in reserved:
                missing = _lease(here, claim.network, address, claim.owner)
                text = f"it is in the status of {claim.owner} and has no Lease"
                yield Difference(claim.network, str(address), text, REMEDY, missing=missing)
            elif lease is not None and lease.owner.uid != claim.uid and place not in reserved:
                text = f"it is in the status of {claim.owner}, and its Lease is of {lease.owner}"
                yield Difference(claim.network, str(address), text, "Delete one of both")


def _of_gateways(here: Here) -> Iterator[Difference]:
    """Yield addresses that are in use and that the configuration gives to nothing any more."""
    places = [(row.network, row.address, row.owner) for row in here.book.reservations()]
    places += [(one.network, address, one.owner) for one in here.book.claims.all() for address in known_addresses(one)]
    for network, address, owner in dict.fromkeys(places):
        seen = here.book.network(network)
        if seen is not None and any(address.ip in one for one in seen.never_given):
            text = f"{owner} has it, and it is a gateway or excluded in the configuration of the network"
            yield Difference(
                network, str(address), text, "Correct the configuration, or give its owner another address"
            )


def repair(here: Here, difference: Difference) -> Steps[bool]:
    """Repair a difference; return whether it is repaired. Raises ApiAway, Forbidden, PublishFailed."""
    if difference.row is not None:
        yield from restore(here, difference.row)
        return difference.row not in here.book.reservations_of(difference.row.owner)
    if difference.missing is not None:
        return (yield from _reserve(here, difference.missing))
    if difference.orphan is not None:
        return (yield from sweep(here, difference.orphan))
    return False


def _reserve(here: Here, wanted: Lease) -> Steps[bool]:
    """Reserve an address that a claim's status has; this node is responsible for it until another one uses it."""
    yield Hold(wanted.owner.hold)
    try:
        lease = yield from ask(CreateLease(wanted))
    except Conflict:
        return False  # another node was faster: the next check sees whose it is
    made = Reservation(lease.network, lease.address, lease.owner, State.REPORTED, lease.uid, lease.version, here.now)
    yield Save((Put(made),))
    return True


def _lease(here: Here, network: str, address: Interface, owner: Owner) -> Lease:
    return Lease(network, address, owner, here.node, None, boot_id=here.boot_id)


def document(book: Book, leases: Iterable[Lease], found: Iterable[tuple[Difference, bool]]) -> dict[str, Any]:
    """Return the document of a check; *found*: each difference, and whether it was repaired."""
    places = {row.place for row in book.reservations()} | {(lease.network, lease.address.ip) for lease in leases}
    entries = [
        {
            "network": difference.network,
            "address": difference.address,
            "cause": difference.cause,
            "remedy": difference.remedy,
            "repaired": repaired,
        }
        for difference, repaired in found
    ]
    return {"addresses": len(places), "differences": entries}
