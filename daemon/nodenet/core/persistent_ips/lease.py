"""How is an address reserved in the whole cluster: the Lease with its name, labels and annotations?

One Lease (coordination.k8s.io/v1) is for one address of one network. Its name is the lock: only one create
succeeds. It never expires; the annotation ``ipam.nodenet.org/node`` names the node that deletes it when its owner is
gone.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_interface
from typing import Any

from nodenet.core.persistent_ips.model import Interface, Owner, OwnerKind, PodName, Sandbox, mapping, moment_text
from nodenet.core.value import frozen

MANAGED_BY = "app.kubernetes.io/managed-by"
MANAGER = "nodenet-ipam"
PREFIX = "ipam.nodenet.org/"
NETWORK_LABEL, NODE_LABEL = f"{PREFIX}network", f"{PREFIX}node"
MOST_NETWORK_IN_NAME = 120
MOST_SHOWN = 200


class LeaseInvalid(ValueError):
    """A Lease with our label that this service did not write."""


@frozen
class Lease:
    """An address that is reserved in the cluster."""

    network: str
    address: Interface
    owner: Owner
    node: str
    """The node that deletes it."""
    pod: PodName | None
    """The pod that had it last."""
    container_id: str = ""
    ifname: str = ""
    boot_id: str = ""
    uid: str = ""
    version: str = ""
    earlier: tuple[Sandbox, ...] = ()
    """Those that had it before, and may have it still: the source of a migration. The newest comes first."""

    @property
    def sandbox(self) -> Sandbox:
        """The sandbox that had it last."""
        return Sandbox(self.node, self.boot_id, self.container_id, self.ifname, self.pod)

    @property
    def sandboxes(self) -> tuple[Sandbox, ...]:
        """All that may have it."""
        return self.sandbox, *self.earlier

    def taken_by(self, new: Sandbox) -> Lease:
        """Return this Lease as it is when *new* has the address too; a pod has one sandbox, its last one."""
        return self.held_by(new, *(one for one in self.sandboxes if one.pod is not None and one.pod != new.pod))

    def held_by(self, last: Sandbox, *earlier: Sandbox) -> Lease:
        """Return this Lease as it is when these have the address, and no other."""
        container_id, ifname = last.key
        made = replace(self, node=last.node, pod=last.pod, container_id=container_id, ifname=ifname)
        return replace(made, boot_id=last.boot_id, earlier=earlier)

    @property
    def name(self) -> str:
        """The object's name."""
        return name_of(self.network, self.address)


@functools.lru_cache(maxsize=4096)
def name_of(network: str, address: Interface) -> str:
    """Return the name of the Lease; two networks or addresses never have the same one."""
    readable = re.sub(r"[^a-z0-9]+", "-", network.lower())[:MOST_NETWORK_IN_NAME].strip("-")
    host = str(address.ip.exploded).replace(".", "-").replace(":", "-")
    return f"{MANAGER}-{readable}-{digest(network)}-{host}" if readable else f"{MANAGER}-{digest(network)}-{host}"


@functools.lru_cache(maxsize=4096)
def digest(text: str) -> str:
    """Return the 16 hexadecimal digits of *text* for a name or label."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def label(text: str) -> str:
    """Return *text* as the value of a label; one that is too long, or no value, is its digest."""
    return text if re.fullmatch(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?", text) else digest(text)


def network_selector(network: str) -> str:
    """Return the label selector of all Leases of *network*."""
    return f"{MANAGED_BY}={MANAGER},{NETWORK_LABEL}={label(network)}"


def node_selector(node: str) -> str:
    """Return the label selector of all Leases that *node* deletes."""
    return f"{MANAGED_BY}={MANAGER},{NODE_LABEL}={label(node)}"


def all_selector() -> str:
    """Return the label selector of all Leases of the service."""
    return f"{MANAGED_BY}={MANAGER}"


def document(lease: Lease, now: float) -> dict[str, Any]:
    """Return the object to create."""
    annotations = {
        "network": lease.network,
        "address": str(lease.address),
        "owner-kind": str(lease.owner.kind),
        "owner-namespace": lease.owner.namespace,
        "owner-name": lease.owner.name,
        "owner-uid": lease.owner.uid,
        **_holder(lease.sandbox),
        "earlier": _text_of(lease.earlier),
    }
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {
            "name": lease.name,
            "labels": {MANAGED_BY: MANAGER, NETWORK_LABEL: label(lease.network), NODE_LABEL: label(lease.node)},
            "annotations": {f"{PREFIX}{key}": value for key, value in annotations.items()},
        },
        "spec": {"holderIdentity": str(lease.owner), "acquireTime": moment_text(now, micro=True)},
    }


def parse(found: object) -> Lease:
    """Return a Lease as the API sends it. Raises LeaseInvalid."""
    metadata = mapping(mapping(found).get("metadata"))
    annotations = mapping(metadata.get("annotations"))

    def text(key: str) -> str:
        value = annotations.get(f"{PREFIX}{key}", "")
        return value if isinstance(value, str) else ""

    try:
        owner = Owner(OwnerKind(text("owner-kind")), text("owner-namespace"), text("owner-name"), text("owner-uid"))
        address = ip_interface(text("address"))
    except ValueError as error:
        raise LeaseInvalid(f"the Lease {metadata.get('name')!a} is not one of this service: {error}") from None
    pod = PodName(text("pod-namespace"), text("pod-name"), text("pod-uid")) if text("pod-name") else None
    made = Lease(
        text("network"),
        address,
        owner,
        text("node"),
        pod,
        text("container-id"),
        text("ifname"),
        text("boot-id"),
        str(metadata.get("uid") or ""),
        str(metadata.get("resourceVersion") or ""),
        _earlier(text("earlier")),
    )
    if not made.network or not owner.uid or not made.uid or made.name != metadata.get("name"):
        raise LeaseInvalid(f"the Lease {metadata.get('name')!a} has annotations of another address")
    return made


def move(lease: Lease) -> list[dict[str, Any]]:
    """Return the JSON patch that writes the sandboxes of *lease*, and whose node is responsible.

    It holds only if its owner has the Lease, and it is as it was read (version).
    """
    operations: list[dict[str, Any]] = [
        {"op": "test", "path": _annotation("owner-uid"), "value": lease.owner.uid},
        {"op": "test", "path": "/metadata/resourceVersion", "value": lease.version},
        {"op": "replace", "path": f"/metadata/labels/{NODE_LABEL.replace('/', '~1')}", "value": label(lease.node)},
    ]
    for key, value in {**_holder(lease.sandbox), "earlier": _text_of(lease.earlier)}.items():
        operations.append({"op": "add", "path": _annotation(key), "value": value})
    return operations


def _holder(one: Sandbox) -> dict[str, str]:
    """Return who has the address: the repair after a lost store takes it for attached there."""
    name = one.pod or PodName("", "")
    pod = {"pod-namespace": name.namespace, "pod-name": name.name, "pod-uid": name.uid}
    return {"node": one.node, **pod, "boot-id": one.boot_id, "container-id": one.container_id, "ifname": one.ifname}


def _text_of(sandboxes: tuple[Sandbox, ...]) -> str:
    return json.dumps([_holder(one) for one in sandboxes]) if sandboxes else ""


def _earlier(text: str) -> tuple[Sandbox, ...]:
    """Return the earlier sandboxes; a Lease of an earlier release has none. Raises LeaseInvalid."""
    try:
        return tuple(_sandbox(one) for one in json.loads(text or "[]"))
    except (ValueError, TypeError, KeyError, RecursionError) as error:
        raise LeaseInvalid(f"the Lease has earlier sandboxes that cannot be read: {error!r}"[:MOST_SHOWN]) from None


def _sandbox(found: Mapping[str, Any]) -> Sandbox:
    pod = PodName(str(found["pod-namespace"]), str(found["pod-name"]), str(found["pod-uid"]))
    node, boot_id, container_id, ifname = (str(found[key]) for key in ("node", "boot-id", "container-id", "ifname"))
    return Sandbox(node, boot_id, container_id, ifname, pod)


def _annotation(key: str) -> str:
    return f"/metadata/annotations/{PREFIX.replace('/', '~1')}{key}"
