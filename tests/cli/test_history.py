"""`nodenetctl history`, and its entries as arguments of other verbs: bad input, on any machine."""

from __future__ import annotations

import os

import pytest

from cli.test_main import nodenetctl
from nodenet.cli.history import number_of
from nodenet.core.errors import UsageInvalid

AS_ROOT = os.geteuid() == 0


@pytest.mark.parametrize("word", ["@", "12", "@-1", "@1.json", "@x", "@²"])
def test_what_is_no_entry(word: str) -> None:
    with pytest.raises(UsageInvalid, match="is no entry of the history"):
        number_of(word)


def test_an_entry_has_a_number() -> None:
    assert number_of("@12") == 12


@pytest.mark.skipif(not AS_ROOT, reason="the history is for root")
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("history", "987654"), "the history has no entry 987654"),
        (("diff", "@987654"), "the history has no entry 987654"),
        (("diff", "@987654", "@987653"), "the history has no entry 987654"),
        (("diff", "x", "@987654"), "'x' is no entry of the history"),
        (("rollback", "--to", "987654"), "the history has no entry 987654"),
        (("rollback", "--to", "1", "--for", "1"), "a trial of 1 s is not possible"),
        (("rollback", "--for", "60"), "--for and --force are about an entry of the history"),
        (("rollback", "--force"), "--for and --force are about an entry of the history"),
    ],
)
def test_an_entry_that_is_not_there_is_refused(words: tuple[str, ...], said: str) -> None:
    done = nodenetctl(*words)
    assert (done.returncode, done.stdout) == (64, "")
    assert said in done.stderr


@pytest.mark.skipif(not AS_ROOT, reason="the history is for root")
def test_a_node_without_a_history_says_so() -> None:
    done = nodenetctl("history")
    assert (done.returncode, done.stdout) == (0, "The history of this node has no entry yet.\n")
