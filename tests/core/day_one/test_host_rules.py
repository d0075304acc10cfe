"""Hosts beside each other, beside their node files, and inside the cluster's networks."""

from __future__ import annotations

from core.day_one.test_folder_rules import static, summary
from core.day_one.trees import block
from nodenet.core.day_one.host_rules import among_each_other, file_of, of_network_config, with_files, without_host
from nodenet.core.day_one.hosts import Cluster, cluster_of

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


def test_good_hosts_are_good() -> None:
    assert sentences(TEXT, {"a.yml": static("192.0.2.5"), "b.yml": static("192.0.2.6")}) == []


def test_an_address_outside_the_machine_network_and_one_that_is_a_vip() -> None:
    assert sentences(TEXT, {"a.yml": static("198.51.100.5"), "b.yml": static("192.0.2.2")}) == [
        (
            "a.yml: interfaces[0].ipv4.address[0].ip = 198.51.100.5: "
            "the address is outside networking.machineNetwork (192.0.2.0/24)"
        ),
        "b.yml: interfaces[0].ipv4.address[0].ip = 192.0.2.2: this is a VIP of the cluster",
    ]


def test_a_second_nic_may_be_elsewhere() -> None:
    route = (
        "routes:\n  config:\n  - {destination: 0.0.0.0/0, next-hop-address: 192.0.2.1, next-hop-interface: enp2s0}\n"
    )
    storage = static("198.51.100.5", "enp3s0").removeprefix("interfaces:\n")
    files = {"a.yml": static("192.0.2.5") + storage + route, "b.yml": static("192.0.2.6")}
    assert sentences(TEXT, files) == []


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
