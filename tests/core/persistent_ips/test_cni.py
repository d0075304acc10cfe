from __future__ import annotations

import contextlib
import json
from ipaddress import ip_address, ip_interface
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.persistent_ips import cni
from nodenet.core.persistent_ips.cni import CniError, Code, Extras, Verb
from nodenet.core.persistent_ips.model import PodName

ARGS = "IgnoreUnknown=1;K8S_POD_NAMESPACE=vms;K8S_POD_NAME=vm-1;K8S_POD_UID=u1"


def request(command: str = "ADD", cni_version: str = "1.1.0", **changes: Any) -> dict[str, Any]:
    fields = {"container_id": "c1", "netns": "/run/netns/c1", "ifname": "net1", "args": ARGS, "path": "/opt/cni/bin"}
    configuration = json.dumps({"cniVersion": cni_version, "name": "blue", "ipam": {}})
    return {"version": 1, "command": command, **fields, "config": configuration, **changes}


def test_a_request_is_read() -> None:
    found = cni.parse(request())
    assert (found.verb, found.container_id, found.ifname, found.version) == (Verb.ADD, "c1", "net1", "1.1.0")
    assert found.pod == PodName("vms", "vm-1", "u1")
    assert cni.parse(request(args="")).pod is None
    assert cni.parse(request("GC", container_id="", ifname="")).verb is Verb.GC


@pytest.mark.parametrize(
    ("changes", "code", "text"),
    [
        ({"version": 2}, 6, "The request has not version 1"),
        ({"command": "DANCE"}, 4, "CNI_COMMAND is 'DANCE', which is not known"),
        ({"command": 7}, 6, "The field command of the request is not a text"),
        ({"container_id": ""}, 4, "CNI_CONTAINERID is '', which is not valid"),
        ({"container_id": "../x"}, 4, "CNI_CONTAINERID is '../x', which is not valid"),
        ({"ifname": "a/b"}, 4, "CNI_IFNAME is 'a/b', which is not valid"),
        ({"ifname": ".."}, 4, "CNI_IFNAME is '..', which is not valid"),
        ({"netns": ""}, 4, "CNI_NETNS is '', which is not valid"),
        ({"args": "K8S_POD_NAME"}, 4, "CNI_ARGS has 'K8S_POD_NAME' without a value"),
        (
            {"args": "K8S_POD_NAMESPACE=vms;K8S_POD_NAME=../a"},
            4,
            "K8S_POD_NAME of CNI_ARGS is '../a', which is not a name of Kubernetes",
        ),
        ({"args": "x" * 5000}, 4, "CNI_ARGS has 5000 characters; 4096 are the most"),
        ({"config": "{"}, 6, "The network configuration is not JSON"),
        ({"config": "[" * 100_000}, 6, "The network configuration is not JSON"),
        ({"config": "[]"}, 6, "The network configuration is not a JSON object"),
        ({"config": "{}"}, 1, "cniVersion is None; supported are 0.3.1, 0.4.0, 1.0.0, 1.1.0"),
    ],
)
def test_what_is_not_valid_is_refused(changes: dict[str, Any], code: int, text: str) -> None:
    with pytest.raises(CniError) as caught:
        cni.parse(request(**changes))
    assert (caught.value.code, caught.value.text) == (code, text)


@pytest.mark.parametrize(("verb", "version"), [("CHECK", "0.3.1"), ("GC", "1.0.0"), ("STATUS", "1.0.0")])
def test_a_verb_that_is_newer_than_the_configuration_is_refused(verb: str, version: str) -> None:
    with pytest.raises(CniError) as caught:
        cni.parse(request(verb, version))
    assert caught.value.code is Code.VERSION


@given(st.dictionaries(st.sampled_from(sorted(request())), st.none() | st.text() | st.integers() | st.lists(st.text())))
def test_any_request_is_read_or_refused(changes: dict[str, Any]) -> None:
    document = request() | changes
    cni.deletion(document)
    assert cni.version_of(document) in cni.VERSIONS
    with contextlib.suppress(CniError):
        cni.parse(document)


def test_a_deletion_needs_nothing_but_container_and_interface() -> None:
    assert cni.deletion(request("DEL", config="{", netns="", args="=")) == ("c1", "net1")
    assert cni.deletion(request()) is None
    assert cni.deletion("DEL") is None


def test_the_result_has_the_form_of_its_version() -> None:
    addresses = (ip_interface("192.0.2.7/24"), ip_interface("2001:db8::7/64"))
    extras = Extras({0: "192.0.2.1"}, ({"dst": "198.51.100.0/24"},))
    assert json.loads(cni.result("1.1.0", addresses, extras)) == {
        "cniVersion": "1.1.0",
        "ips": [{"address": "192.0.2.7/24", "gateway": "192.0.2.1"}, {"address": "2001:db8::7/64"}],
        "routes": [{"dst": "198.51.100.0/24"}],
        "dns": {},
    }
    assert json.loads(cni.result("0.4.0", addresses, Extras({})))["ips"] == [
        {"version": "4", "address": "192.0.2.7/24"},
        {"version": "6", "address": "2001:db8::7/64"},
    ]


def test_an_error_has_code_message_and_details() -> None:
    error = CniError(Code.TRY_AGAIN, "The claim is not there", "Wait")
    expected = {"cniVersion": "0.4.0", "code": 11, "msg": "The claim is not there", "details": "Wait"}
    assert json.loads(cni.failure("0.4.0", error)) == expected
    assert cni.version_of(request(cni_version="0.3.1")) == "0.3.1"
    assert cni.version_of(None) == "1.1.0"


def test_the_verb_of_a_request() -> None:
    assert cni.verb_of({"command": "DEL"}) is Verb.DEL
    others: tuple[object, ...] = (None, {}, {"command": "VERSION"}, {"command": []})
    assert [cni.verb_of(one) for one in others] == [None] * 4


def test_valid_attachments() -> None:
    listed = [{"containerID": "a", "ifname": "net1"}]
    assert cni.valid_attachments({"cni.dev/valid-attachments": listed}) == {("a", "net1")}
    assert cni.valid_attachments({"cni.dev/attachments": listed}) == {("a", "net1")}
    assert cni.valid_attachments({"cni.dev/valid-attachments": None}) == frozenset()
    wrongs: tuple[dict[str, Any], ...] = (
        {},
        {"cni.dev/valid-attachments": {}},
        {"cni.dev/valid-attachments": [{"ifname": "net1"}]},
    )
    for wrong in wrongs:
        with pytest.raises(CniError):
            cni.valid_attachments(wrong)


def test_previous_addresses() -> None:
    listed = [{"address": "192.0.2.7/24"}, {"address": "nonsense"}, "nonsense", {}]
    assert cni.previous_addresses({"prevResult": {"ips": listed}}) == frozenset({ip_address("192.0.2.7")})
    assert cni.previous_addresses({"prevResult": {}}) is None
    with pytest.raises(CniError):
        cni.previous_addresses({})
