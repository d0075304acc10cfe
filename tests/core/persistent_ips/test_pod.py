from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.persistent_ips import pod as pods
from nodenet.core.persistent_ips.cni import CniError, Code
from nodenet.core.persistent_ips.model import PodName, Workload
from nodenet.core.persistent_ips.pod import Pod, may_share


def made(networks: object, **metadata: Any) -> Pod:
    text = networks if isinstance(networks, str) else json.dumps(networks)
    found = {"namespace": "vms", "name": "vm-1", "uid": "u1", "annotations": {pods.NETWORKS: text}, **metadata}
    return pods.parse({"metadata": found, "status": {"phase": "Running"}})


def claim(pod: Pod, ifname: str = "net1") -> str:
    return pods.reference(pod, ifname, "blue", "u1").claim


def test_the_element_is_found_by_its_interface_or_by_its_place() -> None:
    named = {"name": "blue", "interface": "eth7", pods.REFERENCE: "vm.blue"}
    second = {"name": "red", pods.REFERENCE: "vm.red"}
    pod = made([named, second])
    assert claim(pod, "eth7") == "vm.blue"
    assert claim(pod, "net2") == "vm.red"
    assert claim(pod, "net1") == ""  # the first one is called eth7
    assert claim(pod, "net3") == claim(pod, "eth0") == ""
    assert pods.reference(pod, "net2", "red", "u1").source == "vms/red"
    assert pods.references_claim(pod, "vm.red")
    assert not pods.references_claim(pod, "vm.green")


def test_the_short_form_has_no_reference() -> None:
    found = pods.reference(made("other/blue@net1, red"), "net1", "blue", "u1")
    assert (found.claim, found.source) == ("", "other/blue")
    assert pods.elements(made("")) == []


@pytest.mark.parametrize(
    ("networks", "text"),
    [
        ("[{", "it is not JSON"),
        ("[" * 100_000, "it is not JSON"),
        ("[" + " " * (1 << 20) + "]", "it has 1048578 characters; 1048576 are the most"),
        ({"name": "blue"}, "it is not a list of at most 256 elements"),
        ([7], "it has the element 7, which has no name"),
        ([{"name": "blue", "interface": 7}], "interface or namespace of the element 'blue' is not a text"),
        ("a b", "it has 'a b'; expected NAMESPACE/NAME@INTERFACE"),
        (
            [{"name": "blue", pods.REFERENCE: "../other/claim"}],
            "ipam-claim-reference of interface net1 is '../other/claim', which is not a name of Kubernetes",
        ),
        (
            [{"name": "blue", pods.REFERENCE: ["vm"]}],
            "ipam-claim-reference of interface net1 is ['vm'], which is not a name of Kubernetes",
        ),
        (
            [{"name": "blue", pods.REFERENCE: "vm", "ips": ["192.0.2.7/24"]}],
            "interface net1 has both ips and ipam-claim-reference",
        ),
    ],
)
def test_a_hostile_annotation_is_refused(networks: object, text: str) -> None:
    with pytest.raises(CniError) as caught:
        claim(made(networks))
    assert caught.value.code is Code.CONFIGURATION
    prefix = "The annotation k8s.v1.cni.cncf.io/networks of pod vms/vm-1 is not valid"
    assert caught.value.text == f"{prefix}: {text}"


@given(st.text() | st.recursive(st.none() | st.text() | st.integers(), st.lists).map(json.dumps))
def test_any_annotation_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(CniError):
        claim(made(text))


def test_what_is_read_of_a_pod() -> None:
    labels = {"kubevirt.io/created-by": "k", "vm.kubevirt.io/name": "vm"}
    pod = made("", labels=labels)
    assert (pod.name, pod.workload) == (PodName("vms", "vm-1", "u1"), Workload("k", "vm"))
    assert pods.parse({}).name == PodName("", "")
    assert pods.parse({"status": {"phase": "Failed"}}).finished
    static = pods.parse({"metadata": {"annotations": {pods.MIRROR: "hash"}}})
    assert static.static_uid == "hash"


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (Workload("a"), Workload("a"), True),
        (Workload("a"), Workload("b"), False),
        (Workload("a", "vm"), Workload("b", "vm"), True),
        (Workload(), Workload(), False),
        (Workload("a"), Workload(), False),
    ],
)
def test_who_may_share_a_claim(one: Workload, other: Workload, expected: bool) -> None:  # noqa: FBT001
    assert may_share(one, other) is may_share(other, one) is expected
