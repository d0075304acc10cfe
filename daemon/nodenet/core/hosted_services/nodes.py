"""What does nodenet need of Node objects, and which objects of the API does it watch?"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from ipaddress import ip_address, ip_network
from itertools import islice
from types import MappingProxyType
from typing import Any

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


GONE = 410
PEER = ("name", "role", "addresses")
"""What a node has to know of its peers."""
Slim = Callable[[Mapping[str, Any]], Mapping[str, Any]]


class WatchInvalid(ValueError):
    """The server's answer is not what the API says; it is asked again later."""


class Expired(Exception):
    """The server has forgotten the events since the last version: list again."""


@frozen
class Known:
    """The objects by name, and the version from which a watch continues; empty before the first list."""

    objects: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: MappingProxyType({}))
    resource_version: str = ""


def listed(known: Known, document: object, slim: Slim) -> tuple[Known, str]:
    """Return *known* with one page of a list, and the token of the next page (empty: the last one).

    Raises WatchInvalid.
    """
    root = _checked_mapping(document, "the list")
    metadata = _checked_mapping(root.get("metadata"), "its metadata")
    items = root.get("items")
    if not isinstance(items, list):
        raise WatchInvalid("the list has no items")
    found = dict(known.objects) | {_name(item): slim(item) for item in items}
    if len(found) > MOST_NODES:
        raise WatchInvalid(f"the list has more than {MOST_NODES} objects")
    return Known(found, _text(metadata, "resourceVersion")), str(metadata.get("continue") or "")


def after(known: Known, event: object, slim: Slim) -> Known:
    """Return what is known after one event. Raises Expired, WatchInvalid."""
    root = _checked_mapping(event, "the event")
    kind, item = root.get("type"), _checked_mapping(root.get("object"), "its object")
    if kind == "ERROR":
        if item.get("code") == GONE:
            raise Expired
        raise WatchInvalid(f"the watch ended with {str(item.get('message'))[:200]!a}")
    version = _text(_checked_mapping(item.get("metadata"), "its metadata"), "resourceVersion")
    if kind == "BOOKMARK":
        return replace(known, resource_version=version)
    if kind == "DELETED":
        objects = {name: value for name, value in known.objects.items() if name != _name(item)}
        return Known(objects, version)
    if kind in ("ADDED", "MODIFIED"):
        if len(known.objects) >= MOST_NODES and _name(item) not in known.objects:
            raise WatchInvalid(f"there are more than {MOST_NODES} objects")
        kept = slim(item)
        same = known.objects.get(_name(item)) == kept
        return (
            replace(known, resource_version=version) if same else Known({**known.objects, _name(item): kept}, version)
        )
    raise WatchInvalid(f"the event has the type {str(kind)[:40]!a}")


def slim_node(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the used parts of a Node: name, role labels and addresses. Its heartbeats then change nothing."""
    metadata, status = _checked_mapping(item.get("metadata"), "its metadata"), item.get("status")
    labels = metadata.get("labels")
    addresses = status.get("addresses") if isinstance(status, Mapping) else None
    kept = labels if isinstance(labels, Mapping) else {}
    listed = addresses if isinstance(addresses, list) else []
    return {
        "metadata": {
            "name": metadata.get("name"),
            "labels": {key: value for key, value in kept.items() if str(key).startswith("node-role.kubernetes.io/")},
        },
        "status": {"addresses": [one for one in listed if _is_internal(one)][:MOST_ADDRESSES]},
    }


def slim_resource(item: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the used parts of a HostedNetServices object: its identity, the spec, the migration and the nodes.

    What nodes report about themselves is left out: it changes often, and no other node has to know it.
    """
    metadata, status = _checked_mapping(item.get("metadata"), "its metadata"), item.get("status")
    nodes = status.get("nodes") if isinstance(status, Mapping) else None
    listed = [one for one in nodes if isinstance(one, Mapping)] if isinstance(nodes, list) else []
    migration = status.get("migration") if isinstance(status, Mapping) else None
    return {
        "apiVersion": item.get("apiVersion"),
        "kind": item.get("kind"),
        "metadata": {key: metadata.get(key) for key in ("name", "uid", "generation")},
        "spec": item.get("spec"),
        "status": {
            "nodes": [{key: one[key] for key in PEER if key in one} for one in listed],
            **({} if migration is None else {"migration": migration}),
        },
    }


def _is_internal(entry: object) -> bool:
    return isinstance(entry, Mapping) and entry.get("type") == "InternalIP"


def _name(item: object) -> str:
    return _text(_checked_mapping(_checked_mapping(item, "an object").get("metadata"), "its metadata"), "name")


def _checked_mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise WatchInvalid(f"{what} is not an object")
    return value


def _text(parent: Mapping[str, Any], key: str) -> str:
    found = parent.get(key)
    if not isinstance(found, str):
        raise WatchInvalid(f"{key} is not a text")
    return found
