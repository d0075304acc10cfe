"""Which objects of a kind exist after a list and the events of its watch? (Kubernetes API concepts, "Watch")

Events are applied in their order; a bookmark only renews the resource version. When the server no longer has the
events since a version (410, ``Expired``), everything is listed again. Of each object only what is used is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

from nodenet.core.hosted_services.nodes import MOST_ADDRESSES, MOST_NODES
from nodenet.core.value import frozen

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
    root = _mapping(document, "the list")
    metadata = _mapping(root.get("metadata"), "its metadata")
    items = root.get("items")
    if not isinstance(items, list):
        raise WatchInvalid("the list has no items")
    found = dict(known.objects) | {_name(item): slim(item) for item in items}
    if len(found) > MOST_NODES:
        raise WatchInvalid(f"the list has more than {MOST_NODES} objects")
    return Known(found, _text(metadata, "resourceVersion")), str(metadata.get("continue") or "")


def after(known: Known, event: object, slim: Slim) -> Known:
    """Return what is known after one event. Raises Expired, WatchInvalid."""
    root = _mapping(event, "the event")
    kind, item = root.get("type"), _mapping(root.get("object"), "its object")
    if kind == "ERROR":
        if item.get("code") == GONE:
            raise Expired
        raise WatchInvalid(f"the watch ended with {str(item.get('message'))[:200]!a}")
    version = _text(_mapping(item.get("metadata"), "its metadata"), "resourceVersion")
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
    metadata, status = _mapping(item.get("metadata"), "its metadata"), item.get("status")
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
    metadata, status = _mapping(item.get("metadata"), "its metadata"), item.get("status")
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
    return _text(_mapping(_mapping(item, "an object").get("metadata"), "its metadata"), "name")


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise WatchInvalid(f"{what} is not an object")
    return value


def _text(parent: Mapping[str, Any], key: str) -> str:
    found = parent.get(key)
    if not isinstance(found, str):
        raise WatchInvalid(f"{key} is not a text")
    return found
