"""Node files of single hosts, from the file that they share and a table with the values of each of them."""

from __future__ import annotations

import argparse
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.core.errors import NodeFileInvalid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Write the node file of each host: the document of --file, with $(NAME) replaced by the column NAME of the "
        "table. The columns host, mac and serial say which host a row is for; the files are named after the column "
        "host. An inventory may have more columns. A node with the same two files in its directory (the table as "
        "hosts.csv, the document as cluster.yml) fills in the same values by itself."
    )
    parser.add_argument("table", type=Path, metavar="FILE", help="the table: CSV with commas, semicolons or tabs")
    parser.add_argument(
        "--file", type=Path, required=True, metavar="FILE", dest="document", help="the node file that the hosts share"
    )
    folder.add_folder_output(parser, "the node files")


def run(arguments: argparse.Namespace) -> int:
    """Write them; return the exit code. Raises NodenetError, with nothing written when one file is refused."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415
    from nodenet.core.hostname.name import normalised  # noqa: PLC0415
    from nodenet.core.node_file import host_values  # noqa: PLC0415

    folder.needs_folder_output(arguments)
    table = host_values.read(folder.read_bytes(arguments.table, folder.MOST_MANIFEST_BYTES))
    text = folder.read(arguments.document).decode()
    made = {}
    for row in table.rows:
        if host_values.HOST not in row.cells:
            cause = f"{arguments.table.name}, line {row.line} has no host, and the node file is named after it"
            raise NodeFileInvalid(cause, remedy=f"Fill the column {host_values.HOST}")
        filled = host_values.filled(arguments.document.name, text, table, row)
        made[f"{normalised(row.cells[host_values.HOST])}.yml"] = filled.encode()
    if not made:
        raise NodeFileInvalid(f"{arguments.table.name} has no row", remedy="Add a row for each host")
    findings.refuse(folder.shown(arguments.out, made), Step.BOTH)
    folder.write_all(made, arguments)
    return 0
