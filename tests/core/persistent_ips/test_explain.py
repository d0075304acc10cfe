"""Why a claim has its addresses, or what it waits for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from core.persistent_ips.ipam_book import ATTACHED, CLAIM, REFERENCE, RESERVED, book
from nodenet.core.persistent_ips.claim import Claim
from nodenet.core.persistent_ips.explain import explain
from nodenet.core.persistent_ips.lease import name_of

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
