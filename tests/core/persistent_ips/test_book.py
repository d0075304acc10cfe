from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_interface, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.persistent_ips.book import Book, RecordInvalid, record_of, row_of
from nodenet.core.persistent_ips.claim import Claim
from nodenet.core.persistent_ips.model import (
    Attachment,
    NetworkSeen,
    Owner,
    OwnerKind,
    PodName,
    PodReference,
    Record,
    Reservation,
    State,
    Workload,
)

OWNER = Owner(OwnerKind.CLAIM, "vms", "vm", "u1")
ADDRESS = ip_interface("192.0.2.7/24")
POD = PodName("vms", "vm-1", "p1")
CLAIM = Claim("vms", "vm", "u1", "7", "blue", deleting=False, ips=("192.0.2.7/24",), owner_pod="")


def test_claims_are_counted_by_their_addresses() -> None:
    claims = Book().claims
    assert claims.put(CLAIM) is None
    assert claims.put(replace(CLAIM, version="8")) is None
    assert claims.has("blue", ADDRESS.ip)
    assert not claims.has("red", ADDRESS.ip)
    again = replace(CLAIM, uid="u2", ips=())
    assert claims.put(again) == replace(CLAIM, version="8")
    assert not claims.has("blue", ADDRESS.ip)
    claims.remove(CLAIM)  # the event of the older one comes late
    assert claims.get("vms", "vm") == again
    claims.remove(again)
    assert (len(claims), list(claims.all())) == (0, [])


ADDRESSES = (ip_interface("192.0.2.7/24"), ip_interface("2001:db8::7/64"))
RECORDS: tuple[Record, ...] = (
    Reservation("blue", ADDRESSES[0], OWNER, State.REPORTED, "l1", "9", 12.5),
    Attachment("c1", "net1", "blue", OWNER, ADDRESSES, POD, "/run/netns/c1", "b1", 12.5),
    Attachment("c1", "net2", "blue", OWNER, (), None, "", "b1", 0.0),
    PodReference(POD, "net1", "blue", "vm", Workload("b", "c"), "vms/blue", (ADDRESSES[0].ip,)),
    NetworkSeen("blue", "d", "vms/blue", (ADDRESSES[0].network,), (ip_network("192.0.2.1"),), "br-a 7"),
    Reservation("blue", ADDRESSES[0], OWNER, State.RESERVED, "l2", "9", 12.5, made_here=True),
)


@pytest.mark.parametrize("record", RECORDS)
def test_a_record_is_read_as_it_was_written(record: Record) -> None:
    assert record_of(row_of(record)) == record


def test_a_kind_of_a_later_release_is_left_alone() -> None:
    assert record_of(("slice", "[]", "?")) is None


@given(st.sampled_from(["reservation", "attachment", "pod", "network"]), st.text() | st.just("{}") | st.just("[]"))
def test_what_cannot_be_read_is_an_error(kind: str, text: str) -> None:
    with pytest.raises(RecordInvalid, match=f"a record of kind {kind} cannot be read"):
        record_of((kind, "key", text))
