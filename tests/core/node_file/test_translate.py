"""libnmstate's words, translated: no name of a Rust type, no raw text, and a remedy where one is known."""

from __future__ import annotations

import pytest

from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.finding import MOST_SHOWN, Finding, Severity, errors, ordered, refusal, shown
from nodenet.core.node_file.secret import secrets_of
from nodenet.core.node_file.translate import CHECK, finding_of, translated
from nodenet.core.node_file.yaml_text import load


@pytest.mark.parametrize(
    ("words", "cause", "remedy"),
    [
        (
            'interface "eth0" (type ethernet): unknown field `adress`, expected one of `enabled`, `address`',
            "interface 'eth0': NMState has no key 'adress' here",
            "Did you mean `address`?",
        ),
        (
            "unknown variant `upp`, expected one of `up`, `down`",
            "'upp' is not a value that NMState knows",
            "Did you mean `up`?",
        ),
        ("missing field `name`", "`name` is missing", "Add the key `name`"),
        (
            "invalid digit found in string",
            "a whole number was expected",
            "Write a number without unit, fraction or other characters",
        ),
        (
            "Need to be boolean: 1|0|true|false|yes|no|on|off|y|n",
            "true or false was expected",
            "Write true or false",
        ),
        (
            "invalid length 3, expected struct InterfaceIp with 18 elements",
            "a mapping was expected",
            "Write its keys below it, each in a line, indented",
        ),
        (
            "invalid type: integer `5`, expected a string: quote the value to keep it a string",
            "a string was expected",
            "Write the value in quotes",
        ),
        (
            "Ethernet interface eth7 does not exists",
            "this host has no link eth7 of that type (Ethernet)",
            "Correct the name, or wait for the hardware",
        ),
        (
            "Verification failure: eth0.interface.ipv4.address desire '[{ip: 192.0.2.5}]', current '[]'",
            (
                "eth0 has none of its ipv4 addresses after the apply: "
                "NetworkManager does not use one that another host has"
            ),
            "Give this node an address of its own; `journalctl -b -u NetworkManager` names a conflict",
        ),
        (
            "Verification failure: eth0.interface.mtu desire '9000', current '1500'",
            "after the apply mtu of eth0 is 1500, and 9000 was asked for",
            "Compare the node file with the hardware: names of links, MTU, what the NIC can do",
        ),
        (
            'Route is odd: RouteEntry { state: None, destination: Some("192.0.2.0/24") }',
            "libnmstate reports: Route is odd: …",
            "",
        ),
        ("\x1b[31mred", "libnmstate reports: \\x1b[31mred", ""),
    ],
)
def test_words_of_libnmstate_are_translated(words: str, cause: str, remedy: str) -> None:
    """(R50)."""
    assert translated(words) == (cause, remedy)


def test_a_text_of_any_length_is_short_afterwards() -> None:
    assert len(translated("Verification failure: " + "x" * 1_000_000)[0]) < 400


TEXT = "interfaces:\n- name: eth0\n- name: eth1\n  ipv4:\n    wait: hunter2\n  libreswan: {psk: hunter2}\n"


def test_the_place_is_found_by_interface_and_key() -> None:
    """The crate knows neither line nor column of an interface's key."""
    document = load("w.yml", TEXT)
    failure = NmstateFailure(FailureKind.INVALID, 'interface "eth1" (type not given): unknown field `wait`')
    found = finding_of(failure, document, secrets_of(document))
    assert (found.line, found.column, found.key) == (5, 5, "interfaces[1].ipv4.wait")
    assert found.cause == "NMState has no key 'wait' here"


def test_what_is_not_understood_is_named_with_its_author_and_without_secrets() -> None:
    document = load("w.yml", TEXT)
    found = finding_of(NmstateFailure(FailureKind.INVALID, "no hunter2 today"), document, secrets_of(document))
    assert (found.cause, found.remedy, found.line) == ("libnmstate reports: no <hidden> today", CHECK, 0)


def test_a_kernel_without_the_module_of_a_link_is_named() -> None:
    """It was called a bug of libnmstate (A13)."""
    text = "Bug: Device(CreationFailed): {} failed to create resources: could not be created: Operation not supported"
    cause, remedy = translated(text.format("eth0.20"))
    assert cause == "the kernel of this host makes no VLAN, and so no eth0.20: it has no module 8021q"
    assert "modprobe 8021q" in remedy
    assert translated(text.format("vrf0"))[0].startswith("the kernel of this host cannot make vrf0")


# The words about a finding: one line each, in a fixed order.


LATER, EARLIER = Finding("second", "b", 9, 1, "k", "v"), Finding("first", "a", 3, 2)
WARNING = Finding("odd", "c", 1, severity=Severity.WARNING)


def test_findings_are_ordered_as_one_reads_each_once() -> None:
    assert ordered([LATER, EARLIER, LATER, WARNING]) == (WARNING, EARLIER, LATER)
    assert errors([WARNING, LATER]) == [LATER]


def test_the_refusal_names_the_first_and_counts_the_others() -> None:
    error = refusal("w.yml", [EARLIER, LATER])
    assert error.cause == "w.yml, line 3, column 2: first (and 1 more: `nodenetctl check FILE` shows them all)"
    assert error.remedy == "a"
    assert refusal("w.yml", [LATER]).cause == "w.yml, line 9, column 1: k = v: second"


def test_the_place_is_as_exact_as_it_is_known() -> None:
    assert [each.place("w.yml") for each in (WARNING, LATER, Finding("x", ""))] == [
        "w.yml, line 1",
        "w.yml, line 9, column 1",
        "w.yml",
    ]


def test_a_value_is_shown_in_short_and_printable() -> None:
    assert shown("") == "''"
    assert shown("\x1b[31m") == "\\x1b[31m"
    assert len(shown("x" * 5000)) == MOST_SHOWN
