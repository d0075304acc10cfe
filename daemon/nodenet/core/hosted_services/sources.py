"""Which source gives the spec and the nodes: the API, the cache, the file, or the defaults?

A spec from the cache or the file may start and keep services. It never stops one: a service that runs is stopped only
when the API itself says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from nodenet.core.hosted_services.model import ClusterNode, Origin, Service, Spec


@dataclass(frozen=True, slots=True)
class Chosen:
    """The spec and the nodes that are used, each with its source."""

    spec: Spec
    spec_origin: Origin
    nodes: tuple[ClusterNode, ...]
    nodes_origin: Origin


def choose(specs: Mapping[Origin, Spec], nodes: Mapping[Origin, tuple[ClusterNode, ...]]) -> Chosen:
    """Return the first of each in the order of ``Origin``; an origin that has none is left out of the mapping."""
    spec_origin = next((origin for origin in Origin if origin in specs), Origin.DEFAULT)
    nodes_origin = next((origin for origin in Origin if nodes.get(origin)), Origin.DEFAULT)
    return Chosen(specs.get(spec_origin, Spec()), spec_origin, nodes.get(nodes_origin, ()), nodes_origin)


def may_stop(service: Service, origin: Origin) -> bool:
    """Return whether a spec of *origin* may stop a *service* that runs: only the live one, and dnsmasq never."""
    return origin is Origin.LIVE and service is not Service.DNSMASQ
