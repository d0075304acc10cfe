"""day-one early, from-csv, keyfiles, from-host and show: node files are made, turned into keyfiles, and listed."""

from __future__ import annotations

import argparse
import asyncio
import json
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nodenet.cli.day_one import folder
from nodenet.cli.outputs import Table, note, printable
from nodenet.core.day_one.reading import ArtefactInvalid
from nodenet.core.errors import NodeFileInvalid, Unavailable, UsageInvalid
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure

if TYPE_CHECKING:
    from nodenet.core.day_one.document import Row

# The document of the first step: the same addresses without Open vSwitch, for the deployment image.


def add_early(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Derive, from node files that make br-ex, the documents that configure the same addresses, routes and DNS "
        "on the link below it, before Open vSwitch exists."
    )
    parser.add_argument("path", type=Path, metavar="FILE|DIR", help="a node file, or a folder of them")
    folder.add_folder_output(parser, "the documents")


def run_early(arguments: argparse.Namespace) -> int:
    """Write them; return the exit code. Raises NodenetError, with nothing written when one file is refused."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one import document  # noqa: PLC0415
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    folder.needs_folder_output(arguments)
    made = {}
    files = folder.node_files(arguments.path)
    findings.refuse(folder.shown(arguments.path, files), Step.BOTH)
    for name, content in files.items():
        try:
            made[name] = document.render(document.early(document.read(content.decode()))).encode()
        except ArtefactInvalid as error:
            raise folder.invalid(name, error) from error
    folder.write_all(made, arguments)
    return 0


# Node files of single hosts, from the file that they share and a table with the values of each of them.


def add_from_csv(parser: argparse.ArgumentParser) -> None:
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


def run_from_csv(arguments: argparse.Namespace) -> int:
    """Write them; return the exit code. Raises NodenetError, with nothing written when one file is refused."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415
    from nodenet.core.hostname import normalised  # noqa: PLC0415
    from nodenet.core.node_file import host_values  # noqa: PLC0415
    from nodenet.core.node_file.find import is_of_cluster  # noqa: PLC0415

    folder.needs_folder_output(arguments)
    table = host_values.read(folder.read_bytes(arguments.table, folder.MOST_MANIFEST_BYTES))
    text = folder.read(arguments.document).decode()
    made = {}
    for row in table.rows:
        if host_values.HOST not in row.cells:
            cause = f"{arguments.table.name}, line {row.line} has no host, and the node file is named after it"
            raise NodeFileInvalid(cause, remedy=f"Fill the column {host_values.HOST}")
        name = f"{normalised(row.cells[host_values.HOST])}.yml"
        if is_of_cluster(name) or name in made:
            why = "is there already" if name in made else "would be the file of every host that has none of its own"
            cause = f"{arguments.table.name}, line {row.line}, column {host_values.HOST}: {name} {why}"
            raise NodeFileInvalid(cause, remedy="Correct the name of the host")
        made[name] = host_values.filled(arguments.document.name, text, table, row).encode()
    if not made:
        raise NodeFileInvalid(f"{arguments.table.name} has no row", remedy="Add a row for each host")
    findings.refuse(folder.shown(arguments.out, made), Step.BOTH)
    folder.write_all(made, arguments)
    return 0


# NetworkManager keyfiles for the deployment image, generated offline by libnmstate.


def add_keyfiles(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Write the NetworkManager keyfiles of a node file into a folder, for /etc/NetworkManager/system-connections of "
        "a deployment image. What a keyfile cannot express is refused; what may leave the host without network is a "
        "warning."
    )
    parser.add_argument("path", type=Path, metavar="FILE", help="a node file without Open vSwitch")
    folder.add_folder_output(parser, "the keyfiles")


def run_keyfiles(arguments: argparse.Namespace) -> int:
    """Write them; return the exit code. Raises NodenetError, with nothing written."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one.node_rules import Step, judge  # noqa: PLC0415

    folder.needs_folder_output(arguments)
    file = str(arguments.path)
    content = folder.read(arguments.path)
    known = judge(file, content, Step.FIRST)
    if findings.printed(known.findings):
        return 65
    if known.document is None:
        raise NodeFileInvalid(f"{file} asks for nothing", remedy="Name at least one interface")
    try:
        files, said = asyncio.run(_generated(content.decode()))
    except NmstateFailure as failure:
        if failure.kind is FailureKind.INVALID:
            raise NodeFileInvalid(f"{file}: {failure.cause}", remedy=failure.remedy) from failure
        raise Unavailable(f"{file}: no keyfiles: {failure.cause}", remedy=failure.remedy) from failure
    if not files:
        cause = f"{file}: libnmstate generates no keyfile from it"
        raise NodeFileInvalid(cause, remedy="Name at least one interface that is up")
    for warning in said:
        note(f"nodenetctl: warning: {warning}")
    # Private: NetworkManager ignores a keyfile that other users than root can read.
    folder.write_all({Path(name).name: text.encode() for name, text in sorted(files.items())}, arguments)
    return 0


async def _generated(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415 - for this verb only

    async with Nmstate().transaction() as transaction:
        return await transaction.configurations(text)


# A first node file from a running host, or from a state that was saved there.

MOST_STATE_BYTES = 16 << 20


def add_from_host(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print a node file that gives a host with the same hardware the network that this host has, or had when FILE "
        "was saved. Only what differs from the defaults is in it, with remarks; what is left out is named on "
        "standard error. Leases, counters, hardware and secrets are not written."
    )
    parser.add_argument(
        "path",
        type=Path,
        nargs="?",
        metavar="FILE",
        help="what `nmstatectl show` printed, or a NodeNetworkState (default: this host)",
    )
    folder.add_output(parser, "the node file")


def run_from_host(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    from nodenet.core.day_one import from_host  # noqa: PLC0415
    from nodenet.core.day_one.yaml_writing import plain, render  # noqa: PLC0415

    source = str(arguments.path) if arguments.path is not None else "this host"
    try:
        state = _saved(arguments.path) if arguments.path is not None else asyncio.run(_shown())
        made = from_host.made(state)
    except ArtefactInvalid as error:
        raise folder.invalid(source, error) from error
    text = render(made.document, _head(state, made.left_out))
    folder.write(text, arguments, mode=folder.PUBLIC)  # it has no secrets
    for line in made.left_out:
        note(printable(f"nodenetctl: left out: {line}"))
    # The state of the host does not have what keeps its addresses and metrics.
    expressed = json.dumps(plain(made.document, from_host.PINNED))
    for line in asyncio.run(_not_expressed(expressed, state)):
        note(printable(f"nodenetctl: warning: {line}"))
    return 0


def _head(state: dict[str, Any], left_out: list[str]) -> list[str]:
    names = state.get("hostname")
    name = names.get("running") if isinstance(names, dict) else None
    return [
        f"Made by `nodenetctl day-one from-host` from the state of {name or 'a host'}.",
        "Here is what differs from the defaults. Check it with `nodenetctl day-one check`.",
        *(f"Left out: {line}" for line in left_out),
    ]


def _saved(path: Path) -> dict[str, Any]:
    from nodenet.core.day_one import from_host, reading  # noqa: PLC0415

    text = folder.read(path, MOST_STATE_BYTES).decode()
    try:
        found = json.loads(text)
    except ValueError:
        found = reading.read(str(path), text)
    except RecursionError:
        raise ArtefactInvalid("nested too deeply") from None
    return dict(from_host.state_in(found))


async def _shown() -> dict[str, Any]:
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415 - for this verb only

    try:
        async with Nmstate().transaction() as transaction:
            return await transaction.show()
    except NmstateFailure as failure:
        raise Unavailable(f"the state of this host: {failure.cause}", remedy=failure.remedy) from failure


async def _not_expressed(text: str, state: dict[str, Any]) -> list[str]:
    """Return where the file asks for something else than the host has: that is for a person to look at."""
    from nodenet.core.day_one import from_host  # noqa: PLC0415
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415

    try:
        async with Nmstate().transaction() as transaction:
            left = await transaction.compare(text, state)
    except NmstateFailure as failure:
        return [f"libnmstate cannot compare the file with the state: {failure.cause}"]
    differing = from_host.not_expressed(left, state)
    return [f"the file differs from the state of the host: {', '.join(differing)}"] if differing else []


# Which node file each host gets, and what each file configures, as a table.


def add_show(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print a row for each node file: the host that gets it, its links, addresses, gateways and DNS servers. "
        "An address that several files configure is marked with a star; the exit code is 1 then."
    )
    parser.add_argument("path", type=Path, metavar="DIR", help="a folder of node files")
    parser.add_argument("host", nargs="?", metavar="HOST", help="only the file that this host gets, and why")
    parser.add_argument("--json", action="store_true", help="print a JSON document")


def run_show(arguments: argparse.Namespace) -> int:
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
    from nodenet.core.hostname import normalised, why_invalid  # noqa: PLC0415
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
