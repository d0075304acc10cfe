from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from ipaddress import ip_interface

from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.persistent_ips.model import Attachment, Owner, OwnerKind, PodName, Reservation, State, moment_text


def test_owners_are_written_for_people_and_hold_a_key() -> None:
    claim = Owner(OwnerKind.CLAIM, "vms", "vm.blue", "u1")
    pod = Owner(OwnerKind.POD, "vms", "web", "u2/net1")
    alone = Owner(OwnerKind.POD, "", "container-1", "container-1/eth0")
    assert [str(one) for one in (claim, pod, alone)] == ["claim vms/vm.blue", "pod vms/web", "pod container-1"]
    assert claim.hold == Owner(OwnerKind.CLAIM, "vms", "vm.blue", "another").hold
    assert pod.hold != Owner(OwnerKind.POD, "vms", "web", "u3/net1").hold


def test_only_a_lease_that_was_made_here_and_never_moved_can_be_undone() -> None:
    owner = Owner(OwnerKind.CLAIM, "vms", "vm", "u1")
    row = Reservation("blue", ip_interface("192.0.2.7/24"), owner, State.RESERVED, "l", "1", 0.0)
    assert not row.is_fresh
    made = replace(row, made_here=True)
    assert made.is_fresh
    assert not replace(made, state=State.REPORTED).is_fresh
    assert made.moved("l", "2") == replace(row, lease_version="2")


def test_identities() -> None:
    owner = Owner(OwnerKind.CLAIM, "vms", "vm", "u1")
    address = ip_interface("192.0.2.7/24")
    row = Reservation("blue", address, owner, State.RESERVED, "l", "1", 0.0)
    assert row.place == ("blue", address.ip)
    one = Attachment("c", "net1", "blue", owner, (address,), PodName("vms", "vm-1", "p"), "/run/netns/c", "b", 0.0)
    assert (one.key, str(one.pod)) == (("c", "net1"), "vms/vm-1")


@given(st.integers(-(10**10), 200 * 10**9))
def test_a_moment_is_written_as_the_standard_library_does(seconds: int) -> None:
    assert moment_text(seconds) == datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def test_microseconds() -> None:
    assert moment_text(1.25, micro=True) == "1970-01-01T00:00:01.250000Z"
