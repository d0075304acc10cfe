"""YAML of day one: one reader for everything, streams of documents with their lines."""

from __future__ import annotations

import pytest

from nodenet.core.day_one import reading
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.node_file.yaml_text import Block, Misread


def test_values_have_the_types_of_yaml_1_2() -> None:
    text = "a: 010\nb: 1e3\nc: 'true'\nd: no\ne: true\nf: 00:11:22:33:44:55\ng: [1, ~]\nh:\n"
    expected = {"a": "010", "b": 1000.0, "c": "true", "d": "no", "e": True, "f": "00:11:22:33:44:55", "g": [1, None]}
    assert reading.read("it", text) == {**expected, "h": None}


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
