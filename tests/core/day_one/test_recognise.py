"""Files of other tools are recognised, and answered with what to do."""

from __future__ import annotations

import pytest

from core.day_one.trees import block
from nodenet.core.day_one.rules import Rule, named_for_another_tool, other_document, other_format, template


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[connection]\nid=eth0\n", "this is a keyfile of NetworkManager"),
        ("# made by us\n[connection]\nid=eth0\n", "this is a keyfile of NetworkManager"),
        ("DEVICE=eth0\nONBOOT=yes\n", "this is an ifcfg file"),
    ],
)
def test_other_formats(text: str, words: str) -> None:
    found = other_format("a.yml", text)
    assert found is not None
    assert (found.rule, found.cause) == (Rule.OTHER_TOOL, words)


@pytest.mark.parametrize("text", ["interfaces: []\n", "# [connection]\n", "", "type=x: 1\n"])
def test_a_node_file_is_not_one_of_them(text: str) -> None:
    assert other_format("a.yml", text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "apiVersion: v1\nkind: NodeNetworkConfigurationPolicy\n",
            "a Kubernetes manifest (NodeNetworkConfigurationPolicy)",
        ),
        ("apiVersion: v1\nkind: NMStateConfig\n", "a Kubernetes manifest (NMStateConfig)"),
        ("apiVersion: v1\nkind: MachineConfig\n", "a Kubernetes manifest (MachineConfig)"),
        ("apiVersion: v1\nkind: Deployment\n", "a Kubernetes manifest (Deployment)"),
        ("baseDomain: example.com\n", "an install-config"),
        ("network: {version: 2, ethernets: {}}\n", "a netplan or cloud-init network configuration"),
    ],
)  # fmt: skip
def test_documents_of_other_tools(text: str, words: str) -> None:
    found = other_document("a.yml", block(text))
    assert found is not None
    assert found.cause == f"this is {words}, not a node file"
    assert found.remedy


@pytest.mark.parametrize("text", ["interfaces: []\n", "variant: x\n", "- a\n"])
def test_other_documents_are_left_to_the_rules_of_nmstate(text: str) -> None:
    assert other_document("a.yml", block(text)) is None


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("a: 1\nname: {{ nic }}\n", (2, 7)),
        ("a: {% if x %}\n", (1, 4)),
        ("a: <%= x %>\n", (1, 4)),
        ("a: ${NIC}\n", (1, 4)),
        ("# {{ x }}\na: {{x}}\n", (2, 4)),
    ],
)
def test_placeholders_are_found(text: str, place: tuple[int, int]) -> None:
    found = template("a.yml", text)
    assert found is not None
    assert (found.rule, found.line, found.column) == (Rule.TEMPLATE, *place)


@pytest.mark.parametrize("text", ["a: {b: {c: 1}}\n", "# {{ x }}\n", 'a: "{{ capture.x }}"\n', "password: a${b}c\n"])
def test_what_only_looks_like_one_is_not(text: str) -> None:
    assert template("a.yml", text) is None


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("ifcfg-eth0", Rule.OTHER_TOOL),
        ("eth0.nmconnection", Rule.OTHER_TOOL),
        ("master-0.yml.j2", Rule.TEMPLATE),
    ],
)
def test_names_of_other_tools(name: str, rule: Rule) -> None:
    found = named_for_another_tool(name)
    assert found is not None
    assert found[0] is rule


def test_other_names_are_nobodys_business() -> None:
    assert [named_for_another_tool(name) for name in ("README.md", "master-0.yml", ".gitkeep")] == [None] * 3
