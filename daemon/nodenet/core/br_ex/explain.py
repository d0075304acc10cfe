"""How is a plan for br-ex shown to programs, and in one sentence to people?"""

from __future__ import annotations

from typing import Any

from nodenet.core.br_ex.condition import BridgeCondition, Owner, condition_of
from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.br_ex.plan import Expectation, Plan
from nodenet.core.br_ex.uplink import BRIDGE, EXTRA_BRIDGE, Uplink

SCHEMA_VERSION = 1
MADE_BY = {
    Owner.NONE: "is not there yet",
    Owner.OURS: "is there, made by nodenet",
    Owner.OLD_SCRIPT: "is there, made by the script configure-ovs.sh",
    Owner.NMSTATE: "is there, made by a node file",
    Owner.LEFT_OVER: "is in the database of Open vSwitch only, left over from profiles that are gone",
    Owner.FOREIGN: "is there, made by another program",
}


def conditions(facts: BridgeFacts, uplinks: tuple[Uplink, ...] = ()) -> tuple[BridgeCondition, ...]:
    """Return the condition of br-ex, and of br-ex1 where it exists or is asked for."""
    wanted = {uplink.bridge: uplink.link for uplink in uplinks}
    found = [condition_of(facts, bridge, wanted.get(bridge)) for bridge in (BRIDGE, EXTRA_BRIDGE)]
    return tuple(each for each in found if each.bridge in {BRIDGE, *wanted} or each.owner is not Owner.NONE)


def explanation(plan: Plan, found: tuple[BridgeCondition, ...]) -> dict[str, Any]:
    """Return the JSON document; keys may be added, none changes its meaning."""
    return {
        "schema_version": SCHEMA_VERSION,
        "uplinks": [_uplink(uplink) for uplink in plan.uplinks],
        "bridges": [_status(each) for each in found],
        "document": plan.document,
        "carried": plan.document_with_lease,
        "finish_settings": plan.finish_settings,
        "beyond": plan.nm_properties,
        "clear_global_dns": plan.clear_global_dns,
        "sysctls": plan.sysctls,
        "expect": [_expectation(each) for each in plan.expect],
        "notes": list(plan.notes),
        "summary": summary(plan.uplinks, found),
    }


def summary(uplinks: tuple[Uplink, ...], found: tuple[BridgeCondition, ...]) -> str:
    """Return which link is the uplink of which bridge and why, and the condition of the bridges."""
    over = "; ".join(f"{uplink.bridge} goes over {uplink.link}, because {uplink.reason}" for uplink in uplinks)
    there = "; ".join(f"{each.bridge} {MADE_BY[each.owner]}" for each in found)
    return f"{over}. {there}"


def _uplink(uplink: Uplink) -> dict[str, str]:
    return {"bridge": uplink.bridge, "link": uplink.link, "rule": str(uplink.rule), "reason": uplink.reason}


def _status(each: BridgeCondition) -> dict[str, Any]:
    return {
        "bridge": each.bridge,
        "owner": str(each.owner),
        "uplink": each.uplink,
        "sound": each.sound,
        "profiles": list(each.profiles),
        "findings": [
            {"rule": str(finding.rule), "sentence": finding.sentence, "ours": finding.ours} for finding in each.findings
        ],
    }


def _expectation(each: Expectation) -> dict[str, Any]:
    return {
        "bridge": each.bridge,
        "addresses": [str(address) for address in each.addresses],
        "gateways": [str(address) for address in each.gateways],
    }
