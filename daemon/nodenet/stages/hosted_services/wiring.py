"""How is the hosted-services stage built?"""

from __future__ import annotations

from nodenet.core.settings.model import Settings
from nodenet.stage_edges import StageEdges
from nodenet.stages.hosted_services.stage import HostedEdges, HostedServicesStage


def build(edges: StageEdges, settings: Settings) -> HostedServicesStage:
    """Return the stage for *settings*."""
    own = HostedEdges(
        edges.service_units,
        edges.node_dns(settings),
        edges.resolver_probe,
        edges.redirect,
        edges.files,
        edges.clock,
    )
    return HostedServicesStage(own, settings)
