"""Which rules does `nodenetctl day-one check` hold node files, install-config and hosts to?"""

from __future__ import annotations

import pytest

from core.day_one.trees import block
from nodenet.core.day_one.rules import (
    Found,
    Rule,
    document,
    named_for_another_tool,
    other_document,
    other_format,
    quotable,
    summary,
    template,
    text,
)


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


FOUND = Found(Rule.ADDRESS_TWICE, "nodes/b.yml", "a.yml has it, too", "Give each its own", 8, 11, "a.ip", "192.0.2.5")


def test_a_finding_shows_its_line() -> None:
    assert text([FOUND], lambda _file, _line: '    - ip: "192.0.2.5" # x') == (
        "error[address-twice]: a.ip = 192.0.2.5: a.yml has it, too\n"
        "  --> nodes/b.yml:8:11\n"
        "   |\n"
        '8  |     - ip: "192.0.2.5" # x\n'
        "   |           ^^^^^^^^^^^\n"
        "   = Give each its own\n"
    )


def test_a_finding_about_a_whole_file_has_no_line() -> None:
    found = Found(Rule.NO_HOST, "b.yml", "no host gets it", "Rename it")
    assert text([found], lambda _file, _line: "x") == (
        "warning[file-without-host]: no host gets it\n  --> b.yml\n   = Rename it\n"
    )


def test_a_line_that_is_gone_is_left_out_and_no_terminal_is_controlled() -> None:
    found = Found(Rule.NO_HOST, "b\x1b[2J.yml", "no host gets it", "Rename it", 3)
    assert text([found], lambda _file, _line: None) == (
        "warning[file-without-host]: no host gets it\n  --> b\\x1b[2J.yml:3\n   = Rename it\n"
    )


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("    password: hunter2", ""),
        ("    psk: hunter2", "interfaces[0].psk"),
        ("pullSecret: '{\"auths\": 1}'", ""),
        ("  bmc: {address: x, password: hunter2}", "name"),
        ("  nmstate: aW50ZXJ", ""),
        ("      source: data:,hunter2", ""),
        ("    hunter2", ""),
        ("- hunter2", ""),
        ("- hunter2", "interfaces[0].password[0]"),
        ("  passwrd: hunter2", ""),
        ("x" * 200 + ": 1", ""),
    ],
)
def test_what_may_hold_a_secret_is_not_quoted(line: str, key: str) -> None:
    assert quotable(line, key) is None


def test_credentials_in_an_address_are_left_out() -> None:
    assert quotable("address: redfish://admin:hunter2@192.0.2.1/x", "") == "address: redfish://…@192.0.2.1/x"


def test_the_last_line_counts() -> None:
    warning = Found(Rule.NO_DNS, "a", "b", "c")
    assert summary([FOUND, FOUND, warning], 3) == "3 files checked: 2 errors and 1 warning"
    assert summary([], 1) == "1 file checked: nothing found"


def test_json_has_every_part() -> None:
    found = document([FOUND], 2)
    assert (found["files"], found["errors"], found["warnings"]) == (2, 1, 0)
    assert found["findings"] == [
        {
            "rule": "address-twice", "severity": "error", "file": "nodes/b.yml", "line": 8, "column": 11, "key": "a.ip",
            "value": "192.0.2.5", "cause": "a.yml has it, too", "remedy": "Give each its own",
        }
    ]  # fmt: skip
