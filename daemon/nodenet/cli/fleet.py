"""Which nodes of a fleet are odd? Read from saved documents, on any machine; no node is asked."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

from nodenet.cli.outputs import Table, can_be_replaced, has_colours, note, printable
from nodenet.core.errors import UsageInvalid
from nodenet.core.fleet import odd, shown
from nodenet.core.fleet.host import CONTROL_PLANE, Host, Options, host
from nodenet.core.fleet.shown import Fleet
from nodenet.edge.files import disk
from nodenet.edge.fleet import Saved, nodes

DESCRIPTION = """Show the nodes of a fleet in one table and mark the odd ones: degraded, another MTU, version or node
file than most nodes of its role, an address, MAC or host name that another node has too, a boot ten times slower. DIR
has archives of `nodenetctl report`, the files of `nodenetctl snapshot` or copies of /run/nodenet/state.json, named
HOST.json, HOST.snapshot.json and HOST.state.json, or in a folder HOST. No node is asked."""
EPILOG = "exit codes: 0 nothing is odd, 1 something is odd, 64 wrong option or DIR, 74 the page cannot be written."
MOST_EXPECTED = 4 << 20
PRIVATE = 0o600


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description, parser.epilog = DESCRIPTION, EPILOG
    add_reading(parser)
    add = parser.add_argument
    add("--expect", type=Path, metavar="FILE", help="names of all hosts, one a line, as `kubectl get nodes -o name`")
    add("--odd", action="store_true", help="print only the odd nodes")
    add("--html", type=Path, metavar="FILE", help="write one HTML page in place of the table")
    add("--json", action="store_true", help="print a JSON document")


def add_reading(parser: argparse.ArgumentParser) -> None:
    """Add what says which nodes there are."""
    parser.add_argument("directory", type=Path, metavar="DIR", help="the folder with the documents")
    parser.add_argument(
        "--control-plane",
        action="append",
        metavar="GLOB",
        help=f"host names of control-plane nodes; may be repeated (default: {', '.join(CONTROL_PLANE)})",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print or write the fleet; return the exit code. Raises UsageInvalid, PublishFailed."""
    fleet = gathered(arguments)
    if arguments.html:
        text = "".join(shown.page(fleet, f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"))
        write(arguments.html, text)
    if arguments.json:
        print(json.dumps(shown.document(fleet), indent=1))
    elif not arguments.html:
        _print(fleet, only_odd=arguments.odd)
    return 1 if fleet.is_odd else 0


def write(path: Path, text: str) -> None:
    """Write the page *path*; only its owner can read it. Raises UsageInvalid, PublishFailed."""
    whole = path.absolute()
    if not can_be_replaced(whole):
        raise UsageInvalid(f"{path} cannot be a file there", remedy="Give the name of a file in a folder that exists")
    disk.write(whole, text.encode(errors="replace"), PRIVATE)  # JSON may have half of a character


def gathered(arguments: argparse.Namespace) -> Fleet:
    """Return the fleet of the command line. Raises UsageInvalid."""
    left_out: list[tuple[str, str]] = []
    hosts = [without_network(one) for one, _ in hosts_of(arguments, left_out)]
    kept, older = odd.newest(hosts)
    marks = odd.marks(kept)
    missing: tuple[str, ...] = ()
    if arguments.expect:
        missing, others = shown.expected(_names(arguments.expect), kept)
        for place, mark in others.items():
            marks.setdefault(place, []).append(mark)
    left_out += [(one.place, f"there are newer documents of {one.name}") for one in older]
    return Fleet(tuple(kept), marks, missing, tuple(left_out))


def without_network(one: Host) -> Host:
    """Return a host without its snapshot: ten thousand of them, with the links of pods, do not fit into memory."""
    return replace(one, snapshot=None, state={})


def hosts_of(
    arguments: argparse.Namespace, left_out: list[tuple[str, str]], more: tuple[str, ...] = ()
) -> Iterator[tuple[Host, Saved]]:
    """Yield every node of the directory with its documents; *left_out* gets places that are no node, and why.

    *more* are parts of a report that are read as well.
    Raises UsageInvalid, also if there is no node.
    """
    options = Options(tuple(arguments.control_plane or CONTROL_PLANE), _later)
    found = False
    for one in nodes(str(arguments.directory), more=more):
        if one.name:
            found = True
            yield host(one.name, one.place, one.documents, one.problems, options), one
        else:
            left_out.append((one.place, "; ".join(one.problems)))
    if not found:
        remedy = "Copy archives of `nodenetctl report` or files of `nodenetctl snapshot` into it"
        raise UsageInvalid(f"{arguments.directory} has no document of a node", remedy=remedy)


def _later(began: str, seconds: float) -> str:
    try:
        moment = datetime.strptime(began, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC) + timedelta(seconds=seconds)
    except (ValueError, OverflowError):
        return ""
    return f"{moment:%Y-%m-%dT%H:%M:%SZ}"


def _names(path: Path) -> list[str]:
    """Return the host names of a file; ``node/`` before them and comments are left out. Raises UsageInvalid."""
    try:
        with path.open("rb") as file:
            content = file.read(MOST_EXPECTED + 1)
    except OSError as error:
        raise UsageInvalid(f"{path} cannot be read: {error.strerror}") from error
    if len(content) > MOST_EXPECTED:
        raise UsageInvalid(f"{path} is larger than {MOST_EXPECTED >> 20} MiB", remedy="It has one host name a line")
    lines = (line.partition("#")[0].strip() for line in content.decode(errors="replace").splitlines())
    names = [line.removeprefix("node/") for line in lines if line]
    if not names:
        raise UsageInvalid(f"{path} names no host", remedy="Write one host name a line")
    return names


def _print(fleet: Fleet, *, only_odd: bool) -> None:
    table = Table([each.upper() for each in shown.COLUMNS])
    for one in fleet.hosts:
        marks = fleet.marks.get(one.place, ())
        if marks or not only_odd:
            table.add(shown.cells(one, marks), "33" if marks else "")
    print(table.render(coloured=has_colours()))
    for name in fleet.expected:
        print(printable(f"{name}: expected, and there is no document of it"))
    for place, why in fleet.left_out:
        note(printable(f"nodenetctl: {place}: left out: {why}"))
    print(f"\n{fleet.summary}.")
