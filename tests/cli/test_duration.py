"""Lengths of time on the command line."""

from __future__ import annotations

import argparse

import pytest

from nodenet.cli.outputs import seconds


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("90", 90),
        ("0", 0),
        ("1.5", 1.5),
        (".5", 0.5),
        ("5s", 5),
        ("5 s", 5),
        ("250ms", 0.25),
        ("2min", 120),
        ("1h", 3600),
    ],
)
def test_a_length_of_time_has_a_unit_or_is_in_seconds(text: str, expected: float) -> None:
    """As systemd's programs take it (R59)."""
    assert seconds(text) == expected


@pytest.mark.parametrize("text", ["", "s", "-5", "5d", "nan", "inf", "5s5s"])
def test_anything_else_is_refused(text: str) -> None:
    sentence = f"{text!r} is not a valid number of seconds \\(examples: 90, 5s, 2min\\)"
    with pytest.raises(argparse.ArgumentTypeError, match=f"^{sentence}$"):
        seconds(text)
