from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_address, ip_interface, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.persistent_ips.book import Book, Drop, Put, RecordInvalid, key_of, record_of, row_of
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
ROW = Reservation("blue", ADDRESS, OWNER, State.REPORTED, "l1", "9", 0.0)
POD = PodName("vms", "vm-1", "p1")
ATTACHMENT = Attachment("c1", "net1", "blue", OWNER, (ADDRESS,), POD, "", "b1", 0.0)
REFERENCE = PodReference(POD, "net1", "blue", "vm", Workload())
CLAIM = Claim("vms", "vm", "u1", "7", "blue", deleting=False, ips=("192.0.2.7/24",), owner_pod="")


def test_the_book_follows_changes() -> None:
    book = Book([ROW, ATTACHMENT, REFERENCE, NetworkSeen("blue", "d", "s")])
    assert book.attachment(("c1", "net1")) == ATTACHMENT
    assert book.attachments_of(OWNER) == (ATTACHMENT,)
    assert book.reservations_of(OWNER) == book.held_by(OWNER, "blue") == (ROW,)
    assert book.held_by(OWNER, "red") == ()
    assert book.pod_reference(REFERENCE.key) == REFERENCE
    assert book.network("blue") == NetworkSeen("blue", "d", "s")
    assert book.claim_owners() == (OWNER,)
    assert book.pods_of_claim("vms", "vm") == {POD}
    book.take([Put(replace(ROW, state=State.RELEASING)), Drop(ATTACHMENT), Drop(REFERENCE)])
    assert book.held_by(OWNER, "blue") == ()
    assert book.attachments_of(OWNER) == ()
    assert book.pods_of_claim("vms", "vm") == frozenset()
    assert book.taken("blue", ADDRESS.ip)  # its Lease is still there
    book.take([Drop(ROW), Drop(ROW)])
    assert not book.taken("blue", ADDRESS.ip)


def test_one_address_may_have_two_leases_one_after_the_other() -> None:
    other = replace(ROW, lease_uid="l2", owner=replace(OWNER, uid="u2"))
    book = Book([replace(ROW, state=State.RELEASING), other])
    book.take([Drop(ROW)])
    assert book.taken("blue", ADDRESS.ip)
    assert book.reservations_of(other.owner) == (other,)


def test_what_was_seen_is_taken_until_it_is_free() -> None:
    book, one, other = Book(), ip_address("192.0.2.1"), ip_address("192.0.2.2")
    book.note_taken("blue", [one])
    assert book.taken("blue", one)
    book.note_taken("blue", [other], all_of_them=True)
    assert (book.taken("blue", one), book.taken("blue", other)) == (False, True)
    book.note_free("blue", other)
    assert not book.taken("blue", other)


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


def test_two_records_have_two_keys() -> None:
    assert len({row_of(record)[:2] for record in RECORDS}) == len(RECORDS)
    assert key_of("a", "b,c") != key_of("a,b", "c")


def test_a_kind_of_a_later_release_is_left_alone() -> None:
    assert record_of(("slice", "[]", "?")) is None


@given(st.sampled_from(["reservation", "attachment", "pod", "network"]), st.text() | st.just("{}") | st.just("[]"))
def test_what_cannot_be_read_is_an_error(kind: str, text: str) -> None:
    with pytest.raises(RecordInvalid, match=f"a record of kind {kind} cannot be read"):
        record_of((kind, "key", text))
