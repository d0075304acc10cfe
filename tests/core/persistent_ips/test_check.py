"""Store, Leases and claims: which differences are found, and which ones are repaired."""

from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_network

import pytest

from core.persistent_ips.ipam_book import (
    ADDRESS,
    CLAIM,
    NODE,
    NOW,
    ORDINARY,
    POD,
    RESERVED,
    SEEN,
    Cluster,
    here,
    lease_of,
)
from nodenet.core.persistent_ips.book import Put
from nodenet.core.persistent_ips.check import REMEDY, Difference, check_document, differences, repair
from nodenet.core.persistent_ips.effects import Here
from nodenet.core.persistent_ips.model import State
from nodenet.core.persistent_ips.release import ORPHAN_SECONDS

GONE = replace(CLAIM, name="old.blue", uid="u0")


def found(where: Here, cluster: Cluster) -> list[Difference]:
    return list(differences(where, cluster.leases.values()))


def test_an_address_that_became_a_gateway_is_a_difference() -> None:
    """Of a row and of a claim's status alike, once."""
    seen = replace(SEEN, never_given=(ip_network("192.0.2.8"), ip_network("192.0.2.6/31")))
    where = here(RESERVED, ORDINARY, seen)
    listed = found(where, Cluster(lease_of(RESERVED), lease_of(ORDINARY)))
    text = "has it, and it is a gateway or excluded in the configuration of the network"
    assert [(one.address, one.cause) for one in listed] == [
        ("192.0.2.7/24", f"claim team/vm.blue {text}"),
        ("192.0.2.8/24", f"pod team/plain {text}"),
    ]


def test_the_document() -> None:
    where, cluster = here(RESERVED, ORDINARY, SEEN), Cluster(lease_of(RESERVED))
    (difference,) = found(where, cluster)
    assert check_document(where.book, cluster.leases.values(), [(difference, False)]) == {
        "addresses": 2,
        "differences": [
            {
                "network": "blue",
                "address": "192.0.2.8/24",
                "cause": "it is reserved here for pod team/plain and has no Lease",
                "remedy": REMEDY,
                "repaired": False,
            }
        ],
    }


@pytest.mark.parametrize("row", [RESERVED, ORDINARY])
def test_a_lease_that_is_missing_is_made_again_and_the_record_follows(row: object) -> None:
    """The record names the Lease that it releases later."""
    wanted = RESERVED if row is RESERVED else ORDINARY
    where, cluster = here(wanted), Cluster(claims=(CLAIM,))
    (difference,) = found(where, cluster)
    assert cluster.carry_out(where, repair(where, difference))
    (made,) = cluster.leases.values()
    assert (made.owner, made.node, made.address) == (wanted.owner, NODE, wanted.address)
    assert list(where.book.reservations()) == [replace(wanted, lease_uid="l9", lease_version="1")]
    assert found(where, cluster) == []


def test_a_lease_that_is_missing_is_not_made_for_a_claim_that_is_gone() -> None:
    """Its release is on the way."""
    where, cluster = here(RESERVED, SEEN, claims=()), Cluster()
    (difference,) = found(where, cluster)
    assert not cluster.carry_out(where, repair(where, difference))
    assert cluster.changes == []


def test_an_address_of_a_status_without_a_lease_is_reserved_again() -> None:
    """By any node that knows the network; it is the claim's, and must not be given to another."""
    where, cluster = here(SEEN), Cluster()
    (difference,) = found(where, cluster)
    assert difference.cause == "it is in the status of claim team/vm.blue and has no Lease"
    assert cluster.carry_out(where, repair(where, difference))
    (row,) = where.book.reservations()
    assert (row.owner, row.state, row.since, row.address) == (CLAIM.owner, State.REPORTED, NOW, ADDRESS)
    assert found(where, cluster) == []


def test_an_address_of_a_status_that_another_node_reserves_at_the_same_time_is_left_alone() -> None:
    where, cluster = here(SEEN), Cluster()
    (difference,) = found(where, cluster)
    cluster.leases[lease_of(RESERVED).name] = lease_of(RESERVED, "worker-9")
    assert not cluster.carry_out(where, repair(where, difference))
    assert (cluster.changes, list(where.book.reservations())) == ([], [])


def test_a_lease_whose_claim_is_gone_is_deleted_when_its_pod_is_gone_too() -> None:
    cluster = Cluster(lease_of(replace(ORDINARY, owner=GONE.owner), "worker-9", POD))
    where = here(claims=())
    (difference,) = found(where, cluster)
    assert difference.cause == "its Lease is of claim team/old.blue, which is gone"
    assert not cluster.carry_out(where, repair(where, difference))
    later = replace(where, uptime=where.uptime + ORPHAN_SECONDS)
    assert cluster.carry_out(later, repair(later, difference))
    assert cluster.leases == {}


def test_two_owners_of_one_address_are_reported_and_nothing_is_changed() -> None:
    """Whichever it is: to free an address of a claim is for people."""
    cluster = Cluster(replace(lease_of(RESERVED), owner=GONE.owner, uid="l7"))
    where = here(RESERVED, SEEN, claims=(CLAIM, replace(GONE, ips=("192.0.2.7/24",))))
    listed = found(where, cluster)
    assert [one.cause for one in listed] == [
        "it is reserved here for claim team/vm.blue, and its Lease is of claim team/old.blue",
        "it is in the status of claim team/old.blue and of claim team/vm.blue",
        "its Lease of claim team/old.blue names this node, whose store does not have it yet",
    ]
    assert [cluster.carry_out(where, repair(where, one)) for one in listed] == [False] * 3
    assert cluster.changes == []


def test_a_claim_whose_lease_is_of_another_owner() -> None:
    strange = replace(lease_of(RESERVED, "worker-9"), owner=replace(ORDINARY.owner, uid="x"))
    (difference,) = found(here(SEEN), Cluster(strange))
    assert difference.cause == "it is in the status of claim team/vm.blue, and its Lease is of pod team/plain"


def test_what_is_on_its_way_back_is_no_difference() -> None:
    assert found(here(replace(ORDINARY, state=State.RELEASING)), Cluster()) == []


def test_a_lease_of_this_node_that_the_store_does_not_have() -> None:
    """An ADD may be between both at this moment."""
    where, cluster = here(), Cluster(lease_of(ORDINARY))
    (difference,) = found(where, cluster)
    assert (difference.missing, difference.orphan) == (None, None)
    where.book.take((Put(ORDINARY),))
    assert found(where, cluster) == []
