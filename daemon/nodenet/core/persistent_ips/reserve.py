"""How does an owner get its addresses: those that its status names, those that it has here, or new ones?

A Lease is created for each new address before anything else. What is made here and cannot be used is given back.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from nodenet.core.ip import IPAddress
from nodenet.core.persistent_ips.cni import CniError, Code
from nodenet.core.persistent_ips.effects import Announce, CreateLease, Here, ListLeases, ReadDefinition, Steps, ask
from nodenet.core.persistent_ips.lease import Lease, network_selector
from nodenet.core.persistent_ips.model import (
    ApiAway,
    Attachment,
    Conflict,
    Forbidden,
    Interface,
    NetworkSeen,
    NotFound,
    Owner,
    PodName,
    PodReference,
    Reservation,
    State,
)
from nodenet.core.persistent_ips.network import Network, Pool, list_allows
from nodenet.core.persistent_ips.release import give_back, reclaim, succeed
from nodenet.core.value import frozen

MOST_COLLISIONS = 3
"""After so many addresses that turned out to be taken, all Leases of the network are listed."""
ROUNDS = 3
AGAIN = "The pod is tried again by itself"

Made = tuple[Lease, bool]
"""A Lease, and whether it was created just now."""


class Exhausted(CniError):
    """A subnet has no free address."""


class Taken(CniError):
    """An address that the claim's status names, or the pod asks for, is reserved for another owner."""


@frozen
class Asked:
    """An ADD."""

    container_id: str
    ifname: str
    netns: str
    pod: PodName | None
    network: Network

    @property
    def key(self) -> tuple[str, str]:
        """What CNI identifies it by."""
        return self.container_id, self.ifname


@frozen
class Reserved:
    """The reservations of an owner, in the order of the answer."""

    rows: tuple[Reservation, ...]
    created: tuple[Reservation, ...]
    """Those whose Lease was created just now. Only these are undone: others may be in use on another node."""


def reserve(
    here: Here, asked: Asked, owner: Owner, wanted: tuple[Interface, ...], wished: tuple[IPAddress, ...] = ()
) -> Steps[Reserved]:
    """Return one reservation for each of *wanted*; without these, one of each pool, and of these the *wished* ones.

    The new ones are not yet saved. Raises Exhausted, Taken, ApiAway, Forbidden; what was created is deleted then.
    """
    held = here.book.held_by(owner, asked.network.name)
    created: list[Reservation] = []
    found: list[Reservation] = []
    try:
        for address in wanted:
            row = next((one for one in held if one.address == address), None)
            found.append(row or _row(here, (yield from _claimed(here, asked, owner, address)), created))
        for pool in asked.network.pools if not wanted else ():
            wish = next((one for one in wished if one in pool.subnet), None)
            usable = [one for one in held if one.address.network == pool.subnet and pool.has(one.address.ip)]
            usable = [one for one in usable if wish in (None, one.address.ip)]
            row = next(iter(here.book.one_of_each_subnet(usable)), None)
            new = _any(here, asked, owner, pool) if wish is None else _wished(here, asked, owner, pool.interface(wish))
            found.append(row or _row(here, (yield from new), created))
    except (CniError, ApiAway, Forbidden):
        yield from give_back(here, created)
        raise
    return Reserved(tuple(found), tuple(created))


def _row(here: Here, made: Made, created: list[Reservation]) -> Reservation:
    lease, is_new = made
    lease_id = (lease.uid, lease.version)
    row = Reservation(lease.network, lease.address, lease.owner, State.RESERVED, *lease_id, here.now, is_new)
    if is_new:
        created.append(row)
    return row


def lease_for(here: Here, asked: Asked, owner: Owner, address: Interface) -> Lease:
    """Return the Lease of *address* for the sandbox of an ADD."""
    return Lease(
        asked.network.name,
        address,
        owner,
        here.node,
        asked.pod,
        asked.container_id,
        asked.ifname,
        here.boot_id,
    )


def _claimed(here: Here, asked: Asked, owner: Owner, address: Interface) -> Steps[Made]:
    """Return the Lease of an address that the claim has; there is none where another program wrote the status."""
    lease = lease_for(here, asked, owner, address)
    for _ in range(ROUNDS):
        with suppress(NotFound):
            held = yield from succeed(here, lease)
            if held.owner.uid == owner.uid:
                return held, False
            text = f"{owner} has {address} in its status, which is reserved for {held.owner}"
            raise Taken(Code.TRY_AGAIN, text, "Delete one of both")
        with suppress(Conflict):
            return (yield from ask(CreateLease(lease))), True
    raise ApiAway(f"The Lease {lease.name} was made and deleted while it was read")


def _wished(here: Here, asked: Asked, owner: Owner, address: Interface) -> Steps[Made]:
    """Return the Lease of the address that a pod asks for. Raises Taken."""
    place = (asked.network.name, address.ip)
    if here.held:
        raise CniError(Code.TRY_AGAIN, here.held, AGAIN)
    others = any(row.place == place and row.owner != owner for row in here.book.reservations())
    if not others and not here.book.claims.has(*place):
        made = yield from _try(here, lease_for(here, asked, owner, address))
        if made is not None:
            return made
    text = f"{owner} asks for {address} (ips of its annotation), which another claim or pod has"
    raise Taken(Code.TRY_AGAIN, text, "Choose another address; `nodenetctl claims` lists those of this node")


def _any(here: Here, asked: Asked, owner: Owner, pool: Pool) -> Steps[Made]:
    """Return a Lease of a free address of *pool*, or one that this owner has already. Raises Exhausted, CniError."""
    if here.held:
        raise CniError(Code.TRY_AGAIN, here.held, AGAIN)
    collisions, name = 0, asked.network.name
    tried: set[object] = set()
    for last in (False, True):
        if last and (mine := (yield from _list(here, asked, owner, pool))) is not None:
            return mine
        for ip in pool.candidates(f"{name} {owner.uid}"):
            if ip in tried or here.book.taken(name, ip):
                continue
            if collisions == MOST_COLLISIONS and not last:
                break
            tried.add(ip)
            made = yield from _try(here, lease_for(here, asked, owner, pool.interface(ip)))
            if made is not None:
                return made
            collisions += 1
            here.book.note_taken(name, (ip,))
    raise Exhausted(
        Code.TRY_AGAIN,
        f"Network {name} has no free address in {pool.subnet}",
        "Delete IPAMClaims that are not needed, or enlarge the subnet; `nodenetctl claims` lists the addresses",
    )


def _try(here: Here, lease: Lease) -> Steps[Made | None]:
    """Return the Lease if it could be created or is this owner's; None when another one has it."""
    with suppress(Conflict):
        return (yield from ask(CreateLease(lease))), True
    with suppress(NotFound):
        found = yield from succeed(here, lease)
        if found.owner.uid == lease.owner.uid:
            return found, False  # an interrupted attempt of the same owner
    return None


def _list(here: Here, asked: Asked, owner: Owner, pool: Pool) -> Steps[Made | None]:
    """Learn which addresses are taken; return the owner's own Lease if it is among them."""
    leases = yield from ask(ListLeases(network_selector(asked.network.name)))
    mine = [one for one in leases if one.owner.uid == owner.uid and one.address.network == pool.subnet]
    for lease in mine:
        if pool.has(lease.address.ip):
            with_us = lease_for(here, asked, owner, lease.address)
            found = yield from _try(here, with_us)
            if found is not None:
                return found
    here.book.note_taken(asked.network.name, (one.address.ip for one in leases), all_of_them=True)
    if not _has_free(here, asked.network.name, pool):
        yield from reclaim(here, _of(leases, pool))
    return None


def _has_free(here: Here, network: str, pool: Pool) -> bool:
    return any(not here.book.taken(network, ip) for ip in pool.candidates(""))


def _of(leases: Iterable[Lease], pool: Pool) -> list[Lease]:
    return [one for one in leases if one.address.ip in pool.subnet]


MISSING = "ClaimMissing"
MOST_NAMED = 3


def may_reference(here: Here, asked: Asked, reference: PodReference) -> Steps[bool]:
    """Return whether the pod gets the addresses of a claim. Raises CniError for a reference that is not allowed."""
    name = asked.network.name
    if not reference.claim:
        if asked.network.persistent and reference.workload.is_machine:
            text = (
                f"Pod {reference.pod} of a virtual machine references no IPAMClaim on network {name}: its address "
                "changes with its next start. Set allowPersistentIPs at the top level of the configuration"
            )
            yield Announce(MISSING, text, pod=reference.pod)
        return False
    if asked.network.persistent or list_allows((yield from _definition(reference.source)) or ""):
        return True
    if here.ignore_not_allowed:
        return False
    raise CniError(
        Code.CONFIGURATION,
        f"Pod {reference.pod} references IPAMClaim {reference.claim} on network {name}, "
        "which does not allow persistent IPs",
        'Set "allowPersistentIPs": true at the top level of its configuration, or remove ipam-claim-reference',
    )


def _definition(source: str) -> Steps[str | None]:
    """Return the configuration in the NetworkAttachmentDefinition *source*; None if there is none, "" if unknown."""
    try:
        return (yield from ask(ReadDefinition(*source.split("/")))) if source else ""
    except NotFound:
        return None
    except Forbidden:
        return ""


def check_wishes(network: Network, wished: tuple[IPAddress, ...]) -> None:
    """Refuse addresses that no pod of *network* can have. Raises CniError."""
    pools = []
    for address in wished:
        pool = next((one for one in network.pools if address in one.subnet), None)
        refusal = "" if pool is None else network.refusal(pool.interface(address))
        if pool is None or refusal:
            text = refusal or f"which is in no subnet of network {network.name}"
            raise CniError(Code.CONFIGURATION, f"The pod asks for {address} (ips of its annotation), {text}")
        if pool in pools:
            raise CniError(
                Code.CONFIGURATION, f"The pod asks for two addresses of {pool.subnet} (ips of its annotation)"
            )
        pools.append(pool)


def seen_as(network: Network, source: str) -> NetworkSeen:
    """Return what is recorded of a network that is used."""
    subnets = tuple(pool.subnet for pool in network.pools)
    return NetworkSeen(network.name, network.digest, source, subnets, network.never_given, network.segment)


def check_configuration(here: Here, asked: Asked, reference: PodReference | None) -> Steps[None]:
    """Refuse a second configuration of a network in use, and a second network on its subnet. Raises CniError."""
    _check_segment(here, asked.network)
    seen, source = here.book.network(asked.network.name), reference.source if reference else ""
    if seen is None or seen.digest == asked.network.digest or not source or not seen.source or seen.source == source:
        return  # an edited configuration is taken
    using = [one for one in here.book.attachments() if one.network == asked.network.name]
    if not using or (yield from _definition(seen.source)) is None:
        return
    raise CniError(
        Code.CONFIGURATION,
        f"NetworkAttachmentDefinitions {seen.source} and {source} configure network {asked.network.name} "
        f"in different ways, and {_named(using)} of this node has the first",
        "Give both the same subnets, excludeSubnets and allowPersistentIPs, or another name (the key `name` of the "
        "configuration; without it, the definition's own)",
    )


def _check_segment(here: Here, network: Network) -> None:
    """Refuse a network on the subnets of another one in use on its link: addresses would be given twice."""
    own = seen_as(network, "")
    for other in here.book.networks() if own.segment else ():
        if other.network == own.network or other.segment != own.segment:
            continue
        both = [one for one in own.subnets for old in other.subnets if one.version == old.version and one.overlaps(old)]
        using = [one for one in here.book.attachments() if one.network == other.network]
        if both and using:
            raise CniError(
                Code.CONFIGURATION,
                f"Networks {other.network} and {own.network} have {both[0]} on the same link {own.segment}, "
                f"and {_named(using)} of this node has an address of {other.network}",
                "Give both the same name, which makes them one network, or other subnets",
            )


def _named(attachments: Iterable[Attachment]) -> str:
    names = sorted({f"pod {one.pod}" if one.pod else f"container {one.container_id}" for one in attachments})
    more = f" and {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
    return f"{', '.join(names[:MOST_NAMED])}{more}"
