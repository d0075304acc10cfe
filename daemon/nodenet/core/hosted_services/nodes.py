"""Which nodes does the cluster have? From Node objects, or from ``status.nodes`` of the resource.

Names and addresses end up in configurations, so only what is a valid name (RFC 1123) and a usable address is taken;
every other entry is left out and counted.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from ipaddress import ip_address, ip_network
from itertools import islice

from nodenet.core.hosted_services.model import ClusterNode, Role
from nodenet.core.ip import IPAddress
from nodenet.core.value import frozen

CONTROL_PLANE_LABELS = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
MOST_NODES = 10_000
LONGEST_NAME = 253
MOST_ADDRESSES = 16
"""Addresses of one node that are used: kubelet itself sends the list."""
_NO_HOST = (ip_network("0.0.0.0/8"), ip_network("240.0.0.0/4"))
"""RFC 1122, 3.2.1.3, and RFC 1112, section 4, with the broadcast address."""
_NAME = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*")


@frozen
class NodeList:
    """The nodes that can be used, by name, and how many entries could not."""

    nodes: tuple[ClusterNode, ...]
    left_out: int = 0


def is_of_a_host(address: IPAddress) -> bool:
    """Return whether *address* can be another host's.

    Never one with a scope: that is any text, line ends included, and is printed with the address.
    """
    if getattr(address, "scope_id", None) or getattr(address, "ipv4_mapped", None):
        return False
    local = address.is_loopback or address.is_link_local or address.is_unspecified
    return not (local or address.is_multicast or any(address in network for network in _NO_HOST))


def of_objects(items: object) -> NodeList:
    """Return the nodes of a list of Node objects (``v1``), as JSON values. Raises ValueError when it is no list."""
    return _collected(_of_object(item) for item in _listed(items))


def of_status(items: object) -> NodeList:
    """Return the nodes of ``status.nodes``: ``name``, ``role`` and ``addresses``. Raises ValueError likewise."""
    return _collected(_of_status(item) for item in _listed(items))


def _listed(items: object) -> list[object]:
    if not isinstance(items, list):
        raise ValueError("the list of nodes is not a list")  # noqa: TRY004 - the content is wrong, not the caller
    if len(items) > MOST_NODES:
        raise ValueError(f"the list has {len(items)} nodes; {MOST_NODES} are the most that are read")
    return items


def has_control_plane(items: object) -> bool:
    """Return whether a list of Node objects has one of the control plane."""
    labels = (_mapping(_mapping(item, "metadata"), "labels") for item in (items if isinstance(items, list) else ()))
    return any(label in found for found in labels for label in CONTROL_PLANE_LABELS)


def _collected(found: Iterable[ClusterNode | None]) -> NodeList:
    seen = list(found)
    named = {node.name: node for node in seen if node is not None}
    return NodeList(tuple(named[name] for name in sorted(named)), len(seen) - len(named))


def _of_object(item: object) -> ClusterNode | None:
    metadata, status = _mapping(item, "metadata"), _mapping(item, "status")
    labels = _mapping(metadata, "labels")
    addresses = status.get("addresses")
    texts = (
        entry.get("address")
        for entry in (addresses if isinstance(addresses, list) else ())
        if isinstance(entry, Mapping) and entry.get("type") == "InternalIP"
    )
    role = Role.CONTROL_PLANE if any(label in labels for label in CONTROL_PLANE_LABELS) else Role.WORKER
    return _node(metadata.get("name"), texts, role)


def _of_status(item: object) -> ClusterNode | None:
    if not isinstance(item, Mapping):
        return None
    addresses, role = item.get("addresses"), item.get("role")
    if role not in tuple(Role):
        return None
    return _node(item.get("name"), addresses if isinstance(addresses, list) else (), Role(role))


def _node(name: object, texts: Iterable[object], role: Role) -> ClusterNode | None:
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not _NAME.fullmatch(name):
        return None
    addresses = tuple(dict.fromkeys(islice(_addresses(texts), MOST_ADDRESSES)))
    return ClusterNode(name, addresses, role) if addresses else None


def _addresses(texts: Iterable[object]) -> Iterator[IPAddress]:
    for text in texts:
        try:
            address = ip_address(text) if isinstance(text, str) else None
        except ValueError:
            continue
        if address is not None and is_of_a_host(address):
            yield address


def _mapping(parent: object, key: str) -> Mapping[str, object]:
    found = parent.get(key) if isinstance(parent, Mapping) else None
    return found if isinstance(found, Mapping) else {}
