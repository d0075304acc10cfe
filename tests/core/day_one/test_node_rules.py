"""One node file, judged on its own for either step."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import pytest

from core.day_one.trees import block
from nodenet.core.day_one.node_rules import (
    Shape,
    Step,
    Summary,
    broken_together,
    judge,
    machine_config_size,
    shape_of,
    stem,
)
from nodenet.core.day_one.rules import Found, Group, Rule, of, ordered
from nodenet.core.node_file.finding import Finding, Severity

SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"


@pytest.mark.parametrize("path", sorted(SEED.rglob("*.yml")), ids=lambda path: path.name)
def test_the_seeds_documents_break_no_rule(path: Path) -> None:
    known = judge("a.yml", path.read_bytes(), Step.BOTH)
    assert known.findings == ()
    assert known.summary is not None


def test_both_steps_give_a_host_the_same() -> None:
    first = (SEED / "ostest-master-0.yml").read_text()
    second = (SEED / "br-ex" / "master-0.yml").read_text()
    expected = Shape(frozenset({"192.168.111.110/24"}), frozenset({"192.168.111.1"}), frozenset({"enp2s0"}))
    assert shape_of(block(first)) == shape_of(block(second)) == expected


@pytest.mark.parametrize(
    ("content", "rule"),
    [
        (b"a: \xff\n", "not-text"),
        ("\ufeffa: 1\n".encode(), "not-text"),
        (b"a: [\n", "not-yaml"),
        (b"- a\n", "no-document"),
        (b"baseDomain: example.com\n", "other-tool"),
        (b"a: {{ x }}\n", "template-not-rendered"),
        (b"capture: {a: all}\ndesired: {interfaces: []}\n", "policy"),
    ],
)
def test_what_cannot_be_judged_further_is_one_finding(content: bytes, rule: str) -> None:
    known = judge("a.yml", content, Step.BOTH)
    assert [each.rule.word for each in known.findings] == [rule]


def test_an_empty_file_asks_for_nothing() -> None:
    known = judge("a.yml", b"# later\n", Step.BOTH)
    assert known.summary is not None
    assert (known.findings, known.summary.empty) == ((), True)


def test_why_the_first_step_cannot_be_derived_is_said_at_the_bridge() -> None:
    content = (SEED / "br-ex" / "master-0.yml").read_bytes().replace(b"    - name: enp2s0\n", b"")
    (found,) = [each for each in judge("a.yml", content, Step.BOTH).findings if "step" in each.rule.word]
    assert found.cause == ("the first step cannot be derived: bridge br-ex: one link below it is expected, found none")
    assert (found.remedy, found.line) == ("Write this step by hand", 9)


# What is wrong between the node files of a folder.


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


# The names of the rules are what people put into their notes: plain, unique, and the same for ever.


def test_names_are_plain_and_unique() -> None:
    words = [rule.word for rule in Rule]
    assert len(set(words)) == len(words)
    assert [word for word in words if not re.fullmatch(r"[a-z]+(-[a-z]+)*", word)] == []


def test_every_group_has_rules_of_both_kinds_somewhere() -> None:
    assert {rule.group for rule in Rule} == set(Group)
    assert {rule.severity for rule in Rule} == set(Severity)


def test_a_rule_travels_between_processes() -> None:
    assert [pickle.loads(pickle.dumps(rule)) for rule in Rule] == list(Rule)  # noqa: S301 - our own bytes


# A finding has its place, quotes the value, and is there once.


def test_findings_of_a_node_file_keep_place_and_words() -> None:
    (found,) = of(Rule.NMSTATE_KEY, "f.yml", [Finding("wrong", "Mend it", 3, 4, "a", "b")])
    assert found == Found(Rule.NMSTATE_KEY, "f.yml", "wrong", "Mend it", 3, 4, "a", "b")
    (named,) = of(Rule.KEY_TWICE, "f.yml", [Finding("a is there twice", "Mend it", 3, 4, "a", names_its_key=True)])
    assert named.sentence() == "a is there twice"


def test_they_are_in_order_and_once() -> None:
    first, second = Found(Rule.NO_DNS, "a", "x", "y", 2), Found(Rule.NO_DNS, "b", "x", "y", 1)
    assert ordered([second, first, second]) == [first, second]
