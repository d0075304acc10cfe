"""Where values stand in a YAML text."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ruamel.yaml import YAML

from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.day_one.yaml_writing import Remarked, newline_of, plain, render, root


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


def test_remarked_keys_can_be_left_out() -> None:
    document = {"token": Remarked("x", "why"), "a": [{"token": "kept"}, {"token": Remarked("y", "why")}]}
    assert plain(document, frozenset({"token"})) == {"a": [{"token": "kept"}, {}]}
