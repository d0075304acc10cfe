from __future__ import annotations

from ipaddress import ip_interface, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.persistent_ips.book import RecordInvalid, key_of, record_of, row_of
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
ADDRESSES = (ip_interface("192.0.2.7/24"), ip_interface("2001:db8::7/64"))
POD = PodName("vms", "vm-1", "p1")
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
