"""Which names a node may go by."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nodenet.core.hostname import normalised, stems, why_invalid


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("worker-0", "worker-0"),
        ("Worker-0.Example.COM.", "worker-0.example.com"),
        (" worker-0\n", "worker-0"),
        ("mylocalhost-1", "mylocalhost-1"),
        ("a" * 63, "a" * 63),
        ("a" * 64, "a" * 63),
        ("a" * 50 + ".example.com.and-so-on", "a" * 50),
        ("a" * 62 + "-b", "a" * 62),
    ],
)
def test_a_usable_name_is_normalised_and_valid(raw: str, name: str) -> None:
    """Case, blanks and the trailing dot do not matter."""
    assert normalised(raw) == name
    assert why_invalid(name) is None


@pytest.mark.parametrize(
    "name",
    [
        "",
        "localhost",
        "localhost.localdomain",
        "localhost.example.com",
        "localhost4.localdomain4",
        "a" * 64,
        "..",
        "../x",
        "a/b",
        "a..b",
        "-a",
        "a b",
        "node_1",
    ],
)
def test_an_unusable_name_is_refused_with_a_reason(name: str) -> None:
    """Empty, not yet known, too long, or able to leave the directory."""
    assert why_invalid(name)


def test_the_whole_name_is_looked_for_before_the_short_one() -> None:
    """The more specific file wins."""
    assert stems("worker-0.example.com") == ("worker-0.example.com", "worker-0")
    assert stems("worker-0") == ("worker-0",)


@given(st.text(max_size=80))
def test_a_valid_name_never_leaves_a_directory(text: str) -> None:
    """Whatever a DHCP server sends."""
    name = normalised(text)
    if why_invalid(name) is None:
        assert "/" not in name
        assert all(stem not in ("", ".", "..") for stem in stems(name))
