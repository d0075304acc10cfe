"""Tables for a terminal or a mail."""

from __future__ import annotations

from nodenet.cli.outputs import Table, printable


def test_columns_are_as_wide_as_their_longest_cell() -> None:
    table = Table(("LINK", "ADDRESS", "BECAUSE"))
    table.add(("eth0", "192.0.2.5/24", "a reason"))
    table.add(("a-long-name", "::1/128", ""), "2")
    assert table.render(coloured=False).splitlines() == [
        "LINK         ADDRESS       BECAUSE",
        "eth0         192.0.2.5/24  a reason",
        "a-long-name  ::1/128",
    ]


def test_a_row_has_its_colour_on_a_terminal_only() -> None:
    """The headings are bold (ECMA-48, SGR 1)."""
    table = Table(("LINK",))
    table.add(("eth0",), "1;32")
    table.add(("eth1",))
    assert table.render(coloured=True).splitlines() == ["\x1b[1mLINK\x1b[0m", "\x1b[1;32meth0\x1b[0m", "eth1"]
    assert "\x1b" not in table.render(coloured=False)


def test_what_could_control_a_terminal_is_replaced() -> None:
    """Escape sequences, line ends, lone surrogates; letters of any language stay (R40)."""
    assert printable("a\x1b[2Jb\r\n\udc80\u202eé名") == "a?[2Jb????é名"
