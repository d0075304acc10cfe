"""Where values stand in a YAML text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.day_one.yaml_writing import Remarked, end_of_block, newline_of, plain, render, root

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


# A document with remarks is YAML that reads back to the same values.


WORDS = st.one_of(
    st.text(max_size=12).filter(str.isprintable),
    st.sampled_from(
        (
            "::/0",
            "10.88.0.1",
            "52:54:00:12:34:56",
            "1e3",
            "0x1",
            "010",
            "on",
            "Yes",
            "~",
            "",
            "- a",
            "a: b",
            "#x",
            "12:30:45",
        )
    ),
)
SCALARS = st.one_of(WORDS, st.integers(-(10**6), 10**6), st.booleans(), st.none())
REMARKED = st.one_of(SCALARS, st.builds(Remarked, SCALARS, st.just("why")))
DOCUMENTS = st.dictionaries(
    WORDS,
    st.recursive(
        REMARKED,
        lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(WORDS, inner, max_size=3)),
        max_leaves=8,
    ),
    min_size=1,
    max_size=4,
)


@settings(deadline=None, max_examples=300)
@given(DOCUMENTS)
def test_it_is_read_back(document: dict[str, object]) -> None:
    text = render(document, ["a head"])
    assert text == render(document, ["a head"])
    for version in ("1.1", "1.2"):
        reader = YAML(typ="safe", pure=True)
        reader.version = version
        assert reader.load(text) == plain(document)


def test_remarks_stand_behind_their_lines() -> None:
    document = {"a": Remarked({"b": Remarked(1, "one")}, "all"), "c": [{"d": "x", "e": []}, Remarked("y", "last")]}
    assert render(document, ["head", ""]) == (
        '# head\n#\na:  # all\n  b: 1  # one\nc:\n- d: x\n  e: []\n- "y"  # last\n'
    )


def test_remarked_keys_can_be_left_out() -> None:
    document = {"token": Remarked("x", "why"), "a": [{"token": "kept"}, {"token": Remarked("y", "why")}]}
    assert plain(document, frozenset({"token"})) == {"a": [{"token": "kept"}, {}]}


def test_a_name_with_line_ends_stays_in_its_comment() -> None:
    """What a host calls itself becomes no part of the document."""
    hostile = "x\nroutes: []\r\x85\u2028\x1b[2J"
    text = render({"a": Remarked(1, hostile), "b": [Remarked(2, hostile)]}, [hostile])
    assert YAML(typ="safe", pure=True).load(text) == {"a": 1, "b": [2]}
    assert all(letter.isprintable() or letter == "\n" for letter in text)
