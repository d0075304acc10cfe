"""What does this node know about its cluster: from the API, from the cache, and from the file of its administrator?

Each source is a document as JSON values. A document that cannot be used is left out with the reason; what is known
from another source, or from before, is still used.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from types import MappingProxyType
from typing import Any

from nodenet.core.hosted_services.migration import Migration
from nodenet.core.hosted_services.model import ClusterNode, Here, Inputs, Options, Origin, Role, Spec
from nodenet.core.hosted_services.nodes import of_objects, of_status
from nodenet.core.hosted_services.resource import ResourceInvalid, migration_of, spec_of
from nodenet.core.hosted_services.sources import choose
from nodenet.core.value import frozen

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
