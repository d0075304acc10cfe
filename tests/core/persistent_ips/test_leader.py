"""Who holds the Lease, by this node's own clock."""

from __future__ import annotations

from typing import Any

from nodenet.core.persistent_ips.leader import NAME, SECONDS, Seen, may_take, new, take

NOW = 1795338000.0


def held(node: str, version: str = "7") -> dict[str, Any]:
    return {**new(node, NOW), "metadata": {"name": NAME, "resourceVersion": version}}


def test_the_lease() -> None:
    assert new("a", NOW)["spec"] == {
        "holderIdentity": "a",
        "leaseDurationSeconds": SECONDS,
        "renewTime": "2026-11-22T09:00:00.000000Z",
        "acquireTime": "2026-11-22T09:00:00.000000Z",
        "leaseTransitions": 0,
    }


def test_the_holder_keeps_it() -> None:
    assert may_take(held("a"), "a", None, 0.0)
    assert may_take({"metadata": {"resourceVersion": "7"}}, "a", None, 0.0)


def test_another_node_takes_it_when_it_has_not_changed_for_long_enough() -> None:
    """Not by the time that stands in it: the clocks of two nodes may differ."""
    assert not may_take(held("b"), "a", None, 1e9)
    assert not may_take(held("b"), "a", Seen("7", 100.0), 100.0 + SECONDS - 1)
    assert may_take(held("b"), "a", Seen("7", 100.0), 100.0 + SECONDS)
    assert not may_take(held("b", "8"), "a", Seen("7", 100.0), 100.0 + SECONDS)


def test_it_is_taken_as_it_was_read() -> None:
    first, *others = take(held("b"), "a", NOW)
    assert first == {"op": "test", "path": "/metadata/resourceVersion", "value": "7"}
    assert {"op": "add", "path": "/spec/holderIdentity", "value": "a"} in others
    bare = {"metadata": {"resourceVersion": "7"}}
    assert take(bare, "a", NOW)[1]["path"] == "/spec"
