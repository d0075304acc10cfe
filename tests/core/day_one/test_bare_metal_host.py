"""The Secret of a host carries its node file; names are those that Kubernetes takes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from nodenet.core.day_one.bare_metal_host import content_in, host_patch, secret, secret_name
from nodenet.core.day_one.files import ArtefactInvalid


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
