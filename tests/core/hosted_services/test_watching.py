"""Lists and events of a watch: applied in order, forgotten by the server, and of a wrong shape."""

from typing import Any

import pytest

from nodenet.core.hosted_services.nodes import (
    MOST_NODES,
    Expired,
    Known,
    WatchInvalid,
    after,
    listed,
    slim_node,
    slim_resource,
)


def node(name: str, address: str = "192.0.2.10", version: str = "1") -> dict[str, Any]:
    return {
        "metadata": {
            "name": name,
            "resourceVersion": version,
            "labels": {"node-role.kubernetes.io/master": "", "other": "x"},
            "managedFields": ["…"] * 50,
        },
        "status": {
            "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
            "images": ["…"] * 50,
        },
    }


def page(items: list[Any], version: str = "10", following: str = "") -> dict[str, Any]:
    return {"metadata": {"resourceVersion": version, "continue": following}, "items": items}


def event(kind: str, item: dict[str, Any]) -> dict[str, Any]:
    return {"type": kind, "object": item}


def test_events_change_what_is_known_and_a_heartbeat_changes_nothing() -> None:
    known, _ = listed(Known(), page([node("a")]), slim_node)
    same = after(known, event("MODIFIED", node("a", version="12")), slim_node)
    assert same.objects is known.objects
    assert same.resource_version == "12"
    moved = after(same, event("MODIFIED", node("a", "192.0.2.99", "13")), slim_node)
    assert moved.objects["a"]["status"]["addresses"][0]["address"] == "192.0.2.99"
    more = after(moved, event("ADDED", node("b", version="14")), slim_node)
    less = after(more, event("DELETED", node("a", version="15")), slim_node)
    assert (sorted(more.objects), sorted(less.objects), less.resource_version) == (["a", "b"], ["b"], "15")
    marked = after(less, event("BOOKMARK", {"metadata": {"resourceVersion": "20"}}), slim_node)
    assert (marked.objects, marked.resource_version) == (less.objects, "20")


def test_a_server_that_has_forgotten_is_listed_again() -> None:
    with pytest.raises(Expired):
        after(Known(), event("ERROR", {"code": 410, "reason": "Expired"}), slim_node)
    with pytest.raises(WatchInvalid, match="the watch ended with 'too old'"):
        after(Known(), event("ERROR", {"code": 500, "message": "too old"}), slim_node)


@pytest.mark.parametrize(
    "document",
    [None, [], {}, {"metadata": {}}, {"metadata": {"resourceVersion": "1"}}, page([None]), page([{"metadata": {}}])],
)
def test_a_list_of_another_shape_is_refused(document: object) -> None:
    with pytest.raises(WatchInvalid):
        listed(Known(), document, slim_node)


@pytest.mark.parametrize("document", [None, {}, {"type": "ADDED"}, event("STRANGE", node("a")), event("ADDED", {})])
def test_an_event_of_another_shape_is_refused(document: object) -> None:
    with pytest.raises(WatchInvalid):
        after(Known(), document, slim_node)


def test_the_number_of_objects_is_bounded() -> None:
    full = Known({str(number): {} for number in range(MOST_NODES)}, "1")
    with pytest.raises(WatchInvalid):
        after(full, event("ADDED", node("one-more")), slim_node)
    with pytest.raises(WatchInvalid):
        listed(full, page([node("one-more")]), slim_node)


def test_of_a_resource_identity_spec_and_nodes_are_kept() -> None:
    item = {
        "apiVersion": "g/v1",
        "kind": "K",
        "metadata": {"name": "cluster", "uid": "u", "generation": 3, "managedFields": []},
        "spec": {"ingressHa": "Disabled"},
        "status": {"nodes": [{"name": "a", "role": "worker", "healthy": "True"}, 7], "conditions": []},
    }
    assert slim_resource(item) == {
        "apiVersion": "g/v1",
        "kind": "K",
        "metadata": {"name": "cluster", "uid": "u", "generation": 3},
        "spec": {"ingressHa": "Disabled"},
        "status": {"nodes": [{"name": "a", "role": "worker"}]},
    }
    assert slim_resource({"metadata": {"name": "cluster"}, "status": 5})["status"] == {"nodes": []}
