"""Which source gives the spec and the nodes: the API, the cache, the file, or the defaults?"""

from __future__ import annotations

from collections.abc import Mapping

from nodenet.core.hosted_services.model import ClusterNode, Origin, Role, Spec
from nodenet.core.value import frozen


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
