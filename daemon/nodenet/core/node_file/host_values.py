"""Which values does one host put into the node file that all hosts share?

``cluster.yml`` may name values, as in ``ip: $(address)``. The table ``hosts.csv`` beside it has a row for each host:
the columns ``host``, ``mac`` and ``serial`` say which host a row is for, and each other column is a value::

    host,mac,address,vlan
    worker-0,52:54:00:00:00:01,192.0.2.10,100

This is no template language. A value is one word of an address, a prefix, a number or a name, so that it cannot change
the structure of the document. What a value must be follows from the key that it stands at: the filled document is
judged like any node file.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from io import StringIO

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.hostname import normalised, stems, why_invalid
from nodenet.core.value import frozen

TABLE = "hosts.csv"
HOST, MAC, SERIAL = "host", "mac", "serial"
IDENTITY = (HOST, MAC, SERIAL)
_PLACEHOLDER = re.compile(r"\$\(([^()\n]*)\)")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_VALUE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,127}")
_MAC = re.compile(r"[0-9a-f]{12}")
_DELIMITERS = (",", ";", "\t")
_SEPARATORS = re.compile(r"[:.-]")


@frozen
class Identity:
    """How a table may know this host: its name if that is known, the MAC addresses of its NICs, its serial number."""

    hostname: str | None = None
    macs: frozenset[str] = frozenset()
    serial: str = ""


@frozen
class Row:
    """One host of the table: the line that it begins in, and the text of each column that is not empty."""

    line: int
    cells: Mapping[str, str]

    @property
    def name(self) -> str:
        """What the row is called in messages."""
        return next((self.cells[key] for key in IDENTITY if key in self.cells), f"line {self.line}")


@frozen
class Table:
    """The hosts and the names of the values."""

    columns: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def values(self) -> tuple[str, ...]:
        """The columns that are values."""
        return tuple(column for column in self.columns if column not in IDENTITY)

    def row_of(self, identity: Identity) -> Row:
        """Return the row of the host. Raises NodeFileInvalid if there is none, or more than one."""
        found = [row for row in self.rows if _is_of(row, identity)]
        if len(found) == 1:
            _agree(found[0], identity)
            return found[0]
        if found:
            lines = " and ".join(str(row.line) for row in found)
            raise _refused(f"lines {lines} are for this host", "Keep one of them")
        known = identity.hostname or "this host, whose name is not known"
        macs = ", ".join(sorted(map(_colons, identity.macs))) or "none"
        raise _refused(f"no row is for {known} (MAC addresses: {macs})", f"Add a row for it to {TABLE}")


def placeholders(text: str) -> dict[str, int]:
    """Return the name of each value that a document asks for, with the line in which it stands first."""
    found: dict[str, int] = {}
    for line, name in _named(text):
        found.setdefault(name, line)
    return found


@lru_cache(maxsize=2)
def read(content: bytes) -> Table:
    """Return the table; a boot that waits asks for it once a second.

    Raises NodeFileInvalid that names the line and the column of the first mistake.
    """
    import csv  # noqa: PLC0415 -- few nodes have a table

    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise _refused(f"line {line} is not UTF-8", "Save the table as UTF-8") from error
    header = text.partition("\n")[0]
    delimiter = max(_DELIMITERS, key=header.count)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    try:
        columns = _columns(next(reader, []))
        rows = tuple(_rows(reader, columns))
    except csv.Error as error:
        raise _refused(f"line {reader.line_num}: {error}", "Correct the quotes of this line") from error
    _unique(rows)
    return Table(columns, rows)


def filled(name: str, text: str, table: Table, row: Row) -> str:
    """Return the document *text*, of the file *name*, with the values of a host. Raises NodeFileInvalid."""
    for wanted, line in placeholders(text).items():
        if wanted not in table.values:
            near = difflib.get_close_matches(wanted, table.values, n=1)
            remedy = f"Did you mean $({near[0]})?" if near else f"Add the column {wanted[:40]!r} to {TABLE}"
            cause = f"{name}, line {line}: {TABLE} has no column {wanted[:40]!r}"
            raise NodeFileInvalid(cause, remedy=remedy)
        if wanted not in row.cells:
            cause = f"line {row.line}, column {wanted}: {row.name} has no value, and {name} asks for it in line {line}"
            raise _refused(cause, "Write the value into the table")
    lines = text.splitlines(keepends=True)
    return "".join(
        line if _is_comment(line) else _PLACEHOLDER.sub(lambda found: row.cells[found[1]], line) for line in lines
    )


def need_all(name: str, text: str, table: Table) -> None:
    """Return when the document *text*, of the file *name*, asks for every column. Raises NodeFileInvalid."""
    asked = placeholders(text)
    for number, column in enumerate(table.columns, 1):
        if column in table.values and column not in asked:
            cause = f"line 1, column {number}: {name} does not ask for {column}"
            raise _refused(cause, f"Remove the column, or write $({column}) into {name} where it belongs")


def mac_key(written: str) -> str:
    """Return a MAC address as twelve digits, whichever way it is spelled; empty if it is none."""
    digits = _SEPARATORS.sub("", written.strip().lower())
    return digits if _MAC.fullmatch(digits) else ""


def _named(text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        if not _is_comment(line):
            yield from ((number, found[1]) for found in _PLACEHOLDER.finditer(line))


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("#")


def _columns(header: Sequence[str]) -> tuple[str, ...]:
    columns = tuple(cell.strip() for cell in header)
    for number, column in enumerate(columns, 1):
        if not _NAME.fullmatch(column):
            cause = f"line 1, column {number}: {column[:40]!r} is no name of a column"
            raise _refused(cause, "Write a word in small letters, such as address")
        if column in columns[: number - 1]:
            raise _refused(f"line 1: the column {column} is there twice", "Keep one of them")
    if not set(IDENTITY) & set(columns):
        raise _refused("line 1 has no column that identifies a host", f"Add a column {HOST}, {MAC} or {SERIAL}")
    return columns


def _rows(reader: Iterator[list[str]], columns: tuple[str, ...]) -> Iterator[Row]:
    for cells in reader:
        line: int = reader.line_num  # type: ignore[attr-defined]  # csv's reader has it
        if not any(cell.strip() for cell in cells):
            continue
        if len(cells) != len(columns):
            cause = f"line {line} has {len(cells)} cells, and the header has {len(columns)}"
            raise _refused(cause, "Write a cell for each column; it may be empty")
        row = Row(line, {name: text for name, cell in zip(columns, cells, strict=True) if (text := cell.strip())})
        for name, text in row.cells.items():
            if why := _wrong(name, text):
                raise _refused(f"line {line}, column {name}: {text[:40]!r} {why[0]}", why[1])
        if not set(IDENTITY) & set(row.cells):
            raise _refused(f"line {line} does not say which host it is for", f"Fill one of {', '.join(IDENTITY)}")
        yield row


def _wrong(column: str, text: str) -> tuple[str, str] | None:
    """Return cause and remedy for a cell that cannot be used."""
    if column == MAC and not mac_key(text):
        return "is not a MAC address", "Write six bytes, such as 52:54:00:12:34:56"
    if column == HOST and (why := why_invalid(normalised(text))):
        return f"is no host name: {why}", "Write the name of the host"
    if column != MAC and not _VALUE.fullmatch(text):
        return "is no address, prefix, number or name", "Write one word without blanks and quotes"
    return None


def _unique(rows: Sequence[Row]) -> None:
    """Raise NodeFileInvalid if two rows are for one host."""
    first: dict[tuple[str, str], int] = {}
    for row in rows:
        for column in IDENTITY:
            if text := row.cells.get(column):
                key = mac_key(text) if column == MAC else text.lower()
                if (line := first.setdefault((column, key), row.line)) != row.line:
                    cause = f"line {row.line}, column {column}: {text} is in line {line} already"
                    raise _refused(cause, "Keep one row for each host")


def _is_of(row: Row, identity: Identity) -> bool:
    cells = row.cells
    return (
        (identity.hostname is not None and normalised(cells.get(HOST, "")) in stems(identity.hostname))
        or mac_key(cells.get(MAC, "")) in identity.macs
        or (identity.serial != "" and cells.get(SERIAL, "").lower() == identity.serial.lower())
    )


def _agree(row: Row, identity: Identity) -> None:
    """Raise NodeFileInvalid if the row names a NIC that this host does not have: it is another host's row."""
    mac = mac_key(row.cells.get(MAC, ""))
    if mac and identity.macs and mac not in identity.macs:
        cause = f"line {row.line} is for {row.name}, and this host has no NIC with the MAC address {_colons(mac)}"
        raise _refused(cause, "Correct the MAC address, or the host of this row")


def _colons(mac: str) -> str:
    return ":".join(mac[place : place + 2] for place in range(0, len(mac), 2))


def _refused(cause: str, remedy: str) -> NodeFileInvalid:
    return NodeFileInvalid(f"{TABLE}, {cause}" if cause.startswith("line") else f"{TABLE}: {cause}", remedy=remedy)
