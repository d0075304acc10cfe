"""Which status has the object HostedNetServices: who holds each VIP, the conditions, and every node?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nodenet.core.hosted_cluster.conditions import FALSE, TRUE, UNKNOWN, Seen, conditions, nodes_unheard, with_times
from nodenet.core.hosted_cluster.members import Member
from nodenet.core.hosted_services import migration
from nodenet.core.hosted_services.model import Purpose
from nodenet.core.ip import IPAddress

API_OWNER, INGRESS_OWNER = "apiServerInternalIpOwner", "ingressIpOwner"
OWNERS = {API_OWNER: Purpose.API, INGRESS_OWNER: Purpose.INGRESS}


def status(seen: Seen, before: Mapping[str, Any], now: str) -> dict[str, Any]:
    """Return the status; *before* is the one that the object has, and *now* a time as the API writes it (RFC 3339).

    Equal inputs and a status that is already right give the same status again, so that nothing is written.
    """
    return {
        **{field: _owner(seen, purpose, before.get(field)) for field, purpose in OWNERS.items()},
        "observedGeneration": seen.generation,
        "conditions": with_times(conditions(seen), before.get("conditions"), seen.generation, now),
        "migration": migration.render(seen.migration) if seen.migration else None,
        "nodes": [_node(one, seen) for one in seen.members],
    }


def unheard(cause: str, before: Mapping[str, Any], generation: int, now: str) -> dict[str, Any]:
    """Return the status of an operator that could read nothing about the nodes: that of *before* with the *cause*."""
    listed = before.get("conditions")
    (new,) = with_times([nodes_unheard(cause)], listed, generation, now)
    others = [one for one in (listed if isinstance(listed, list) else ()) if one.get("type") != new["type"]]
    return {**dict.fromkeys(OWNERS, ""), **before, "conditions": [*others, new]}


def silent(before: Mapping[str, Any]) -> frozenset[str]:
    """Return the nodes of a status that nothing is known about."""
    nodes = before.get("nodes")
    listed = [one for one in nodes if isinstance(one, Mapping)] if isinstance(nodes, list) else []
    return frozenset(str(one.get("name")) for one in listed if one.get("healthy") == UNKNOWN)


def _owner(seen: Seen, purpose: Purpose, before: object) -> str:
    """Return the node that holds the first VIP of *purpose*, empty without one.

    For a minute after a takeover, the holder of before may still report the VIP: the last one that began to is right.
    """
    for vip, wanted in seen.vips():
        if wanted is purpose:
            since = {
                one.node.name: seen.claims.get((vip, one.node.name), seen.now)
                for one in seen.members
                if one.holds(vip, purpose)
            }
            return max(since, key=lambda name: (since[name], name == before), default="")
    return ""


def _node(member: Member, seen: Seen) -> dict[str, Any]:
    report = member.present
    own: frozenset[IPAddress] = frozenset(vip for vip, purpose in seen.vips() if member.holds(vip, purpose))
    return {
        "name": member.node.name,
        "role": member.node.role.value,
        "addresses": [str(address) for address in member.node.addresses],
        "vips": sorted(map(str, own)),
        "services": [service.value for service in report.services] if report else [],
        "healthy": UNKNOWN if report is None else TRUE if report.healthy else FALSE,
        "stack": report.stack.value if report else "unknown",
    }
