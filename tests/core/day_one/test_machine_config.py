"""A MachineConfig carries node files, and they are read back byte for byte."""

from pathlib import Path, PurePosixPath

import pytest
from hypothesis import given
from ruamel.yaml import YAML

from core.day_one.test_ignition import FILES
from nodenet.core.day_one.files import ArtefactInvalid, CarriedFile
from nodenet.core.day_one.machine_config import MOST_BYTES, files_in, is_name, place_of, render

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
