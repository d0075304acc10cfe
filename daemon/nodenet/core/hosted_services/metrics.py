"""Which metrics do the hosted services of a node give to a monitoring system?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodenet.core.hosted_services.report import HostedHealth
from nodenet.core.metrics import Family, Kind

HEALTH = Family(
    "nodenet_hosted_health", Kind.GAUGE, "1 for the present health of the hosted services, 0 else.", ("health",)
)
PHASE = Family(
    "nodenet_hosted_phase", Kind.GAUGE, "1, with the present mode and phase of the hosted services.", ("mode", "phase")
)
PROBLEMS = Family("nodenet_hosted_problems", Kind.GAUGE, "Problems that `nodenetctl hosted` shows.")
REACHABLE = Family(
    "nodenet_hosted_api_reachable",
    Kind.GAUGE,
    "1 when the API answers at its VIP or external load balancer; absent where that is not asked.",
)
_VIP = ("address", "purpose")
HOLDERS = Family("nodenet_hosted_vip_holders", Kind.GAUGE, "Hosts that answer for a VIP, as this node sees it.", _VIP)
HERE = Family("nodenet_hosted_vip_here", Kind.GAUGE, "1 when this node holds the VIP.", _VIP)
CANDIDATE = Family("nodenet_hosted_vip_candidate", Kind.GAUGE, "1 when this node may hold the VIP.", _VIP)
WANTED = Family("nodenet_hosted_service_wanted", Kind.GAUGE, "1 when the service is to run on this node.", ("service",))
RUNS = Family("nodenet_hosted_service_running", Kind.GAUGE, "1 when the service runs on this node.", ("service",))
HEALTHY = Family(
    "nodenet_hosted_service_healthy",
    Kind.GAUGE,
    "1 when the service passes its checks; absent where it has none.",
    ("service",),
)
FAMILIES = (HEALTH, PHASE, PROBLEMS, REACHABLE, HOLDERS, HERE, CANDIDATE, WANTED, RUNS, HEALTHY)


def lines(document: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of the text for the *document* of hosted services."""
    yield from HEALTH.lines(HEALTH.one_of(document["health"], HostedHealth))
    yield from PHASE.lines([(1, (document["mode"], document["phase"]))])
    yield from PROBLEMS.lines([(len(document["problems"]), ())])
    reachable = document["api_reachable"]
    yield from REACHABLE.lines([(reachable, ())] if reachable is not None else [])
    vips = [(vip, (vip["address"], vip["purpose"])) for vip in document["vips"]]
    yield from HOLDERS.lines((len(vip["holders"]), labels) for vip, labels in vips)
    yield from HERE.lines((vip["here"], labels) for vip, labels in vips)
    yield from CANDIDATE.lines((vip["candidate"], labels) for vip, labels in vips)
    services = [(service, (service["name"],)) for service in document["services"]]
    yield from WANTED.lines((service["wanted"], labels) for service, labels in services)
    yield from RUNS.lines((service["running"], labels) for service, labels in services)
    yield from HEALTHY.lines(
        (service["healthy"], labels) for service, labels in services if service["healthy"] is not None
    )
