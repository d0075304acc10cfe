"""Which node file each host gets, and what each file configures, as a table."""

from __future__ import annotations

import argparse
import json
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING

from nodenet.cli.day_one import folder
from nodenet.cli.outputs import note
from nodenet.cli.table import Table
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.errors import NodeFileInvalid, UsageInvalid

if TYPE_CHECKING:
    from nodenet.core.day_one.document import Row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print a row for each node file: the host that gets it, its links, addresses, gateways and DNS servers. "
        "An address that several files configure is marked with a star; the exit code is 1 then."
    )
    parser.add_argument("path", type=Path, metavar="DIR", help="a folder of node files")
    parser.add_argument("host", nargs="?", metavar="HOST", help="only the file that this host gets, and why")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run(arguments: argparse.Namespace) -> int:
    """Print the table; return the exit code. Raises NodenetError."""
    from nodenet.core.day_one import document  # noqa: PLC0415 - the command line itself needs no library

    documents = {}
    for name, content in folder.node_files(arguments.path).items():
        try:
            documents[name] = document.read(content.decode())
        except ArtefactInvalid as error:
            raise folder.invalid(name, error) from error
    rows = document.rows(documents)
    if arguments.host is not None:
        name = _of_host(arguments.host, tuple(documents))
        rows = tuple(row for row in rows if row.file == name)
    if arguments.json:
        print(json.dumps({"schema_version": 1, "files": [_entry(row) for row in rows]}, indent=2))
    else:
        _print(rows)
    return 1 if any(row.duplicates for row in rows) else 0


def _of_host(host: str, names: tuple[str, ...]) -> str:
    """Return the file that *host* gets; say why. Raises UsageInvalid, NodeFileInvalid."""
    from nodenet.core.hostname.name import normalised, why_invalid  # noqa: PLC0415
    from nodenet.core.node_file.find import search  # noqa: PLC0415

    if why := why_invalid(normalised(host)):
        raise UsageInvalid(f"{host!r} is not a host name: {why}")
    found = search(normalised(host), names)
    if found.found is None:
        raise NodeFileInvalid(
            f"{host} gets no node file: there is none of {', '.join(found.tried)}", remedy=f"Add {normalised(host)}.yml"
        )
    before = list(takewhile(lambda name: name != found.found, found.tried))
    missing = f"; there is no {', '.join(before)}" if before else ""
    hidden = f"; it replaces {' and '.join(found.others)}" if found.others else ""
    note(f"{host} gets {found.found}{missing}{hidden}")
    return found.found


def _entry(row: Row) -> dict[str, object]:
    return {
        "file": row.file,
        "host": row.host,
        "links": row.links,
        "addresses": [str(address) for address in row.addresses],
        "automatic": row.automatic,
        "gateways": row.gateways,
        "name_servers": row.name_servers,
        "duplicates": row.duplicates,
    }


def _print(rows: tuple[Row, ...]) -> None:
    table = Table(("FILE", "HOST", "LINKS", "ADDRESSES", "GATEWAYS", "DNS"))
    for row in rows:
        marked = [f"{item}*" if str(item.ip) in row.duplicates else str(item) for item in row.addresses]
        shown = [*marked, *(("automatic",) if row.automatic else ())]
        cells = (row.links, shown, row.gateways, row.name_servers)
        table.add((row.file, row.host, *(" ".join(cell) or "-" for cell in cells)))
    print(table.render(coloured=False))
