"""A MachineConfig carries node files, and they are read back byte for byte."""

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from core.day_one.test_ignition import FILES
from core.day_one.trees import block
from nodenet.core.day_one.machine_config import (
    MOST_BYTES,
    Cluster,
    cluster_of,
    files_in,
    hint_file,
    is_name,
    place_of,
    render,
    settings_of,
)
from nodenet.core.day_one.reading import ArtefactInvalid, CarriedFile
from nodenet.core.node_ip.policy import parse_environment
from nodenet.core.settings.parse import parse

DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"


def read(text: str) -> object:
    return YAML(typ="safe", pure=True).load(text)


@given(FILES)
def test_files_come_back_and_the_bytes_are_stable(files: list[CarriedFile]) -> None:
    text = render(files, "master")
    assert text == render(reversed(files), "master")
    assert files_in(read(text)) == tuple(sorted(files, key=lambda file: file.path))


def test_the_seeds_shape() -> None:
    files = [CarriedFile(DIRECTORY / path.name, path.read_bytes()) for path in SEED.glob("*.yml")]
    found = read(render(files, "master"))
    assert isinstance(found, dict)
    assert found["metadata"] == {
        "labels": {"machineconfiguration.openshift.io/role": "master"},
        "name": "10-nodenet-master",
    }
    assert found["spec"]["config"]["ignition"] == {"version": "3.2.0"}
    entry = found["spec"]["config"]["storage"]["files"][0]
    assert (entry["mode"], entry["overwrite"], entry["path"]) == (
        420,
        True,
        "/etc/nmstate/openshift/ostest-master-0.yml",
    )


def test_one_that_etcd_would_refuse_is_refused_here() -> None:
    with pytest.raises(ArtefactInvalid, match=rf"{MOST_BYTES} are the most: split the nodes into pools$"):
        render([CarriedFile(DIRECTORY / "a.yml", b"#" * MOST_BYTES)], "master")


@pytest.mark.parametrize(
    ("found", "problem"),
    [
        ([], "$.kind is []; expected MachineConfig"),
        ({"kind": "MachineConfig"}, "$.apiVersion is None; expected machineconfiguration.openshift.io/v1"),
        (
            {"kind": "MachineConfig", "apiVersion": "machineconfiguration.openshift.io/v1", "spec": {}},
            "$.spec.config is not a mapping",
        ),
    ],
)
def test_what_is_none_is_refused(found: object, problem: str) -> None:
    with pytest.raises(ArtefactInvalid) as caught:
        files_in(found)
    assert str(caught.value) == problem


@pytest.mark.parametrize(
    ("text", "good"), [("master", True), ("10-x.y", True), ("", False), ("A", False), ("a\nb", False)]
)
def test_names_are_those_of_kubernetes(text: str, good: bool) -> None:  # noqa: FBT001
    assert is_name(text) is good


def test_node_files_are_extracted_by_name_and_others_by_path() -> None:
    assert place_of(DIRECTORY / "a.yml", DIRECTORY) == PurePosixPath("a.yml")
    assert place_of(PurePosixPath("/etc/nodenet/x.toml"), DIRECTORY) == PurePosixPath("etc/nodenet/x.toml")
    assert place_of(PurePosixPath("//etc/passwd"), DIRECTORY) == PurePosixPath("etc/passwd")


# A hint becomes the file that nodenetd reads as this hint.


@pytest.mark.parametrize("hint", ["192.0.2.5", "192.0.2.0/24", "2001:db8::5", "enp2s0", "192.0.2.5 2001:db8::5"])
def test_it_is_read_back(hint: str) -> None:
    file = hint_file(hint)
    reading = parse_environment(file.content.decode(), str(file.path))
    assert ([each.text for each in reading.hints], reading.problems) == (hint.split(), ())


@pytest.mark.parametrize("hint", ["", "  ", "192.0.2.300", "fe80::1%eth0"])
def test_what_is_no_hint_is_refused(hint: str) -> None:
    with pytest.raises(ArtefactInvalid):
        hint_file(hint)


# The settings that follow from install-config are those that nodenetd reads back.


ADDRESSES = st.ip_addresses(v=4, network="10.0.0.0/8").map(str)


def cluster(text: str) -> Cluster:
    found = cluster_of("install-config.yaml", block(text))[0]
    assert found is not None
    return found


@given(
    st.sampled_from(("baremetal", "vsphere", "openstack", "nutanix")),
    ADDRESSES,
    ADDRESSES,
    st.sampled_from(("OVNKubernetes", "Calico")),
    st.booleans(),
)
def test_they_are_read_back(platform: str, api: str, ingress: str, network: str, managed: bool) -> None:  # noqa: FBT001
    balancer = "\n    loadBalancer:\n      type: UserManaged" if managed else ""
    text = (
        f"baseDomain: example.com\nmetadata:\n  name: lab\nnetworking:\n  networkType: {network}\n"
        f"platform:\n  {platform}:\n    apiVIPs:\n    - {api}\n    ingressVIPs:\n    - {ingress}{balancer}\n"
    )
    file = settings_of(cluster(text))
    assert file == settings_of(cluster(text))
    found = parse([(str(file.path), file.content)]).settings
    assert (found.platform, found.network_type, found.cluster_domain) == (platform, network, "lab.example.com")
    assert [str(vip) for vip in (*found.api_vips, *found.ingress_vips)] == [api, ingress]
    assert found.user_managed_lb is managed


def test_what_nodenetd_refuses_is_refused_here() -> None:
    with pytest.raises(ArtefactInvalid, match=r"^nodenetd would refuse these settings: .*platform = 'mainframe'"):
        settings_of(cluster("platform:\n  mainframe: {}\n"))
