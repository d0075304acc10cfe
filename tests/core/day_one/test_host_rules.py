"""Hosts beside each other, beside their node files, and inside the cluster's networks."""

from __future__ import annotations

from pathlib import PurePosixPath

from core.day_one.test_node_rules import static, summary
from core.day_one.trees import block
from nodenet.core.day_one.host_rules import (
    Manifest,
    among_each_other,
    file_of,
    machine_configs,
    of_network_config,
    secrets,
    with_files,
    without_host,
)
from nodenet.core.day_one.machine_config import Cluster, bare_metal_hosts, cluster_of, render
from nodenet.core.day_one.manifests import secret
from nodenet.core.day_one.reading import CarriedFile

TEXT = """networking:
  machineNetwork:
  - cidr: 192.0.2.0/24
platform:
  baremetal:
    apiVIPs: [192.0.2.2]
    hosts:
    - name: a
      bootMACAddress: 52:54:00:00:00:01
    - name: b.example.com
      bootMACAddress: 52:54:00:00:00:02
"""


def cluster(text: str = TEXT) -> Cluster:
    found = cluster_of("i.yaml", block(text))[0]
    assert found is not None
    return found


def sentences(text: str, files: dict[str, str]) -> list[str]:
    site = cluster(text)
    known = {name: summary(name, content) for name, content in files.items()}
    found = [
        *among_each_other(site.hosts),
        *with_files(site.hosts, known, {}, site),
        *without_host(site.hosts, known, {}),
    ]
    return [f"{each.file}: {each.sentence()}" for each in found]


def test_a_host_finds_its_file_by_whole_or_short_name_or_map() -> None:
    files = {"a.yml": 1, "b.yaml": 1, "rack-7.yml": 1}
    assert file_of("A", files, {}) == "a.yml"
    assert file_of("b.example.com", files, {}) == "b.yaml"
    assert file_of("c", files, {"c": "rack-7.yml"}) == "rack-7.yml"
    assert file_of("c", files, {}) is None


def test_an_address_outside_the_machine_network_and_one_that_is_a_vip() -> None:
    assert sentences(TEXT, {"a.yml": static("198.51.100.5"), "b.yml": static("192.0.2.2")}) == [
        (
            "a.yml: interfaces[0].ipv4.address[0].ip = 198.51.100.5: "
            "the address is outside networking.machineNetwork (192.0.2.0/24)"
        ),
        "b.yml: interfaces[0].ipv4.address[0].ip = 192.0.2.2: this is a VIP of the cluster",
    ]


def test_names_and_mac_addresses_that_two_hosts_share() -> None:
    text = TEXT.replace("b.example.com", "a").replace("00:02", "00:01")
    assert sentences(text, {"a.yml": static("192.0.2.5")}) == [
        "i.yaml: name = a: another host has this name, in i.yaml, line 8"
    ]
    text = TEXT.replace("00:02", "00:01")
    assert sentences(text, {"a.yml": static("192.0.2.5"), "b.yml": static("192.0.2.6")}) == [
        "i.yaml: bootMACAddress = 52:54:00:00:00:01: a has the same address, in i.yaml, line 8"
    ]


def test_a_file_without_host_and_a_host_without_file() -> None:
    assert sentences(TEXT, {"a.yml": static("192.0.2.5"), "c.yml": static("192.0.2.6")}) == [
        "i.yaml: the host b.example.com has no node file, and there is no cluster.yml",
        "c.yml: no host of install-config and hosts gets this file",
    ]


def test_a_network_config_is_judged_at_its_place() -> None:
    link = "        - name: enp2s0\n          type: ethernet\n          sate: up\n"
    own = f"      networkConfig:\n        interfaces:\n{link}"
    site = cluster(TEXT.replace("    - name: b", own + "    - name: b"))
    (found,) = (each for host in site.hosts for each in of_network_config(host))
    assert (found.sentence(), found.line) == ("a: networkConfig.interfaces[0].sate: NMState has no such key here", 14)


# MachineConfigs beside each other and beside the folder; Secrets of BareMetalHosts.


DIRECTORY = PurePosixPath("/etc/nmstate/openshift")
FILE = CarriedFile(DIRECTORY / "a.yml", static("192.0.2.5").encode())


def manifest(text: str, file: str = "mc.yaml") -> Manifest:
    return Manifest(file, block(text))


def words(manifests: list[Manifest], node_file: str) -> list[str]:
    return [each.cause for each in machine_configs(manifests, {"a.yml": summary("a.yml", node_file)}, DIRECTORY)]


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
