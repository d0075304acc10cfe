"""What does this node know: its durable records, the claims of the cluster, and addresses that were seen taken?

The book is changed in two ways only: by records that are on the disk already (``put``, ``drop``), and by the watch of
the claims. Everything else reads it.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from ipaddress import ip_address, ip_interface, ip_network
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.persistent_ips.claim import Claim, known_addresses
from nodenet.core.persistent_ips.cni import CniError, Code, Request, previous_addresses
from nodenet.core.persistent_ips.model import (
    Attachment,
    NetworkSeen,
    Owner,
    OwnerKind,
    PodName,
    PodReference,
    Record,
    Reservation,
    State,
    Workload,
)
from nodenet.core.persistent_ips.network import Network, Pool
from nodenet.core.value import frozen

# How are the records of the store written and read? (kind, key) → one JSON object; a record of another kind is left.
#
# The schema: ``reservation`` by network, address and Lease UID; ``attachment`` by container and interface; ``pod`` by
# pod UID, interface and network; ``network`` by name.

Row = tuple[str, str, str]


class RecordInvalid(ValueError):
    """A row of the store is not one that this service wrote."""


@functools.lru_cache(maxsize=4096)
def key_of(*parts: str) -> str:
    """Return the key of the record with this identity; a verb asks for the same one again and again."""
    return json.dumps(list(parts))


def place_of(record: Record) -> tuple[str, str]:
    """Return kind and key of *record*."""
    match record:
        case Reservation():
            return "reservation", key_of(record.network, str(record.address), record.lease_uid)
        case Attachment():
            return "attachment", key_of(*record.key)
        case PodReference():
            return "pod", key_of(*record.key)
        case NetworkSeen():
            return "network", key_of(record.network)


def row_of(record: Record) -> Row:
    """Return the row of *record*."""
    kind, key = place_of(record)
    return kind, key, json.dumps(record, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> object:  # noqa: ANN401  (whatever is in a record)
    """Return the fields of a record, or an address as text. ``dataclasses.asdict`` copies every value first."""
    return {field.name: getattr(value, field.name) for field in fields(value)} if is_dataclass(value) else str(value)


def record_of(row: Row) -> Record | None:
    """Return the record of a row, None for a kind that a later release may have. Raises RecordInvalid."""
    kind, _, text = row
    reader = _READERS.get(kind)
    if reader is None:
        return None
    try:
        return reader(json.loads(text))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise RecordInvalid(f"a record of kind {kind} cannot be read: {error!r}") from None


def _reservation(found: Mapping[str, Any]) -> Reservation:
    return Reservation(
        str(found["network"]),
        ip_interface(found["address"]),
        _owner(found["owner"]),
        State(found["state"]),
        str(found["lease_uid"]),
        str(found["lease_version"]),
        float(found["since"]),
        bool(found.get("made_here")),  # not in records of earlier releases
    )


def _attachment(found: Mapping[str, Any]) -> Attachment:
    return Attachment(
        str(found["container_id"]),
        str(found["ifname"]),
        str(found["network"]),
        _owner(found["owner"]),
        tuple(ip_interface(one) for one in found["addresses"]),
        PodName(**found["pod"]) if found["pod"] else None,
        str(found["netns"]),
        str(found["boot_id"]),
        float(found["since"]),
    )


def _pod(found: Mapping[str, Any]) -> PodReference:
    return PodReference(
        PodName(**found["pod"]),
        str(found["ifname"]),
        str(found["network"]),
        str(found["claim"]),
        Workload(str(found["workload"]["created_by"]), str(found["workload"]["machine"])),
        str(found["source"]),
        tuple(map(ip_address, found.get("wished", ()))),  # not in records of earlier releases
    )


def _network(found: Mapping[str, Any]) -> NetworkSeen:
    return NetworkSeen(
        str(found["network"]),
        str(found["digest"]),
        str(found["source"]),
        tuple(map(ip_network, found.get("subnets", ()))),  # these three are not in records of earlier releases
        tuple(map(ip_network, found.get("never_given", ()))),
        str(found.get("segment", "")),
    )


def _owner(found: Mapping[str, Any]) -> Owner:
    return Owner(OwnerKind(found["kind"]), str(found["namespace"]), str(found["name"]), str(found["uid"]))


_READERS: Mapping[str, Callable[[Mapping[str, Any]], Record]] = {
    "reservation": _reservation,
    "attachment": _attachment,
    "pod": _pod,
    "network": _network,
}


# What does this node know, from its records and from the claims of the cluster?


@frozen
class Put:
    """Write a record."""

    record: Record


@frozen
class Drop:
    """Remove a record."""

    record: Record


Change = Put | Drop


class Book:
    """The knowledge of one node, in memory."""

    def __init__(self, records: Iterable[Record] = ()) -> None:
        """Begin with what the store has."""
        self._records: dict[tuple[str, str], Record] = {}
        self._of_owner: dict[tuple[OwnerKind, str], dict[tuple[str, str], Reservation | Attachment]] = {}
        self._held: dict[str, dict[IPAddress, int]] = {}
        self._pods_of_claim: dict[tuple[str, str], set[PodName]] = {}
        self.claims = Claims()
        self.seen: dict[str, set[IPAddress]] = {}
        """Addresses of a network whose Leases others have, as far as this process has met them."""
        self.orphans: dict[str, float] = {}
        """UIDs of Leases that had no owner when they were looked at, and when that was first (uptime)."""
        self.take(Put(record) for record in records)

    def take(self, changes: Iterable[Change]) -> None:
        """Follow changes that are durable now."""
        for change in changes:
            place = place_of(change.record)
            if (old := self._records.pop(place, None)) is not None:
                self._forget(place, old)
            if isinstance(change, Put):
                self._records[place] = change.record
                self._index(place, change.record)

    def _index(self, place: tuple[str, str], record: Record) -> None:
        if isinstance(record, Reservation | Attachment):
            self._of_owner.setdefault((record.owner.kind, record.owner.uid), {})[place] = record
        if isinstance(record, Reservation):
            held = self._held.setdefault(record.network, {})
            held[record.address.ip] = held.get(record.address.ip, 0) + 1
        if isinstance(record, PodReference) and record.claim:
            self._pods_of_claim.setdefault((record.pod.namespace, record.claim), set()).add(record.pod)

    def _forget(self, place: tuple[str, str], record: Record) -> None:
        if isinstance(record, Reservation | Attachment):
            owned = self._of_owner[record.owner.kind, record.owner.uid]
            del owned[place]
            if not owned:
                del self._of_owner[record.owner.kind, record.owner.uid]
        if isinstance(record, Reservation):
            held = self._held[record.network]
            held[record.address.ip] -= 1
            if not held[record.address.ip]:
                del held[record.address.ip]
        if isinstance(record, PodReference) and record.claim:
            pods = self._pods_of_claim[record.pod.namespace, record.claim]
            pods.discard(record.pod)
            if not pods:
                del self._pods_of_claim[record.pod.namespace, record.claim]

    def attachment(self, key: tuple[str, str]) -> Attachment | None:
        """Return the attachment of (container, interface)."""
        found = self._records.get(("attachment", key_of(*key)))
        return found if isinstance(found, Attachment) else None

    def pod_reference(self, key: tuple[str, str, str]) -> PodReference | None:
        """Return what was read of (pod UID, interface, network)."""
        found = self._records.get(("pod", key_of(*key)))
        return found if isinstance(found, PodReference) else None

    def network(self, name: str) -> NetworkSeen | None:
        """Return the configuration with which a network was used last."""
        found = self._records.get(("network", key_of(name)))
        return found if isinstance(found, NetworkSeen) else None

    def networks(self) -> Iterator[NetworkSeen]:
        """Yield every network that was used on this node."""
        yield from [one for one in self._records.values() if isinstance(one, NetworkSeen)]

    def reservations(self) -> Iterator[Reservation]:
        """Yield every reservation."""
        yield from [one for one in self._records.values() if isinstance(one, Reservation)]

    def attachments(self) -> Iterator[Attachment]:
        """Yield every attachment."""
        yield from [one for one in self._records.values() if isinstance(one, Attachment)]

    def pod_references(self) -> Iterator[PodReference]:
        """Yield what was read of pods."""
        yield from [one for one in self._records.values() if isinstance(one, PodReference)]

    def reservations_of(self, owner: Owner) -> tuple[Reservation, ...]:
        """Return what this node has reserved for *owner*."""
        owned = self._of_owner.get((owner.kind, owner.uid), {})
        return tuple(one for one in owned.values() if isinstance(one, Reservation))

    def held_by(self, owner: Owner, network: str) -> tuple[Reservation, ...]:
        """Return the reservations of *owner* in *network* that are not on their way back."""
        return tuple(
            one for one in self.reservations_of(owner) if one.network == network and one.state is not State.RELEASING
        )

    def attachments_of(self, owner: Owner) -> tuple[Attachment, ...]:
        """Return where *owner*'s addresses are attached on this node."""
        owned = self._of_owner.get((owner.kind, owner.uid), {})
        return tuple(one for one in owned.values() if isinstance(one, Attachment))

    def one_of_each_subnet(self, rows: Iterable[Reservation]) -> tuple[Reservation, ...]:
        """Return what an owner has now; an edited status left it more. What a sandbox has goes before newer ones."""
        ordered = sorted(rows, key=lambda row: (self._is_attached(row), row.since))
        return tuple({(row.network, row.address.network): row for row in ordered}.values())

    def _is_attached(self, row: Reservation) -> bool:
        attached = self.attachments_of(row.owner)
        return any(row.network == one.network and row.address in one.addresses for one in attached)

    def claim_owners(self) -> tuple[Owner, ...]:
        """Return the claims that have a reservation here."""
        found = {one.owner.uid: one.owner for one in self.reservations() if one.owner.kind is OwnerKind.CLAIM}
        return tuple(found.values())

    def pods_of_claim(self, namespace: str, name: str) -> frozenset[PodName]:
        """Return the pods of this node that were read with a reference to the claim of this name."""
        return frozenset(self._pods_of_claim.get((namespace, name), ()))

    def taken(self, network: str, address: IPAddress) -> bool:
        """Return whether *address* is known to be another one's: an allocation does not try it."""
        return (
            address in self._held.get(network, ())
            or address in self.seen.get(network, ())
            or self.claims.has(network, address)
        )

    def note_taken(self, network: str, addresses: Iterable[IPAddress], *, all_of_them: bool = False) -> None:
        """Remember addresses whose Leases others have; *all_of_them*: it is a complete list of now."""
        if all_of_them:
            self.seen[network] = set(addresses)
        else:
            self.seen.setdefault(network, set()).update(addresses)

    def note_free(self, network: str, address: IPAddress) -> None:
        """Forget that a Lease was seen: it is gone."""
        self.seen.get(network, set()).discard(address)


class Claims:
    """The claims of the cluster as the watch has them; by namespace and name, one object each."""

    def __init__(self) -> None:
        """Begin with none, not complete."""
        self._claims: dict[tuple[str, str], Claim] = {}
        self._addresses: dict[str, dict[IPAddress, int]] = {}
        self.complete = False
        """Whether every claim was listed once; a watch keeps it so."""

    def get(self, namespace: str, name: str) -> Claim | None:
        """Return a claim as it was when the watch spoke last."""
        return self._claims.get((namespace, name))

    def all(self) -> Iterator[Claim]:
        """Yield every claim."""
        yield from self._claims.values()

    def __len__(self) -> int:
        """How many there are."""
        return len(self._claims)

    def put(self, claim: Claim) -> Claim | None:
        """Take a new or changed claim; return the one that had the name, if that was another (another UID)."""
        old = self._claims.get(claim.key)
        if old is not None:
            self._count(old, -1)
        self._claims[claim.key] = claim
        self._count(claim, 1)
        return old if old is not None and old.uid != claim.uid else None

    def remove(self, claim: Claim) -> None:
        """Take that a claim is gone; one of the same name and another UID stays."""
        old = self._claims.get(claim.key)
        if old is not None and old.uid == claim.uid:
            self._count(old, -1)
            del self._claims[claim.key]

    def has(self, network: str, address: IPAddress) -> bool:
        """Return whether the status of any claim of *network* has *address*."""
        return address in self._addresses.get(network, ())

    def _count(self, claim: Claim, number: int) -> None:
        counted = self._addresses.setdefault(claim.network, {})
        for one in known_addresses(claim):
            counted[one.ip] = counted.get(one.ip, 0) + number
            if not counted[one.ip]:
                del counted[one.ip]


def check(book: Book, request: Request) -> None:
    """Compare an attachment with what its ADD answered. Raises CniError."""
    attachment = book.attachment((request.container_id, request.ifname))
    if attachment is None:
        text = f"Interface {request.ifname} of container {request.container_id} is not attached"
        raise CniError(Code.UNKNOWN_CONTAINER, text)
    held = {row.address for row in book.held_by(attachment.owner, attachment.network)}
    if lost := [one for one in attachment.addresses if one not in held]:
        raise CniError(Code.UNKNOWN_CONTAINER, f"{lost[0]} is not reserved for {attachment.owner} any more")
    before = previous_addresses(request.configuration)
    # The prefix length may be that of a subnet that has grown.
    if before is not None and (missing := [one for one in attachment.addresses if one.ip not in before]):
        raise CniError(Code.CONFIGURATION, f"prevResult has not {missing[0]}, which {attachment.owner} has")


def doomed(book: Book, network: str, kept: Collection[tuple[str, str]]) -> tuple[Attachment, ...]:
    """Return the attachments of *network* that are not in *kept*."""
    return tuple(one for one in book.attachments() if one.network == network and one.key not in kept)


def full(book: Book, network: Network) -> Pool | None:
    """Return the first pool without a free address, as far as this node knows; None where each has one."""
    for pool in network.pools:
        if not any(not book.taken(network.name, ip) for ip in pool.candidates("")):
            return pool
    return None
