"""What does this node know about its cluster: from the API, from the cache, and from the file of its administrator?

Each source is a document as JSON values. A document that cannot be used is left out with the reason; what is known
from another source, or from before, is still used.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

from nodenet.core.hosted_services import resource
from nodenet.core.hosted_services.migration import Migration
from nodenet.core.hosted_services.model import ClusterNode, Here, Inputs, Options, Origin, Role, Spec
from nodenet.core.hosted_services.nodes import of_objects, of_status
from nodenet.core.hosted_services.resource import ResourceInvalid, migration_of, spec_of
from nodenet.core.record_version import refusal
from nodenet.core.value import frozen

# What does a node take of the object HostedNetServices as the API has it?


def asked(document: Mapping[str, Any] | None) -> object:
    """Return what an administrator edits, and the phase of a migration: these are taken at once."""
    return (document.get("spec"), migration_in(document)) if document else None


def migration_in(document: Any) -> Mapping[str, Any] | None:  # noqa: ANN401
    """Return the record of a migration, None without one; its fields are not checked."""
    status = document.get("status") if isinstance(document, Mapping) else None
    found = status.get("migration") if isinstance(status, Mapping) else None
    return found if isinstance(found, Mapping) else None


def led_on(good: Mapping[str, Any] | None, found: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what is kept of the object that was *found*: the last *good* one where it cannot be used.

    The record goes on all the same: nodenetd reads it from the disk, and writes the same names as nodenet-hosted.
    """
    if is_usable(found):
        return found
    later = {**good, "status": found.get("status")} if good is not None else None
    return later if later is not None and is_usable(later) else good


def is_usable(document: object) -> bool:
    """Return whether an object can be used as a whole."""
    try:
        resource.spec_of(document)
    except resource.ResourceInvalid:
        return False
    return True


# Which source gives the spec and the nodes: the API, the cache, the file, or the defaults?


@frozen
class Chosen:
    """The spec and the nodes that are used, each with its source."""

    spec: Spec
    spec_origin: Origin
    nodes: tuple[ClusterNode, ...]
    nodes_origin: Origin


def choose(specs: Mapping[Origin, Spec], nodes: Mapping[Origin, tuple[ClusterNode, ...]]) -> Chosen:
    """Return the first of each in the order of ``Origin``; an origin that has none is left out of the mapping.

    A list without a node of the control plane is incomplete where another source has one with such a node: the API of a
    cluster that is being installed lists the workers that have come first. By it, no node would hold the API VIP, by
    which the others come.
    """
    spec_origin = next((origin for origin in Origin if origin in specs), Origin.DEFAULT)
    some = [origin for origin in Origin if nodes.get(origin)]
    led = [origin for origin in some if any(node.role is Role.CONTROL_PLANE for node in nodes[origin])]
    nodes_origin = next(iter((*led, *some)), Origin.DEFAULT)
    return Chosen(specs.get(spec_origin, Spec()), spec_origin, nodes.get(nodes_origin, ()), nodes_origin)


# What does this node keep on disk about its cluster, and can it be used?
#
# A cache holds one document of the API (the resource, or the list of nodes) with its resource version, the name of its
# cluster and a checksum. A torn file, or a file of another cluster, is not used.

SCHEMA_VERSION = 1
MOST_BYTES = 16 << 20


class CacheInvalid(ValueError):
    """The file cannot be used; the text says why."""


@frozen
class Cached:
    """One document; *generation* is the object's own, *boot_id* the boot in which it was read."""

    document: object
    cluster_domain: str
    resource_version: str
    generation: int = 0
    boot_id: str = ""


def render_cached(cached: Cached) -> bytes:
    """Return the file: two lines, the checksum of the second one and that line."""
    body = json.dumps(
        {
            "schema_version": SCHEMA_VERSION,
            "cluster_domain": cached.cluster_domain,
            "resource_version": cached.resource_version,
            "generation": cached.generation,
            "boot_id": cached.boot_id,
            "document": cached.document,
        },
        sort_keys=True,
        separators=(",", ":"),
    ).encode()
    return _checksum(body) + b"\n" + body + b"\n"


def parse_cached(content: bytes, cluster_domain: str) -> Cached:
    """Return the cached document. Raises CacheInvalid for a torn file and for another cluster's."""
    if len(content) > MOST_BYTES:
        raise CacheInvalid(f"it has {len(content)} bytes; {MOST_BYTES} are the most")
    checksum, _, body = content.rstrip(b"\n").partition(b"\n")
    if checksum != _checksum(body):
        raise CacheInvalid("its checksum is wrong: it was not written to its end, or was changed")
    try:
        found = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise CacheInvalid(f"it is not JSON: {error}") from None
    version = found.get("schema_version") if isinstance(found, dict) else None
    if why := refusal(version, SCHEMA_VERSION):
        raise CacheInvalid(why)
    kinds = {"cluster_domain": str, "resource_version": str, "generation": int, "boot_id": str}
    if wrong := [key for key, kind in kinds.items() if not isinstance(found.get(key), kind)]:
        raise CacheInvalid(f"its {wrong[0]} is missing or of another type")
    if found["cluster_domain"] != cluster_domain:
        raise CacheInvalid(f"it is of the cluster {found['cluster_domain']!a}, not of {cluster_domain}")
    return Cached(found.get("document"), *(found[key] for key in kinds))


def _checksum(body: bytes) -> bytes:
    return hashlib.sha256(body).hexdigest().encode()


# What does this node know about its cluster, from all three sources?

Documents = Mapping[Origin, Any]
NONE: Mapping[Origin, Spec] = MappingProxyType({})


@frozen
class Cluster:
    """The documents by source; *own*: this node's Node object, where the API shows no other one."""

    resources: Documents = field(default_factory=dict)
    nodes: Documents = field(default_factory=dict)
    """Each a list of Node objects."""
    own: Mapping[str, Any] | None = None


@frozen
class Known:
    """The inputs of a plan, and why documents were not used; *specs*: those that can be used."""

    inputs: Inputs
    problems: tuple[str, ...] = ()
    specs: Mapping[Origin, Spec] = field(default_factory=dict)


def known(cluster: Cluster, options: Options, here: Here, last: Mapping[Origin, Spec] = NONE) -> Known:
    """Return the inputs of a plan. Spec and nodes are chosen each for itself, in the order of ``Origin``.

    *last*: the specs that were found before; where the document of a source cannot be used now, its last one stays.
    """
    problems: list[str] = []
    specs: dict[Origin, Spec] = {}
    for origin, document in cluster.resources.items():
        try:
            specs[origin] = spec_of(document)
        except ResourceInvalid as error:
            problems.append(f"HostedNetServices ({origin}) is not used: {error}")
            if origin in last:
                specs[origin] = _led_on(last[origin], document)
        if origin is Origin.FILE and origin in specs:  # a copy of the object says where the API was when it was made
            specs[origin] = replace(specs[origin], migration=None)
    nodes = _nodes(cluster, problems)
    chosen = choose(specs, nodes)
    if Origin.LIVE in nodes and chosen.nodes_origin is not Origin.LIVE:
        problems.append(
            f"No Node of the API has the control-plane role, and the list of the {chosen.nodes_origin} is used: wait "
            "until these nodes have registered, or label their Node objects"
        )
    role, spec = options.role or _own_role(cluster), chosen.spec
    if spec.migration:
        problems += _other_vips(spec.migration, options)
        spec = replace(spec, migration=spec.migration.at(options.api_vips))
    inputs = Inputs(
        options if options.role is role else replace(options, role=role),
        here,
        spec,
        chosen.spec_origin,
        chosen.nodes,
        chosen.nodes_origin,
    )
    return Known(inputs, tuple(problems), specs)


def _other_vips(migration: Migration, options: Options) -> Iterator[str]:
    """Yield what is wrong where nodenet-operator has other API VIPs in its settings than this node."""
    if migration.vips and not options.user_managed_lb and set(migration.vips) != set(options.api_vips):
        theirs, ours = (" and ".join(map(str, vips)) for vips in (migration.vips, options.api_vips))
        yield (
            f"The settings of nodenet-operator have the API VIP {theirs}, and those of this node have {ours}: make "
            "`api_vips` the same in both"
        )


def _led_on(last: Spec, document: object) -> Spec:
    """Return the *last* good spec, and how far the migration is now: no node stops between two load balancers."""
    try:
        return replace(last, migration=migration_of(document) or last.migration)
    except ResourceInvalid:
        return last


def _nodes(cluster: Cluster, problems: list[str]) -> dict[Origin, tuple[ClusterNode, ...]]:
    """Return the nodes by origin: Node objects where the API lists them, else those in the resource's status."""
    found: dict[Origin, tuple[ClusterNode, ...]] = {}
    for origin, items, read in _lists(cluster):
        try:
            listed = read(items)
        except ValueError as error:
            problems.append(f"The nodes ({origin}) are not used: {error}")
            continue
        if listed.left_out:
            problems.append(
                f"{listed.left_out} nodes ({origin}) are left out: their names or addresses cannot be used. "
                "Correct these Node objects"
            )
        if listed.nodes:
            found[origin] = listed.nodes
    return found


def _lists(cluster: Cluster) -> Iterator[tuple[Origin, Any, Any]]:
    """Yield each list of nodes; of one origin, the Node objects come last and replace the status."""
    for origin, document in cluster.resources.items():
        status = document.get("status") if isinstance(document, Mapping) else None
        if isinstance(status, Mapping) and status.get("nodes"):
            yield origin, status["nodes"], of_status
    for origin, items in cluster.nodes.items():
        yield origin, items, of_objects


def _own_role(cluster: Cluster) -> Role | None:
    """Return the role that this node's own Node object has, None without one."""
    nodes = of_objects([cluster.own]).nodes if cluster.own else ()
    return next((node.role for node in nodes), None)
