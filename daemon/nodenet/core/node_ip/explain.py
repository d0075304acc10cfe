"""Why was an address chosen, in words, and how do two selections differ?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.node_ip.select import Candidate, Selection
from nodenet.core.value import frozen

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


Place = tuple[str, IPAddress, int]
"""What identifies an address: link, address, prefix length."""


@frozen
class Change:
    """An address whose verdict or rule is another one; None: it is not on the host at that moment."""

    place: Place
    before: Candidate | None
    after: Candidate | None


@frozen
class Comparison:
    """Two selections and their differences; *changes* by link, family and address."""

    before: Selection
    after: Selection
    changes: tuple[Change, ...]

    @property
    def equal(self) -> bool:
        """Whether the node IPs, their order and every verdict are the same."""
        return not self.changes and self.before.node_ips == self.after.node_ips


def compare(before: Selection, after: Selection) -> Comparison:
    """Return the change of each address between two selections."""
    return Comparison(before, after, tuple(sorted(_changes(before, after), key=_position)))


def _changes(before: Selection, after: Selection) -> Iterator[Change]:
    old, new = _by_place(before), _by_place(after)
    for place in old.keys() | new.keys():
        first, then = old.get(place), new.get(place)
        if first is None or then is None or (first.verdict, first.rule) != (then.verdict, then.rule):
            yield Change(place, first, then)


def _by_place(selection: Selection) -> dict[Place, Candidate]:
    return {(item.link, item.address, item.prefix_length): item for item in selection.candidates}


def _position(change: Change) -> tuple[str, int, int, int]:
    link, address, prefix_length = change.place
    return link, address.version, int(address), prefix_length


def document(comparison: Comparison) -> dict[str, Any]:
    """Return the JSON document of a comparison; keys may be added, none changes its meaning."""
    return {
        "schema_version": SCHEMA_VERSION,
        "equal": comparison.equal,
        "node_ips": {
            "before": [str(address) for address in comparison.before.node_ips],
            "after": [str(address) for address in comparison.after.node_ips],
        },
        "changes": [
            {
                "address": str(change.place[1]),
                "prefix_length": change.place[2],
                "link": change.place[0],
                "before": candidate_document(change.before) if change.before else None,
                "after": candidate_document(change.after) if change.after else None,
            }
            for change in comparison.changes
        ],
    }


def difference_summary(comparison: Comparison) -> str:
    """Return one sentence about the change of the node IPs."""
    before, after = (_told(selection) for selection in (comparison.before, comparison.after))
    if before != after:
        return f"The node IPs change from {before} to {after}"
    changed = len(comparison.changes)
    if not changed:
        return f"Nothing changes: the node IPs are {after}"
    return f"The node IPs stay {after}; {changed} {'verdict changes' if changed == 1 else 'verdicts change'}"


def _told(selection: Selection) -> str:
    return ", ".join(map(str, selection.node_ips)) or "none"
