"""What is an address given to, where is it attached, and what is asked of the service?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from enum import StrEnum
from ipaddress import IPv4Interface, IPv6Interface
from typing import Any

from nodenet.core.errors import NodenetError, Unavailable
from nodenet.core.ip import IPAddress, IPNetwork
from nodenet.core.value import frozen

Interface = IPv4Interface | IPv6Interface
"""An address and the prefix length of its subnet."""


class OwnerKind(StrEnum):
    """What keeps an address."""

    CLAIM = "claim"
    POD = "pod"


@frozen
class Owner:
    """What keeps an address: a claim until it is deleted, or a pod's interface until its last sandbox is gone.

    The uid of a pod's interface is the pod's UID, a slash and the interface. Without Kubernetes it is node, boot,
    container and interface.
    """

    kind: OwnerKind
    namespace: str
    name: str
    uid: str

    @property
    def hold(self) -> tuple[str, ...]:
        """What is held by a verb that changes something of this owner: of all claims with its name, or of this pod."""
        if self.kind is OwnerKind.CLAIM:
            return self.kind, self.namespace, self.name
        return self.kind, self.uid

    def __str__(self) -> str:
        """As people read it."""
        return f"{self.kind} {self.namespace}/{self.name}" if self.namespace else f"{self.kind} {self.name}"


class State(StrEnum):
    """How far an address is on its way to its owner, and back.

    *reserved*: its Lease exists and the record is durable. *reported*: it stands in the claim's status, or its owner is
    a pod. *releasing*: the owner is gone, and the Lease is deleted next.
    """

    RESERVED = "reserved"
    REPORTED = "reported"
    RELEASING = "releasing"


@frozen
class Reservation:
    """An address of a network that this node knows to be reserved for an owner; one for each Lease."""

    network: str
    address: Interface
    owner: Owner
    state: State
    lease_uid: str
    lease_version: str
    since: float
    """Seconds since 1970, for people only."""
    made_here: bool = False
    """Whether this node created the Lease. While no status has named the address, no other node can have it then."""

    def moved(self, uid: str, version: str) -> Reservation:
        """Return this reservation with its Lease as it is now; another node may have had it in between."""
        return replace(self, lease_uid=uid, lease_version=version, made_here=False)

    @property
    def is_fresh(self) -> bool:
        """Whether it can be undone: made here, and not yet in a status. Another Lease may be in use on any node."""
        return self.made_here and self.state is State.RESERVED

    @property
    def place(self) -> tuple[str, IPAddress]:
        """The network and the address without its prefix length."""
        return self.network, self.address.ip


@frozen
class PodName:
    """A pod, as CNI_ARGS names it; the uid may be empty."""

    namespace: str
    name: str
    uid: str = ""

    def __str__(self) -> str:
        """As people read it."""
        return f"{self.namespace}/{self.name}"


@frozen
class Sandbox:
    """An interface of a sandbox, as a Lease names it."""

    node: str
    boot_id: str
    container_id: str
    ifname: str
    pod: PodName | None

    @property
    def key(self) -> tuple[str, str]:
        """What CNI identifies it by."""
        return self.container_id, self.ifname


@frozen
class Attachment:
    """An interface of a sandbox on this node, and what its addresses belong to."""

    container_id: str
    ifname: str
    network: str
    owner: Owner
    addresses: tuple[Interface, ...]
    pod: PodName | None
    netns: str
    boot_id: str
    since: float

    @property
    def key(self) -> tuple[str, str]:
        """What CNI identifies it by."""
        return self.container_id, self.ifname


@frozen
class Workload:
    """Which virtual machine a pod runs: two pods of one share its claims while it migrates. Empty for other pods."""

    created_by: str = ""
    """Its label kubevirt.io/created-by."""
    machine: str = ""
    """Its label vm.kubevirt.io/name."""

    @property
    def is_machine(self) -> bool:
        """Whether it is a virtual machine's."""
        return bool(self.created_by or self.machine)


@frozen
class PodReference:
    """What was read of a pod for one interface; kept until the pod is known to be gone."""

    pod: PodName
    ifname: str
    network: str
    claim: str
    """The name of the claim, in the pod's namespace; empty without one."""
    workload: Workload
    source: str = ""
    """The NetworkAttachmentDefinition, NAMESPACE/NAME; empty where it is not known."""
    wished: tuple[IPAddress, ...] = ()
    """``ips`` of the pod's element: the addresses that it asks for."""

    @property
    def key(self) -> tuple[str, str, str]:
        """The pod's UID, the interface and the network."""
        return self.pod.uid, self.ifname, self.network


@frozen
class NetworkSeen:
    """The configuration with which a network was used last on this node."""

    network: str
    digest: str
    source: str
    """The NetworkAttachmentDefinition that it came from, NAMESPACE/NAME; empty where it is not known."""
    subnets: tuple[IPNetwork, ...] = ()
    never_given: tuple[IPNetwork, ...] = ()
    """What is excluded, and the gateways."""
    segment: str = ""
    """As in ``network.Network``."""


Record = Reservation | Attachment | PodReference | NetworkSeen
"""What the store keeps."""


# How is a moment written in an object of Kubernetes? (RFC 3339, UTC)

DAY = 86400
_ERA_DAYS = 146097
"""Days of 400 years."""


def moment_text(seconds: float, *, micro: bool = False) -> str:
    """Return the moment so many *seconds* after 1970, with microseconds if *micro* (MicroTime)."""
    whole = int(seconds // 1)
    day, rest = divmod(whole, DAY)
    clock = f"{rest // 3600:02}:{rest // 60 % 60:02}:{rest % 60:02}"
    fraction = f".{int((seconds - whole) * 1e6):06}" if micro else ""
    return f"{_date(day)}T{clock}{fraction}Z"


def _date(day: int) -> str:
    """Return the date of the proleptic Gregorian calendar so many days after 1970; years begin in March inside."""
    era, of_era = divmod(day + 719468, _ERA_DAYS)
    year = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year + year // 4 - year // 100)
    month = (5 * of_year + 2) // 153
    number = of_year - (153 * month + 2) // 5 + 1
    civil = month + 3 if month < 10 else month - 9
    return f"{year + era * 400 + (1 if civil <= 2 else 0):04}-{civil:02}-{number:02}"


# How is an object of the API read, which may have anything anywhere?

MOST_SHOWN = 100


def mapping(value: object) -> Mapping[str, Any]:
    """Return *value* if it is a mapping, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def text_of(value: object) -> str:
    """Return *value* if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def shown(value: object) -> str:
    """Return *value* as an error names it: in ASCII, and not longer than a line."""
    text = ascii(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


# How does a request to the API fail, and how does a long list come?


class ApiAway(Unavailable):
    """The API did not answer: it is stopped, slow, or reports an error of its own (429, 5xx).

    Whether a change was made is unknown.
    """


class TooLarge(ApiAway):
    """The answer is longer than the limit: ask for less."""


class Forbidden(NodenetError):
    """The credentials may not do this (401, 403), or the cluster does not have this kind of object (404 of a list)."""

    exit_code = 77


class NotFound(NodenetError):
    """There is no object of this name (404)."""

    exit_code = 69


class Conflict(NodenetError):
    """The object is not as the request expects (409, or 422 for a failed test of a JSON patch): nothing was changed.

    For a create: the name is taken. For a change: another resourceVersion. For a delete: another UID or version.
    """

    exit_code = 75


class Expired(NodenetError):
    """The API server no longer has the events since this resourceVersion (410): list again."""

    exit_code = 75


@frozen
class Page:
    """One page of a list; *following* is the token of the next one, empty for the last."""

    items: tuple[Mapping[str, Any], ...]
    resource_version: str
    following: str = ""
