"""Environment files and drop-ins are read as systemd reads them (systemd.exec(5))."""

import pytest

from nodenet.core.node_ip.published_files import (
    drop_in_removals,
    drop_in_variables,
    file_variables,
    logical_lines,
    unquoted,
)


def test_comments_and_continuations() -> None:
    assert list(logical_lines("# x\n; y\n\nA=1 \\\n2\nB=3")) == [(4, "A=1 2"), (6, "B=3")]


@pytest.mark.parametrize(("value", "plain"), [("a", "a"), ("'a b'", "a b"), ('"a"', "a"), ("", "")])
def test_quotes_are_taken_off(value: str, plain: str) -> None:
    assert unquoted(value) == plain


def test_an_open_quote_is_refused() -> None:
    with pytest.raises(ValueError, match="the quote ' is not closed"):
        unquoted("'a")


def test_a_file_sets_what_can_be_understood_and_the_last_one_wins() -> None:
    assert file_variables(b"A=1\nA = 'two'\nno equals\nB='open\nC=\xff") == {"A": "two", "C": "\ufffd"}


def test_a_drop_in_sets_variables_until_an_empty_line_forgets_them() -> None:
    text = b'[Service]\nEnvironment=A=1 "B=two words"\nExecStart=/bin/x A=9\n'
    assert drop_in_variables(text) == {"A": "1", "B": "two words"}
    assert drop_in_variables(text + b"Environment=\nEnvironment=C=3\n") == {"C": "3"}
    assert drop_in_variables(b"Environment=A='open\nEnvironment=B=1\n") == {"B": "1"}


def test_a_drop_in_removes_variables_until_an_empty_line_forgets_them() -> None:
    text = b'[Service]\nUnsetEnvironment=A "B=two words"\nUnsetEnvironment=C\n'
    assert drop_in_removals(text) == ("A", "B=two words", "C")
    assert drop_in_removals(text + b"UnsetEnvironment=\nUnsetEnvironment=D\n") == ("D",)
