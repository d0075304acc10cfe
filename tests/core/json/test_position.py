"""The path of the place at which a reader gets stuck (RFC 9535)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.json_reader import path_at


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("", "$"),
        ("{", "$"),
        ('{"a": ', "$.a"),
        ('{"a": [1, ', "$.a[1]"),
        ('{"a": [{}, {"b": ', "$.a[1].b"),
        ('{"a": {"x": 1}, "b": ', "$.b"),
        ('{"a,[": ', "$['a,[']"),
        ('{"\\u001b[31m": ', "$['\\u001b[31m']"),
        ('{"' + "x" * 60 + '": ', "$['" + "x" * 40 + "']"),
        ('["a, \\" b", ', "$[1]"),
    ],
)
def test_the_path_of_what_comes_next(text: str, path: str) -> None:
    assert path_at(text, len(text)) == path


JSON = st.recursive(
    st.none() | st.text(), lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=8
)


@given(JSON, st.integers(0, 500))
def test_every_place_has_a_printable_path(document: object, end: int) -> None:
    found = path_at(json.dumps(document), end)
    assert found.startswith("$")
    assert found.isprintable()


def test_a_key_that_a_terminal_would_obey_is_written_out() -> None:
    text = '{"\x1b[31m": '
    assert path_at(text, len(text)) == "$['\\x1b[31m']"
