"""How is a table printed for people, in a terminal or in a mail?"""

from __future__ import annotations

from collections.abc import Sequence


class Table:
    """Rows under headings; every column is as wide as its longest cell, the last one is not padded."""

    def __init__(self, headings: Sequence[str]) -> None:
        """Begin with the *headings*."""
        self._rows: list[tuple[Sequence[str], str]] = [(headings, "1")]

    def add(self, row: Sequence[str], colour: str = "") -> None:
        """Add a row; *colour*: its SGR parameters on a terminal that has colours."""
        self._rows.append(([printable(cell) for cell in row], colour))

    def render(self, *, coloured: bool) -> str:
        """Return the table as text."""
        widths = [max(len(row[column]) for row, _ in self._rows) for column in range(len(self._rows[0][0]))]
        widths[-1] = 0
        lines = []
        for row, colour in self._rows:
            line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
            lines.append(f"\x1b[{colour}m{line}\x1b[0m" if coloured and colour else line)
        return "\n".join(lines)


def printable(text: str) -> str:
    """Return *text* with ? for each character that could control a terminal; names also come from other hosts."""
    return "".join(char if char.isprintable() else "?" for char in text)
