"""YAML of day one: one reader for everything, streams of documents with their lines."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nodenet.core.day_one import reading
from nodenet.core.day_one.reading import ArtefactInvalid, Unusual, quick
from nodenet.core.node_file.yaml_text import Block, Misread, Node, Scalar, load


def test_anchors_are_read_by_the_general_reader() -> None:
    assert reading.read("it", "a: &x [1]\nb: *x\n") == {"a": [1], "b": [1]}


def test_what_is_no_yaml_names_its_place() -> None:
    with pytest.raises(ArtefactInvalid, match=r"^not YAML: line 2, column 3: mapping values are not allowed here$"):
        reading.read("it", "a: 1\n b: 2\n")


def test_a_large_text_in_another_style_is_refused_at_its_line() -> None:
    text = "a: 1\n" + "#" * reading.MOST_SLOW + "\nb: &x 1\n"
    with pytest.raises(Misread) as caught:
        reading.tree("it", text)
    assert caught.value.line == 3
    assert "plain block style" in caught.value.words


def test_documents_of_a_stream_keep_their_lines() -> None:
    text = "# first\na: 1\n---\n\nb: 2\n---\n"
    found = reading.documents(text)
    assert [before for before, _ in found] == [0, 3]
    tree = reading.at_line(reading.tree("it", found[1][1]), found[1][0])
    assert isinstance(tree, Block)
    assert tree.line == 5
    assert reading.at_line(None, 3) is None


# The quick reader returns what the general one returns, or gives up.


def without_places_of_nothing(node: Node | None) -> object:
    """Return the tree as plain values with places; nothing at all may stand behind its key or where the next is."""
    if isinstance(node, Scalar):
        return (node.text, node.plain, *((node.line, node.column) if node.text or not node.plain else ()))
    if isinstance(node, Block):
        entries = [(key.text, key.line, key.column, without_places_of_nothing(value)) for key, value in node.entries]
        items = [without_places_of_nothing(item) for item in node.items]
        doubled = [(key.text, key.line, first) for key, first in node.doubled]
        return (node.line, node.column, node.is_list, entries, items, doubled, node.size)
    return None


def agree(text: str) -> bool:
    """Assert that both readers return the same; return whether the quick one did not give up."""
    try:
        found = quick(text)
    except Unusual:
        return False
    try:
        expected = load("it", text)
    except Misread as error:
        raise AssertionError(f"the quick reader takes what is not YAML: {error}") from error
    assert without_places_of_nothing(found) == without_places_of_nothing(expected)
    return True


@pytest.mark.parametrize(
    "text",
    [
        "a:\nb: 1\n",
        "a: |\n  x\n   y\n\nb: |-\n  q\n# c\n",
        "a: x # y\nb: 'q' # c\n'c' : \"d\"\n",
        "- - a\n  - b\n- c: d\n",
        "a: {b: 1, c: [d, e]} # x\n",
        "a: b#c\n",
        "a: b #c#d\n",
        "a: fe80::1\nb: ::/0\n",
        "a: -1\n",
        "a: 1\na: 2\n",
        "a:  # c\n  b: 1\n",
        "a: ~\n",
        "---\na: 1\n",
        "a: 00:d7:a3:95:42:1f\n",
        "a: http://x/y#z\n",
        "- a\n-  b: c\n   d: e\n",
        "a:\n- x\n- y: 2\n  z:\nb: 1\n",
        "",
        "# nothing\n",
    ],
)
def test_it_is_read_quickly_and_alike(text: str) -> None:
    assert agree(text)


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a: b\n   c\n", 2),
        ("a:\n  - b\n  c: d\n", 3),
        ("a: b: c\n", 1),
        ("a:\tb\n", 1),
        ("a: &x 1\n", 1),
        ("a: *x\n", 1),
        ("a: !!str 1\n", 1),
        ("a: >\n  x\n", 1),
        ("x: |\n  a\n   \n  b\n", 3),
        ("a: 1\n---\nb: 2\n", 2),
        ('a: "\\u0041"\n', 1),
        ("a: [1,\n  2]\n", 1),
        ("? a\n: b\n", 1),
        ("a: 'it''s'\n", 1),
        ("a: 1\r\n", 1),
        ("a: |\n  x", 1),
        ("b\n", 1),
        ("<<: {a: 1}\n", 1),
        ("a: {b: *c}\n", 1),
        ("a: @b\n", 1),
        ("a: |2\n   x\n", 1),
        (" a: 1\nb: 2\n", 2),
    ],
)
def test_what_is_unusual_is_left_to_the_general_reader(text: str, line: int) -> None:
    with pytest.raises(Unusual) as caught:
        quick(text)
    assert caught.value.line == line


PIECES = st.sampled_from(
    (
        *(
            "a",
            "b",
            "name",
            "ip",
            "'q'",
            '"d"',
            "-",
            "- ",
            ":",
            ": ",
            "#",
            " #",
            "\n",
            "\n  ",
            "\n- ",
            "\n  - ",
            "\n    ",
            " ",
        ),
        *(
            "|",
            "|-",
            "[]",
            "{}",
            "{a: 1}",
            "[x, 'y']",
            "192.0.2.1/24",
            "fe80::1",
            "true",
            "~",
            "&x",
            "*x",
            "---",
            "ü",
            "\t",
        ),
    )
)


@settings(max_examples=1500, deadline=None)
@given(st.lists(PIECES, max_size=24).map("".join))
def test_whatever_stands_there_both_agree(text: str) -> None:
    agree(text)


def test_nesting_is_bounded() -> None:
    with pytest.raises(Unusual):
        quick("\n".join(" " * depth + "a:" for depth in range(60)))
