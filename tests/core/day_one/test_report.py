"""Findings for people and as JSON; no secret is quoted."""

from __future__ import annotations

import pytest

from nodenet.core.day_one.rules import Found, Rule, document, quotable, summary, text

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
