from __future__ import annotations

from dataclasses import replace
from ipaddress import ip_interface
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.persistent_ips import claim as claims
from nodenet.core.persistent_ips import lease as leases
from nodenet.core.persistent_ips.claim import Claim, ClaimInvalid, Reason
from nodenet.core.persistent_ips.cni import is_object_name
from nodenet.core.persistent_ips.lease import Lease, LeaseInvalid, name_of
from nodenet.core.persistent_ips.model import Owner, OwnerKind, PodName, Sandbox

CLAIM = Claim("vms", "vm.blue", "u1", "7", "blue", deleting=False, ips=(), owner_pod="")
ADDRESS = ip_interface("192.0.2.7/24")


def document(status: Any = None, **metadata: Any) -> dict[str, Any]:
    found = {"namespace": "vms", "name": "vm.blue", "uid": "u1", "resourceVersion": "7", **metadata}
    return {"metadata": found, "spec": {"network": "blue"}, "status": status or {}}


def test_a_claim_is_read() -> None:
    assert claims.parse(document()) == CLAIM
    found = claims.parse(
        document(
            {
                "ips": ["192.0.2.7/24"],
                "ownerPod": {"name": "vm-1"},
                "conditions": [{"type": "IPsAllocated", "status": "True", "reason": "SuccessfulAllocation"}],
            },
            deletionTimestamp="2026-11-22T00:00:00Z",
        )
    )
    assert (found.deleting, found.owner_pod, found.addresses()) == (True, "vm-1", (ADDRESS,))
    assert found.conditions == (("IPsAllocated", "True", "SuccessfulAllocation"),)
    with pytest.raises(ClaimInvalid, match="the claim has no namespace, name, uid or resourceVersion"):
        claims.parse(document(uid=""))


@pytest.mark.parametrize(
    ("ips", "text"),
    [
        (["x"], "status.ips has 'x', which is not an address"),
        (["192.0.2.7"], "status.ips has '192.0.2.7', which has no prefix length"),
        (["192.0.2.7/24", "192.0.2.8/24"], "status.ips has two addresses of 192.0.2.0/24"),
        ([f"10.{n}.0.1/24" for n in range(20)], "status.ips has 17 entries; 16 are the most"),
        ([{"a": 1}], "status.ips has \"{'a': 1}\", which is not an address"),
    ],
)
def test_nonsense_in_the_status_is_refused(ips: list[object], text: str) -> None:
    found = claims.parse(document({"ips": ips}))
    with pytest.raises(ClaimInvalid) as caught:
        found.addresses()
    assert str(caught.value) == text


def test_what_can_be_read_beside_nonsense_is_the_claims() -> None:
    """No other owner gets it."""
    found = replace(CLAIM, ips=("nonsense", "192.0.2.7", "2001:DB8::7/64"))
    assert claims.known_addresses(found) == (ip_interface("192.0.2.7/32"), ip_interface("2001:db8::7/64"))
    assert found.has(ADDRESS)
    assert found.has(ip_interface("2001:db8::7/64"))
    assert not found.has(ip_interface("192.0.2.8/24"))


def test_the_name_of_a_network_is_cut_and_quoted_where_it_can_be_none() -> None:
    """Every user who may create claims writes it, a megabyte or lines for the journal."""
    made = document()
    for text, shown in (("a\nb", "'a\\nb'"), ("x" * (1 << 20), repr("x" * 100)), ("", "")):
        made["spec"]["network"] = text
        assert claims.parse(made).network == shown


@given(
    st.recursive(
        st.none() | st.text() | st.integers() | st.booleans(),
        lambda one: (
            st.lists(one) | st.dictionaries(st.sampled_from(["ips", "ownerPod", "conditions", "name", "type"]), one)
        ),
    )
)
def test_any_status_is_read(status: Any) -> None:
    found = claims.parse(document(status))
    assert isinstance(claims.known_addresses(found), tuple)


def test_addresses_are_written_once_and_the_pod_is_kept_true() -> None:
    first = claims.allocated_patch(CLAIM, [ADDRESS], "vm-1", 0.0)
    assert first == {
        "metadata": {"uid": "u1", "resourceVersion": "7"},
        "status": {
            "ips": ["192.0.2.7/24"],
            "ownerPod": {"name": "vm-1"},
            "conditions": [
                {
                    "type": "IPsAllocated",
                    "status": "True",
                    "reason": "SuccessfulAllocation",
                    "message": "Allocated 192.0.2.7/24",
                    "lastTransitionTime": "1970-01-01T00:00:00Z",
                }
            ],
        },
    }
    reported = replace(CLAIM, ips=("192.0.2.7/24",), conditions=(("IPsAllocated", "True", "SuccessfulAllocation"),))
    assert claims.allocated_patch(reported, [ADDRESS], "", 0.0)["status"] == {"ownerPod": None}


def test_conditions_of_other_programs_are_kept() -> None:
    other = {"type": "MACReady", "status": "True", "reason": "Done", "message": "m"}
    own = {"type": "IPsAllocated", "status": "False", "reason": "SubnetExhausted"}
    found = claims.parse(document({"conditions": [own, other]}))
    for patch in (
        claims.allocated_patch(found, [ADDRESS], "vm-1", 0.0),
        claims.failed_patch(found, Reason.CONFLICT, "taken", 0.0),
    ):
        assert patch is not None
        conditions = patch["status"]["conditions"]
        assert [one["type"] for one in conditions] == ["MACReady", "IPsAllocated"]
        assert conditions[0] == other


def test_a_failure_is_written_once() -> None:
    patch = claims.failed_patch(CLAIM, Reason.EXHAUSTED, "full", 0.0)
    assert patch is not None
    assert patch["status"]["ips"] == []
    assert patch["status"]["conditions"][0]["reason"] == "SubnetExhausted"
    said = replace(CLAIM, conditions=(("IPsAllocated", "False", "SubnetExhausted"),))
    assert claims.failed_patch(said, Reason.EXHAUSTED, "full", 0.0) is None
    conflict = claims.failed_patch(replace(CLAIM, ips=("192.0.2.7/24",)), Reason.CONFLICT, "taken", 0.0)
    assert conflict is not None
    assert "ips" not in conflict["status"]


OWNER = Owner(OwnerKind.CLAIM, "vms", "vm.blue", "u1")
LEASE = Lease("Blue", ip_interface("192.0.2.7/24"), OWNER, "node-a", PodName("vms", "vm-1", "p1"), "c1", "net1", "b1")

ADDRESSES = st.ip_addresses().map(ip_interface)
NAMES = st.from_regex(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,200}", fullmatch=True)


def stored(lease: Lease = LEASE, **changes: Any) -> dict[str, Any]:
    found = leases.document(lease, 0.0)
    found["metadata"] |= {"uid": "l1", "resourceVersion": "9", **changes}
    return found


def test_a_lease_is_read_as_it_was_written() -> None:
    found = leases.parse(stored())
    assert (found.uid, found.version) == ("l1", "9")
    assert found == replace(LEASE, uid="l1", version="9")
    assert stored()["spec"]["holderIdentity"] == "claim vms/vm.blue"


@given(NAMES, ADDRESSES, NAMES, ADDRESSES)
def test_the_name_is_one_for_each_network_and_address(one: str, a: Any, other: str, b: Any) -> None:
    assert is_object_name(name_of(one, a))
    assert (name_of(one, a) == name_of(other, b)) == ((one, a.ip) == (other, b.ip))


@pytest.mark.parametrize(
    "changes",
    [{"name": "another"}, {"annotations": {}}, {"uid": ""}, {"annotations": 7}],
)
def test_a_strange_lease_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(LeaseInvalid):
        leases.parse(stored(**changes))


TARGET = Sandbox("node-b", "b2", "c2", "net2", PodName("vms", "vm-2", "p2"))


def test_a_lease_names_its_earlier_sandboxes() -> None:
    found = leases.parse(stored(LEASE.taken_by(TARGET)))
    assert found.sandboxes == (TARGET, LEASE.sandbox)
    again = replace(TARGET, container_id="c3")
    assert found.taken_by(again).sandboxes == (again, LEASE.sandbox)  # a pod has one sandbox
    assert found.taken_by(LEASE.sandbox).sandboxes == (LEASE.sandbox, TARGET)
    assert found.held_by(LEASE.sandbox) == replace(LEASE, uid="l1", version="9")
    assert replace(LEASE, pod=None).taken_by(TARGET).earlier == ()


@pytest.mark.parametrize("text", ["{", "7", "[7]", "[{}]", '[{"node": "a"}]', "[" * 100_000])
def test_earlier_sandboxes_that_cannot_be_read_are_refused(text: str) -> None:
    """Without them, an address could be free while a pod has it."""
    made = stored()
    made["metadata"]["annotations"]["ipam.nodenet.org/earlier"] = text
    with pytest.raises(LeaseInvalid, match="earlier sandboxes that cannot be read"):
        leases.parse(made)


def test_a_lease_of_an_earlier_release_has_no_earlier_sandboxes() -> None:
    made = stored()
    del made["metadata"]["annotations"]["ipam.nodenet.org/earlier"]
    assert leases.parse(made).earlier == ()


def test_a_move_holds_only_for_the_same_owner_and_version() -> None:
    moved = replace(LEASE, node="node-b", pod=None, boot_id="b2", container_id="c2", ifname="net2", version="9")
    operations = leases.move(moved)
    assert operations[1] == {"op": "test", "path": "/metadata/resourceVersion", "value": "9"}
    assert operations[0] == {"op": "test", "path": "/metadata/annotations/ipam.nodenet.org~1owner-uid", "value": "u1"}
    for key, value in (("node", "node-b"), ("boot-id", "b2"), ("container-id", "c2"), ("ifname", "net2")):
        path = f"/metadata/annotations/ipam.nodenet.org~1{key}"
        assert {"op": "add", "path": path, "value": value} in operations
    labels = [one for one in operations if "labels" in one["path"]]
    assert [one["value"] for one in labels] == ["node-b"]
