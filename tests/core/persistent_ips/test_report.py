"""The document of `nodenetctl claims`."""

from __future__ import annotations

from dataclasses import replace

from core.persistent_ips.ipam_book import ATTACHED, NOW, ORDINARY, RESERVED, SINCE, book
from nodenet.core.persistent_ips.explain import document
from nodenet.core.persistent_ips.model import PodName, State

ENTRY = {
    "network": "blue",
    "address": "192.0.2.7/24",
    "state": "attached",
    "claim": "team/vm.blue",
    "pod": "team/a",
    "node": "worker-0",
    "since": SINCE,
}


def entries(*records: object) -> list[dict[str, object]]:
    found: list[dict[str, object]] = document(book(*records), "worker-0", [])["addresses"]  # type: ignore[arg-type]
    return found


def test_the_document() -> None:
    assert document(book(RESERVED, ATTACHED), "worker-0", ["x"]) == {
        "schema_version": 1,
        "node": "worker-0",
        "problems": ["x"],
        "addresses": [ENTRY],
    }


def test_a_stopped_workload_holds_its_address() -> None:
    assert entries(RESERVED) == [{**ENTRY, "state": "held", "pod": None}]


def test_an_address_on_its_way_is_named_as_the_record_has_it() -> None:
    for state in (State.RESERVED, State.RELEASING):
        (entry,) = entries(replace(RESERVED, state=state), ATTACHED)
        assert entry["state"] == str(state)


def test_a_pod_without_a_claim() -> None:
    assert entries(ORDINARY) == [
        {**ENTRY, "address": "192.0.2.8/24", "state": "held", "claim": None, "pod": "team/plain"}
    ]


def test_while_a_machine_migrates_the_newer_pod_is_shown() -> None:
    newer = replace(ATTACHED, container_id="c2", pod=PodName("team", "b", "p2"), since=NOW + 60)
    for records in ((ATTACHED, newer), (newer, ATTACHED)):
        (entry,) = entries(RESERVED, *records)
        assert (entry["pod"], entry["state"]) == ("team/b", "attached")


def test_a_sandbox_whose_lease_another_node_has_is_shown_once() -> None:
    assert entries(ATTACHED, replace(ATTACHED, container_id="c2")) == [ENTRY]
    assert len(entries(RESERVED, ATTACHED)) == 1


def test_an_address_of_another_network_is_another_one() -> None:
    other = replace(ATTACHED, network="red")
    assert [(one["network"], one["state"]) for one in entries(RESERVED, other)] == [
        ("blue", "held"),
        ("red", "attached"),
    ]
