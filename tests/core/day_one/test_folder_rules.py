"""What is wrong between the node files of a folder."""

from __future__ import annotations

from nodenet.core.day_one.node_rules import Step, Summary, broken_together, judge, machine_config_size, stem

STATIC = """interfaces:
- name: {link}
  type: ethernet
  state: up
  ipv4:
    enabled: true
    address:
    - ip: {ip}
      prefix-length: 24
"""


def summary(name: str, text: str) -> Summary:
    found = judge(name, text.encode(), Step.SECOND).summary
    assert found is not None
    return found


def sentences(files: dict[str, str]) -> list[str]:
    found = broken_together({name: summary(name, text) for name, text in files.items()}, {name: name for name in files})
    return [f"{each.file}: {each.sentence()}" for each in found]


def static(ip: str, link: str = "enp2s0") -> str:
    return STATIC.format(ip=ip, link=link)


def test_good_files_are_good() -> None:
    files = {
        "master-0.yml": static("192.0.2.5"),
        "master-1.yml": static("192.0.2.6"),
        "cluster.yml": "interfaces: []\n",
    }
    assert sentences(files) == []


def test_an_address_of_two_hosts_is_named_in_the_second() -> None:
    assert sentences({"a.yml": static("192.0.2.5"), "b.yml": static("192.0.2.5")}) == [
        "b.yml: interfaces[0].ipv4.address[0].ip = 192.0.2.5: a.yml, line 8 gives another host the same address"
    ]


def test_the_whole_and_the_short_name_are_one_host() -> None:
    files = {"a.yml": static("192.0.2.5"), "a.example.com.yml": static("192.0.2.5")}
    assert sentences(files) == [
        "a.yml: the host a.example.com reads a.example.com.yml; this file is for other hosts named a only"
    ]


def test_link_local_and_loopback_addresses_may_repeat() -> None:
    files = {"a.yml": static("169.254.1.1"), "b.yml": static("169.254.1.1")}
    assert sentences(files) == []


def test_a_mac_address_of_two_hosts() -> None:
    text = "interfaces:\n- name: enp2s0\n  type: ethernet\n  mac-address: 52:54:00:00:00:01\n"
    assert sentences({"a.yml": text, "b.yml": text.replace("00:01", "00:01").upper().lower()}) == [
        "b.yml: a.yml, line 4 gives another host the MAC address 52:54:00:00:00:01"
    ]


def test_an_object_that_is_too_large_names_the_folder() -> None:
    (found,) = machine_config_size({"a.yml": Summary("a.yml", size=1 << 20)}, "nodes")
    assert (found.rule.word, found.file) == ("machine-config-too-large", "nodes")
    assert list(machine_config_size({"a.yml": Summary("a.yml", size=1000)}, "nodes")) == []


def test_stems_are_lower_case() -> None:
    assert stem("Master-0.YML") == "master-0"
