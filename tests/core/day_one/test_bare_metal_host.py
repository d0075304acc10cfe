"""The Secret of a host carries its node file; names are those that Kubernetes takes."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from nodenet.core.day_one.manifests import FIELD, content_in, host_patch, named, secret, secret_name
from nodenet.core.day_one.reading import ArtefactInvalid


@given(st.binary(max_size=300))
def test_the_node_file_comes_back(content: bytes) -> None:
    found = YAML(typ="safe", pure=True).load(secret("worker-2", content))
    assert found["metadata"] == {"name": "worker-2-network-config-secret", "namespace": "openshift-machine-api"}
    assert content_in(found) == content


def test_string_data_is_read() -> None:
    assert content_in({"kind": "Secret", "stringData": {"nmstate": "interfaces: []\n"}}) == b"interfaces: []\n"


def test_the_host_names_its_secret() -> None:
    found = YAML(typ="safe", pure=True).load(host_patch("worker-2"))
    assert found["spec"] == {"preprovisioningNetworkDataName": "worker-2-network-config-secret"}


@pytest.mark.parametrize("host", ["", "Worker", "a_b", "a\nb", "-a", "a" * 300, "a b"])
def test_a_name_that_kubernetes_refuses_is_refused(host: str) -> None:
    with pytest.raises(ArtefactInvalid, match="is not a valid name of a BareMetalHost"):
        secret_name(host)


@pytest.mark.parametrize("found", [None, {}, {"kind": "Secret"}, {"kind": "Secret", "data": {"nmstate": "%"}}])
def test_what_holds_no_node_file_is_refused(found: object) -> None:
    with pytest.raises(ArtefactInvalid):
        content_in(found)


# A BareMetalHost gets the name of its Secret, and every other byte stays.


HOST = "apiVersion: metal3.io/v1alpha1\nkind: BareMetalHost\nmetadata:\n  name: {name}\nspec:\n  online: true\n"
LINE = f"  {FIELD}: w-network-config-secret\n"
SECRET = "w-network-config-secret"  # noqa: S105 - the name of an object


@settings(deadline=None)  # a pure-Python parser on a busy machine
@given(
    st.lists(st.sampled_from((HOST.format(name="v"), "kind: Secret\ndata: {a: b}\n", "# nothing\n", "")), max_size=3),
    st.sampled_from(("", "# the host\n\n", "---\n")),
    st.sampled_from(("", "  extra: &x [1, 'it''s'] # kept\n", "  note: |\n    two\n\n    lines\n", "status: {}\n")),
    st.sampled_from(("\n", "\r\n")),
)
def test_only_one_line_is_added(others: list[str], head: str, tail: str, newline: str) -> None:
    own = (HOST.format(name="w") + tail).replace("\n", newline)
    text = head.replace("\n", newline) + f"---{newline}".join([*(each.replace("\n", newline) for each in others), own])
    made = named(text, "w", SECRET)
    assert made == text.replace(own, own.replace(f"spec:{newline}", f"spec:{newline}{LINE[:-1]}{newline}"))
    assert named(made, "w", SECRET) == made


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "has no BareMetalHost w"),
        (HOST.format(name="v"), "has no BareMetalHost w"),
        (HOST.format(name="w") + "---\n" + HOST.format(name="w"), "has the BareMetalHost w 2 times"),
        (
            HOST.format(name="w").replace("  online: true\n", "").replace("spec:", "spec: {}"),
            "line 5: `spec` of w is not a mapping with a key a line",
        ),
        (HOST.format(name="w") + f"  {FIELD}: other\n", f"line 7: w names another Secret: remove `{FIELD}`"),
    ],
)
def test_what_cannot_be_named_is_refused(text: str, problem: str) -> None:
    with pytest.raises(ArtefactInvalid) as caught:
        named(text, "w", SECRET)
    assert str(caught.value) == problem
