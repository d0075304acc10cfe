"""How are the records of the store written and read? (kind, key) → one JSON object; a record of another kind is left.

The schema: ``reservation`` by network, address and Lease UID; ``attachment`` by container and interface; ``pod`` by pod
UID, interface and network; ``network`` by name.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from ipaddress import ip_address, ip_interface, ip_network
from typing import Any

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
