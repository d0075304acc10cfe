"""What does an IPAMClaim say, and which status is written to it? (k8s.cni.cncf.io/v1alpha1)

``status.ips`` is written once, when it is empty. The conditions have the names of OVN-Kubernetes.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable, Mapping
from enum import StrEnum
from ipaddress import ip_interface
from typing import Any

from nodenet.core.persistent_ips.model import MOST_SHOWN, Interface, Owner, OwnerKind, mapping, moment_text, text_of
from nodenet.core.persistent_ips.network import NAME
from nodenet.core.value import frozen

CONDITION = "IPsAllocated"
MOST_IPS = 16
MOST_MESSAGE = 1024


class Reason(StrEnum):
    """Why the condition IPsAllocated is as it is."""

    ALLOCATED = "SuccessfulAllocation"
    EXHAUSTED = "SubnetExhausted"
    CONFLICT = "IPAddressConflict"


class ClaimInvalid(ValueError):
    """The claim's status is not one that this service or OVN-Kubernetes writes; the text says what is wrong."""


@frozen
class Claim:
    """A claim, as far as it is used."""

    namespace: str
    name: str
    uid: str
    version: str
    """resourceVersion."""
    network: str
    deleting: bool
    ips: tuple[str, ...]
    """status.ips as it is written there."""
    owner_pod: str
    conditions: tuple[tuple[str, str, str], ...] = ()
    """(type, status, reason) of each condition."""
    others: tuple[str, ...] = ()
    """The conditions of other programs, in JSON: a patch replaces the whole list."""

    @property
    def key(self) -> tuple[str, str]:
        """Namespace and name; another claim may have them later."""
        return self.namespace, self.name

    @property
    def owner(self) -> Owner:
        """What keeps its addresses."""
        return Owner(OwnerKind.CLAIM, self.namespace, self.name, self.uid)

    def has(self, address: Interface) -> bool:
        """Return whether status.ips names *address*, in whichever form another program has written it."""
        return any(one.ip == address.ip for one in known_addresses(self))

    def addresses(self) -> tuple[Interface, ...]:
        """Return status.ips as values. Raises ClaimInvalid."""
        found: list[Interface] = []
        if len(self.ips) > MOST_IPS:
            raise ClaimInvalid(f"status.ips has {len(self.ips)} entries; {MOST_IPS} are the most")
        for text in self.ips:
            try:
                address = ip_interface(text)
            except ValueError:
                raise ClaimInvalid(f"status.ips has {text[:60]!a}, which is not an address") from None
            if "/" not in text:
                raise ClaimInvalid(f"status.ips has {text[:60]!a}, which has no prefix length")
            if any(one.ip == address.ip or one.network == address.network for one in found):
                raise ClaimInvalid(f"status.ips has two addresses of {address.network}")
            found.append(address)
        return tuple(found)


def parse(document: object) -> Claim:
    """Return a claim as the API sends it. Raises ClaimInvalid for one without identity."""
    root = mapping(document)
    metadata, spec, status = (mapping(root.get(key)) for key in ("metadata", "spec", "status"))
    identity = [metadata.get(key) for key in ("namespace", "name", "uid", "resourceVersion")]
    if not all(isinstance(text, str) and text for text in identity):
        raise ClaimInvalid("the claim has no namespace, name, uid or resourceVersion")
    namespace, name, uid, version = map(str, identity)
    listed, conditions = status.get("ips"), status.get("conditions")
    return Claim(
        namespace,
        name,
        uid,
        version,
        _network(text_of(spec.get("network"))),
        bool(metadata.get("deletionTimestamp")),
        tuple(str(one)[:100] for one in listed[: MOST_IPS + 1]) if isinstance(listed, list) else (),
        text_of(mapping(status.get("ownerPod")).get("name")),
        tuple(
            (text_of(one.get("type")), text_of(one.get("status")), text_of(one.get("reason")))
            for one in (conditions[:MOST_IPS] if isinstance(conditions, list) else ())
            if isinstance(one, dict)
        ),
        tuple(
            json.dumps(one)
            for one in (conditions[:MOST_IPS] if isinstance(conditions, list) else ())
            if isinstance(one, dict) and one.get("type") != CONDITION
        ),
    )


def known_addresses(claim: Claim) -> tuple[Interface, ...]:
    """Return the addresses of status.ips that can be read: beside nonsense, too, they are the claim's."""
    found = []
    for text in claim.ips:
        with contextlib.suppress(ValueError):
            found.append(ip_interface(text))
    return tuple(found)


def allocated_patch(claim: Claim, addresses: Iterable[Interface], owner_pod: str, now: float) -> dict[str, Any]:
    """Return the patch that reports *addresses* and the pod that has them; empty *owner_pod*: none has.

    It holds only while the claim is as it was read (resourceVersion).
    """
    ips = [str(address) for address in addresses]
    status: dict[str, Any] = {"ips": ips} if not claim.ips else {}
    status["ownerPod"] = {"name": owner_pod} if owner_pod else None
    if (CONDITION, "True", Reason.ALLOCATED) not in claim.conditions:
        own = _condition("True", Reason.ALLOCATED, f"Allocated {', '.join(ips)}", now)
        status["conditions"] = _conditions(claim, own)
    return _patch(claim, status)


def failed_patch(claim: Claim, reason: Reason, text: str, now: float) -> dict[str, Any] | None:
    """Return the patch that reports why *claim* has no address; None where it says so already."""
    if (CONDITION, "False", reason) in claim.conditions:
        return None
    own = _condition("False", reason, text[:MOST_MESSAGE], now)
    status: dict[str, Any] = {"conditions": _conditions(claim, own)}
    if not claim.ips:
        status["ips"] = []  # the schema requires it in every status
    return _patch(claim, status)


def _patch(claim: Claim, status: Mapping[str, Any]) -> dict[str, Any]:
    return {"metadata": {"uid": claim.uid, "resourceVersion": claim.version}, "status": dict(status)}


def _conditions(claim: Claim, own: dict[str, Any]) -> list[dict[str, Any]]:
    return [*(json.loads(one) for one in claim.others), own]


def _condition(status: str, reason: Reason, message: str, now: float) -> dict[str, Any]:
    return {
        "type": CONDITION,
        "status": status,
        "reason": str(reason),
        "message": message,
        "lastTransitionTime": moment_text(now),
    }


def _network(text: str) -> str:
    """Return the name of a network; what can be none, and may be a megabyte, is quoted and cut."""
    return text if not text or NAME.fullmatch(text) else ascii(text[:MOST_SHOWN])
