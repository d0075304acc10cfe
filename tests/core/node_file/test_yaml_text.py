"""YAML: every scalar as it is written, with its place; no file costs minutes or ends the daemon."""

from __future__ import annotations

import time

import pytest

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file.yaml_text import MOST_VALUES, Block, Misread, Scalar, load, plain, typed


def block(text: str) -> Block:
    node = load("w.yml", text)
    assert isinstance(node, Block)
    return node


def refusal(text: str) -> Misread:
    with pytest.raises(NodeFileInvalid) as caught:
        load("w.yml", text)
    assert isinstance(caught.value, Misread)
    assert caught.value.remedy
    return caught.value


def test_scalars_stay_as_they_are_written_and_have_places() -> None:
    node = block("interfaces:\n- name: 010\n  mac: 52:54:05:00:23:48\n  quoted: '1e3'\n")
    (link,) = node.entries[0][1].items  # type: ignore[union-attr]
    assert isinstance(link, Block)
    assert link.get("name") == Scalar("010", 2, 9)
    assert link.get("mac") == Scalar("52:54:05:00:23:48", 3, 8)
    assert link.get("quoted") == Scalar("1e3", 4, 11, plain=False)
    assert link.get("absent") is None


@pytest.mark.parametrize("text", ["", "# only a remark\n", "---\n", "~\n", "null"])
def test_a_file_of_comments_has_no_document(text: str) -> None:
    node = load("w.yml", text)
    assert node is None or plain(node) is None


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("%YAML 1.3\n---\na: b\n", "w.yml, line 1: YAML version '1.3' is not known"),
        ("# x\n%YAML 3.0\n---\na: b\n", "w.yml, line 2: YAML version '3.0' is not known"),
        ("a: b\n[[ mtu ]]: 9000\n", "w.yml, line 2, column 1: a placeholder of a template was not filled in"),
        ("- name: {{ link }}\n", "w.yml, line 1, column 10: a placeholder of a template was not filled in"),
        ("? [a]\n: b\n", "w.yml, line 1, column 3: a key must be a plain word"),
        ('d: "\\U00110000"\n', "w.yml, line 1, column 1: the YAML parser cannot read on from here (ValueError)"),
        ("\ufeffa: b\n", "w.yml, line 1, column 1: the file begins with a byte order mark (U+FEFF)"),
        ("a: 1\n---\nb: 2\n", "w.yml, line 2, column 1: a second document begins"),
        ("a: b\nb: \0", "w.yml, line 2, column 4: the character U+0000 is not allowed in YAML"),
        ("a: &x\n  b: *x\n", "w.yml, line 2, column 6: an alias (`*name`) has no anchor (`&name`) before it"),
        ("a: [1\nb: 2\n", "w.yml, line 2, column 2: expected ',' or ']', but got ':'"),
        ("[" * 5000, "w.yml, line 1, column 34: nested deeper than 32 levels"),
    ],
)
def test_whatever_the_parser_raises_is_one_error_with_the_place(text: str, cause: str) -> None:
    """AssertionError, ValueError, AttributeError and TypeError of the parser ended the daemon (R42, R50)."""
    assert refusal(text).cause == cause


@pytest.mark.parametrize("text", ["a: *hunter2\n", "a: !foo!hunter2 x\n", "password: 'hunter2\n", "a: 'hunter2' 'b'\n"])
def test_the_parser_quotes_nothing_of_the_file(text: str) -> None:
    """It may be a secret (R46)."""
    assert "hunter2" not in str(refusal(text))


def test_nested_aliases_are_counted_before_they_are_walked() -> None:
    """592 bytes stood for 500 milliards of values, and the loop for forty seconds (R43)."""
    bomb, before = "a: &a [" + ",".join("x" * 20) + "]\n", "a"
    for name in "bcdefghi":
        bomb += f"{name}: &{name} [{','.join([f'*{before}'] * 20)}]\n"
        before = name
    began = time.monotonic()
    assert refusal(bomb).words == f"more than {MOST_VALUES} values, those that aliases repeat included"
    assert time.monotonic() - began < 0.2


def test_a_key_that_is_there_twice_is_kept_once_and_noted() -> None:
    """The other mistakes of the file are found all the same."""
    node = block("a: 1\nb: 2\na: [3, 4]\n")
    assert plain(node) == {"a": "1", "b": "2"}
    assert [(key.line, first) for key, first in node.doubled] == [(3, 1)]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("010", "010"), ("1e3", 1000.0), ("0x1F", 31), ("0o17", 15), ("-7", -7), ("+4912", 4912), ("1_000", "1_000")),
        *(("yes", "yes"), ("true", True), ("FALSE", False), ("~", None), ("2024-01-01", "2024-01-01"), ("", None)),
        *(("52:54:05:00:23:48", "52:54:05:00:23:48"), ("1.5", 1.5), (".5", 0.5), ("9" * 5000, "9" * 5000)),
    ],
)
def test_a_plain_scalar_means_what_yaml_1_2_says(text: str, value: object) -> None:
    """A YAML 1.1 parser makes 8 of 010, a date of 2024-01-01, and a number of a MAC address (R47)."""
    assert typed(text) == value
    assert type(typed(text)) is type(value)


def test_the_document_for_a_binding_without_text_keeps_strings_outside_interfaces() -> None:
    """The crate reads them as strings there, so that both libraries give the same verdict (R47)."""
    text = "description: 5\ninterfaces: [{name: '5', mtu: 9000}]\nroutes: {config: [{metric: 7}]}\n"
    assert plain(load("w.yml", text)) == {
        "description": "5",
        "interfaces": [{"name": "5", "mtu": 9000}],
        "routes": {"config": [{"metric": "7"}]},
    }


# Scalars of YAML 1.2 as a libnmstate that takes no text gets them.


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("010", "010"),
        ("0x10", 16),
        ("0o17", 15),
        ("-3", -3),
        ("1e3", 1000.0),
        ("true", True),
        ("yes", "yes"),
        ("null", None),
        ("52:54:05:00:23:48", "52:54:05:00:23:48"),
        ("2026-11-22", "2026-11-22"),
        ("9" * 50, "9" * 50),
    ],
)
def test_a_scalar_of_yaml_1_2_has_its_type(text: str, value: object) -> None:
    found = typed(text)
    assert (found, type(found)) == (value, type(value))


def test_below_interfaces_scalars_are_typed_and_elsewhere_they_are_text() -> None:
    text = "hostname:\n  config: 010\ninterfaces:\n- name: '1'\n  mtu: 1500\n  ipv4: {enabled: true}\n"
    assert plain(load("a.yml", text)) == {
        "hostname": {"config": "010"},
        "interfaces": [{"name": "1", "mtu": 1500, "ipv4": {"enabled": True}}],
    }
