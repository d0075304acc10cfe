"""A JSON document from outside is read field by field; a wrong one names the path, the value and what was expected."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address

import pytest

from nodenet.core.errors import SnapshotInvalid
from nodenet.core.ip import Family
from nodenet.core.json_reader import MOST_SHOWN, Node, load


def node(**fields: object) -> Node:
    return Node(dict(fields), "$.x", "Mend it")


def test_fields_are_read_with_their_types_and_defaults() -> None:
    found = node(a="text", b=7, c=True, d=1.5, e=["x"], f={"k": "v"}, g=None)
    assert (found.get("a", str, ""), found.get("b", int, 0), found.get("c", bool, default=False)) == ("text", 7, True)
    assert (found.get("b", float, 0.0), found.get("d", float, 0.0), found.get("g", int, 3)) == (7, 1.5, 3)
    assert (found.strings("e"), found.texts("f"), found.maybe("z", str)) == (("x",), {"k": "v"}, None)


def test_objects_below_know_their_path() -> None:
    found = node(a={"b": 1}, c=[{"d": 1}, {}, {"e": 2}], f={"g": {}})
    below = found.child("a")
    assert below is not None
    assert (below.path, found.child("z")) == ("$.x.a", None)
    assert [each.path for each in found.children("c")] == ["$.x.c[0]", "$.x.c[2]"]
    assert [(name, each.path) for name, each in found.nodes("f")] == [("g", "$.x.f.g")]


@pytest.mark.parametrize(
    ("read", "problem"),
    [
        (lambda: node(a=1).get("a", str, ""), "1 at $.x.a, a string was expected"),
        (lambda: node(a=True).get("a", int, 0), "true at $.x.a, a number was expected"),
        (lambda: node(a="").text("a"), '"" at $.x.a, a string was expected'),
        (lambda: node(a=[1]).strings("a"), "1 at $.x.a[0], a string was expected"),
        (lambda: node(a={"k": 1}).texts("a"), "1 at $.x.a.k, a string was expected"),
        (lambda: node(a=[]).child("a"), "[] at $.x.a, an object was expected"),
        (lambda: node(a=9).whole("a", 0, 8), "9 at $.x.a, a number from 0 to 8 was expected"),
        (lambda: node(a="x").address("a"), '"x" at $.x.a, an IP address was expected'),
        (lambda: node(a="::1").address("a", Family.IPV4), '"::1" at $.x.a, an IPv4 address was expected'),
        (lambda: Node([], "$", "Mend it"), "[] at $, an object was expected"),
    ],
)
def test_a_wrong_field_is_named(read: Callable[[], object], problem: str) -> None:
    with pytest.raises(SnapshotInvalid) as caught:
        read()
    assert (caught.value.cause, caught.value.remedy) == (f"The snapshot has {problem}", "Mend it")


def test_addresses_are_values() -> None:
    found = node(a="192.0.2.5", b="2001:db8::5")
    assert found.address("a", Family.IPV4) == ip_address("192.0.2.5")
    assert found.address("b") == ip_address("2001:db8::5")
    assert found.address("z") is None


def test_a_long_value_is_cut() -> None:
    with pytest.raises(SnapshotInvalid) as caught:
        node(a="x" * 100).get("a", int, 0)
    assert caught.value.cause == f'The snapshot has "{"x" * (MOST_SHOWN - 4)}... at $.x.a, a number was expected'


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (b"[" * 101, "The snapshot is larger than 0 MiB"),
        (b"\xff", "The snapshot is not UTF-8, at byte 0"),
        (b'{"a": tru}', "The snapshot is not JSON, line 1, column 7, at $.a: Expecting value"),
        (b"7", "The snapshot has 7 at $, an object was expected"),
    ],
)
def test_what_is_no_document_is_refused(text: bytes, problem: str) -> None:
    with pytest.raises(SnapshotInvalid) as caught:
        load(text, 100, "Mend it", "Less")
    assert caught.value.cause == problem


@pytest.mark.parametrize("text", ["9" * 5000, "[" * 100_000])
def test_numbers_and_nesting_without_end_are_refused(text: str) -> None:
    with pytest.raises(SnapshotInvalid):
        load(text, 1 << 20, "Mend it", "Less")


def test_a_key_that_a_terminal_would_obey_is_written_out() -> None:
    with pytest.raises(SnapshotInvalid) as caught:
        node(o={"\x1b[31m": 1}).texts("o")
    assert caught.value.cause == "The snapshot has 1 at $.x.o['\\x1b[31m'], a string was expected"
