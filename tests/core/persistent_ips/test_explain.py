"""Why a claim has its addresses, or what it waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.persistent_ips.ipam_book import ATTACHED, CLAIM, NOW, ORDINARY, REFERENCE, RESERVED, SINCE, book
from nodenet.core.persistent_ips.check import explain, explanation
from nodenet.core.persistent_ips.claim import Claim
from nodenet.core.persistent_ips.lease import name_of
from nodenet.core.persistent_ips.model import PodName, State

LEASE = name_of("blue", RESERVED.address)


def test_a_claim_in_use() -> None:
    found = explain(book(RESERVED, ATTACHED, REFERENCE), "team", "vm.blue", {})
    assert found.splitlines() == [
        "Claim team/vm.blue (UID u1) of network blue.",
        "Its status has 192.0.2.7/24. This is written once and stays until it is deleted.",
        "Its status names the pod a.",
        "Condition IPsAllocated: True (SuccessfulAllocation).",
        "192.0.2.7/24 in network blue: attached, since 2026-11-22T09:00:00Z.",
        f"  Reserved in the cluster by the Lease {LEASE}.",
        "Attached to pod team/a as net1 since 2026-11-22T09:00:00Z: 192.0.2.7/24 (sandbox c1).",
        "Pods of this node that reference it: a.",
    ]


@pytest.mark.parametrize(
    ("claim", "line"),
    [
        (replace(CLAIM, ips=()), "Its status has no addresses: it gets them when a pod first uses it."),
        (
            replace(CLAIM, ips=("192.0.2.7",)),
            "Its status cannot be used: status.ips has '192.0.2.7', which has no prefix length.",
        ),
        (
            replace(CLAIM, deleting=True),
            "It is being deleted: no pod gets its addresses any more, and they are free when it is gone.",
        ),
        (replace(CLAIM, network=""), "Claim team/vm.blue (UID u1) of network without a name."),
        (CLAIM, "This node has nothing reserved for it: no pod of this node has used it."),
    ],
)
def test_what_a_claim_says(claim: Claim, line: str) -> None:
    assert line in explain(book(claims=(claim,)), "team", "vm.blue", {}).splitlines()


def test_a_claim_that_is_not_there() -> None:
    found = explain(book(REFERENCE, claims=()), "team", "vm.blue", {})
    assert found.splitlines() == [
        "There is no claim team/vm.blue. A pod that references it waits until it is made.",
        "Pods of this node that reference it: a.",
    ]
    assert explain(book(claims=(), complete=False), "team", "vm.blue", {}) == (
        "Claim team/vm.blue is not known: the API has not answered since the service started."
    )


def test_an_earlier_claim_of_the_name() -> None:
    found = explain(book(RESERVED, claims=(replace(CLAIM, uid="u2"),)), "team", "vm.blue", {})
    line = "An earlier claim of this name was deleted; its addresses are released when its last pod has ended."
    assert line in found.splitlines()


def test_refusals_of_its_pods_are_shown() -> None:
    """Of pods that were read with a reference, and of those whose refusal names the claim."""
    refusals = {
        "team/a": "Network blue has no free address",
        "team/b": "IPAMClaim team/vm.blue is being deleted",
        "team/c": "IPAMClaim team/vm.blue2 is being deleted",
        "other/a": "IPAMClaim team/vm.blue is being deleted",
    }
    found = explain(book(REFERENCE), "team", "vm.blue", refusals)
    assert [line for line in found.splitlines() if "got no address" in line] == [
        "Pod team/a got no address when it asked last: Network blue has no free address",
        "Pod team/b got no address when it asked last: IPAMClaim team/vm.blue is being deleted",
    ]


# The document of `nodenetctl claims`.


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
    found: list[dict[str, object]] = explanation(book(*records), "worker-0", [])["addresses"]  # type: ignore[arg-type]
    return found


def test_the_document() -> None:
    assert explanation(book(RESERVED, ATTACHED), "worker-0", ["x"]) == {
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
