"""Where values stand in a YAML text."""

import pytest

from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.day_one.yaml_writing import end_of_block, newline_of, root

TEXT = "a:\n  b: 1 # one\n  c:\n  - x\n  - y: |\n      two\n\n      lines\n\n# of d\nd: 2\n"


def test_a_value_is_found_with_its_line() -> None:
    spot = root(TEXT, "it").value("a")
    assert spot is not None
    assert (spot.line, spot.path, spot.key_column, spot.text("b"), spot.text("c"), spot.value("z")) == (
        *(2, "$.a", 2, "1", None),
        None,
    )


def test_a_block_ends_behind_its_last_line_and_before_comments() -> None:
    spot = root(TEXT, "it").value("a")
    assert spot is not None
    assert TEXT[end_of_block(TEXT, spot) :] == "\n# of d\nd: 2\n"


@pytest.mark.parametrize("text", ["a: [", "a: b: c", "\t- x", "a: *nothing", "a: 1\n---\nb: 2\n"])
def test_what_is_no_single_document_is_refused(text: str) -> None:
    with pytest.raises(ArtefactInvalid, match=r"^it is not YAML"):
        root(text, "it")


def test_the_line_ending_is_that_of_the_text() -> None:
    assert [newline_of(text) for text in ("a\r\nb", "a\nb")] == ["\r\n", "\n"]
