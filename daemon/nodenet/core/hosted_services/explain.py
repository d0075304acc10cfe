"""Who holds a VIP, what is ``api-int``, why does a hosted service run? Text for people, from the report's document."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from nodenet.core.hosted_services.api_int import REPLACED

TOPICS = ("api-int", "vip", "hosted")


def explain(topic: str, document: Mapping[str, Any]) -> tuple[str, ...] | None:
    """Return the lines of one of ``TOPICS``, None for another topic."""
    lines = {"api-int": _api_int, "vip": _vips, "hosted": _services}.get(topic)
    return tuple(lines(document)) if lines else None


def _api_int(document: Mapping[str, Any]) -> Iterator[str]:
    api_int = document["api_int"]
    shown = " and ".join(api_int["addresses"])
    yield f"api-int is {shown}" if shown else "api-int has no address"
    replaced = [problem for problem in document["problems"] if REPLACED in problem]
    yield from replaced or [_source(api_int)]
    if document["mode"] == "external":
        balances = any(one["name"] == "haproxy" and one["running"] for one in document["services"])
        still = "still runs" if balances else "does not run"
        yield f"It is not a VIP of the cluster: an external load balancer serves the API, and haproxy {still}"
    reachable = document["api_reachable"]
    if reachable is not None:
        yield f"The API {'answers' if reachable else 'does not answer'} there, verified by the cluster's CA"


def _source(api_int: Mapping[str, Any]) -> str:
    found: str = {
        "cr": "The HostedNetServices object of the cluster names it",
        "cache": "The last HostedNetServices object that was read names it; the API did not answer in this boot",
        "file": "The file /etc/nodenet/hostednetservices.yaml names it",
    }.get(api_int["source"], "No HostedNetServices object names another address: it is the API VIP of the settings")
    return found


def _vips(document: Mapping[str, Any]) -> Iterator[str]:
    for vip in document["vips"]:
        held = " and ".join(vip["holders"])
        yield f"The {vip['purpose']} VIP {vip['address']} is {f'held by {held}' if held else 'not seen on the wire'}"
        may = "may" if vip["candidate"] else "may not"
        yield f"  This node {may} hold it: {vip['reason']}"
        if vip["stance"]:
            yield f"  {_STANCES[vip['stance']]}"
    if not document["vips"]:
        yield "The settings name no VIP"


_STANCES = {
    "probing": "The wire was not asked yet: VRRP waits",
    "candidate": "It takes part in VRRP",
    "staying-out": "A host that is no node holds it: this node takes part after that host, or after half an hour",
    "draining": "The node is drained: another node takes it over",
}


def _services(document: Mapping[str, Any]) -> Iterator[str]:
    for service in document["services"]:
        verb = "runs" if service["running"] else "does not run"
        yield f"{service['name']} {verb}: {service['problem'] or service['reason']}"
