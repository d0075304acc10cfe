"""How is a selection written as JSON: ``nodenetctl explain node-ip --json`` and the D-Bus method Explain?"""

from __future__ import annotations

from typing import Any

from nodenet.core.node_ip.select import Candidate, Selection

SCHEMA_VERSION = 1


def explanation(selection: Selection) -> dict[str, Any]:
    """Return the JSON document of a selection; keys may be added, none changes its meaning."""
    return {
        "schema_version": SCHEMA_VERSION,
        "node_ips": [str(address) for address in selection.node_ips],
        "link": selection.link,
        "matches_vip": selection.matches_vip,
        "remote_worker": selection.remote_worker,
        "candidates": [candidate_document(candidate) for candidate in selection.candidates],
        "missing_families": [family.value for family in selection.missing],
        "pending": [item.reason for item in selection.pending],
        "notes": list(selection.notes),
        "waiting": selection.waiting,
        "conflict": selection.conflict,
        "summary": summary(selection),
    }


def candidate_document(candidate: Candidate) -> dict[str, Any]:
    """Return one verdict."""
    return {
        "address": str(candidate.address),
        "prefix_length": candidate.prefix_length,
        "link": candidate.link,
        "verdict": candidate.verdict.value,
        "rule": candidate.rule.value,
        "source": candidate.source,
        "reason": candidate.sentence,
    }


def summary(selection: Selection) -> str:
    """Return one sentence: the node IPs and why, or what is waited for, or why nothing is published."""
    if selection.conflict:
        return f"Nothing is published: {selection.conflict}"
    if not selection.node_ips:
        return f"There is no node IP: {selection.waiting}"
    sentence = "; ".join(f"{item.address} on {item.link}, because {item.sentence}" for item in selection.selected)
    return f"{sentence}. Still missing: {selection.waiting}" if selection.waiting else sentence
