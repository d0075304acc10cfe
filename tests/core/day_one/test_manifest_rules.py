"""MachineConfigs beside each other and beside the folder; Secrets of BareMetalHosts."""

from __future__ import annotations

from pathlib import PurePosixPath

from core.day_one.test_folder_rules import static, summary
from core.day_one.trees import block
from nodenet.core.day_one.bare_metal_host import secret
from nodenet.core.day_one.files import CarriedFile
from nodenet.core.day_one.host_rules import Manifest, machine_configs, secrets
from nodenet.core.day_one.hosts import bare_metal_hosts
from nodenet.core.day_one.machine_config import render

DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
FILE = CarriedFile(DIRECTORY / "a.yml", static("192.0.2.5").encode())


def manifest(text: str, file: str = "mc.yaml") -> Manifest:
    return Manifest(file, block(text))


def words(manifests: list[Manifest], node_file: str) -> list[str]:
    return [each.cause for each in machine_configs(manifests, {"a.yml": summary("a.yml", node_file)}, DIRECTORY)]


def test_one_that_carries_the_folder_is_good() -> None:
    made = manifest(render([FILE], "master"))
    assert (made.name, made.role) == ("10-nodenet-master", "master")
    assert words([made], static("192.0.2.5")) == []


def test_two_of_a_role_must_not_write_one_file() -> None:
    both = [manifest(render([FILE], "master")), manifest(render([FILE], "master", "20-x"), "x.yaml")]
    assert words(both, static("192.0.2.5")) == [
        "20-x writes /etc/nmstate/openshift/a.yml, and so does 10-nodenet-master in mc.yaml"
    ]
    assert words([both[0], manifest(render([FILE], "worker"))], static("192.0.2.5")) == []


def test_other_content_than_the_folder_is_said() -> None:
    assert words([manifest(render([FILE], "master"))], static("192.0.2.6")) == [
        "10-nodenet-master has other content for a.yml than a.yml"
    ]


def test_one_that_cannot_be_read_is_said() -> None:
    text = "apiVersion: machineconfiguration.openshift.io/v1\nkind: MachineConfig\nspec: {}\n"
    assert words([manifest(text)], static("192.0.2.5")) == ["$.spec.config is not a mapping"]


def test_a_secret_that_gives_the_host_something_else_is_said() -> None:
    host = block(
        "kind: BareMetalHost\nmetadata: {name: a}\nspec: {preprovisioningNetworkDataName: a-network-config-secret}\n"
    )
    hosts, _ = bare_metal_hosts("h.yaml", [host])
    files = {"a.yml": summary("a.yml", static("192.0.2.5"))}
    same = manifest(secret("a", FILE.content))
    assert list(secrets(hosts, [same], files, {})) == []
    (found,) = secrets(hosts, [manifest(secret("a", static("192.0.2.6").encode()))], files, {})
    assert found.cause == "a has the address 192.0.2.6/24 here, and 192.0.2.5/24 in a.yml"
    (lost,) = secrets(hosts, [], files, {})
    assert lost.cause == "the Secret a-network-config-secret of a is not in the file"
    (empty,) = secrets(hosts, [manifest(secret("a", b"hello"))], files, {})
    assert empty.cause == "Secret a-network-config-secret: its document is not an NMState document"
