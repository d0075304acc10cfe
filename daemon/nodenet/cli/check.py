"""Would nodenetd take these node files? Without touching the network, on any machine."""

from __future__ import annotations

import argparse
import asyncio
import json
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from nodenet.cli.outputs import note
from nodenet.core.errors import NodeFileInvalid, NodenetError, NotAllowed, Unavailable, UsageInvalid
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file import content as desired
from nodenet.core.node_file import find as node_file

if TYPE_CHECKING:
    from nodenet.edge.nmstate.client import Transaction

NO_ANSWER = frozenset({FailureKind.MISSING, FailureKind.DIED, FailureKind.KILLED})
"""Failures that say something of libnmstate, and nothing of the file."""


@dataclass(frozen=True, slots=True)
class Checked:
    """What became of one file; *digest* None: nothing in it is for libnmstate, or nobody got that far."""

    path: Path
    digest: str | None = None
    problem: NodenetError | None = None


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Check node files as nodenetd would at boot: name, owner and mode, UTF-8, YAML, duplicate keys, and every "
        "NMState key. Nothing is applied. Exits 0 when all are good, 65 when one is not, 69 when libnmstate "
        "cannot be asked."
    )
    parser.add_argument("path", type=Path, metavar="FILE|DIR", help="a node file, or a directory of them")
    parser.add_argument("--json", action="store_true", help="print a JSON document with an entry for each file")


def run(arguments: argparse.Namespace) -> int:
    """Print one line a file; return the exit code. Raises UsageInvalid, Unavailable, PermissionError."""
    path: Path = arguments.path
    try:
        whole = stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageInvalid(f"{path} does not exist") from None
    directory = path if whole else path.parent
    beside = sorted(name.name for name in directory.iterdir())
    names = beside if whole else [path.name]
    files = [name for name in names if name.endswith(node_file.EXTENSIONS) and not name.startswith(".")]
    if not files:
        raise UsageInvalid(f"{path} has no node file", remedy="Node files end in .yml or .yaml")
    checked = list(_without_twins(asyncio.run(_check_all(directory, files)), beside))
    if arguments.json:
        print(json.dumps({"schema_version": 1, "files": [_entry(each) for each in checked]}, indent=2))
    else:
        _print_lines(checked)
    return 65 if any(each.problem for each in checked) else 0


def _entry(checked: Checked) -> dict[str, object]:
    problem = checked.problem
    return {
        "file": str(checked.path),
        "ok": problem is None,
        "digest": checked.digest,
        "cause": problem.cause if problem else None,
        "remedy": problem.remedy if problem else None,
    }


def _print_lines(checked: list[Checked]) -> None:
    for each in checked:
        if each.problem is None:
            good = f"good ({each.digest[:12]})" if each.digest else "empty, counts as no node file"
            print(f"{each.path.name}: {good}")
    for problem in dict.fromkeys(str(each.problem) for each in checked if each.problem):
        note(problem)


async def _check_all(directory: Path, names: list[str]) -> list[Checked]:
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415

    async with Nmstate().transaction() as transaction:
        return [await _check(transaction, directory / name) for name in names]


async def _check(transaction: Transaction, path: Path) -> Checked:
    """Look at a file as nodenetd would. Raises Unavailable when libnmstate cannot be asked, NotAllowed."""
    from nodenet.edge.files.disk import read_node_file  # noqa: PLC0415

    try:
        file = node_file.read(path.name, read_node_file(path.parent, path.name))
        if desired.parse(file).empty:
            return Checked(path)
        await transaction.validate(file.text)
    except NodeFileInvalid as error:
        if isinstance(error.__cause__, PermissionError):
            raise NotAllowed(error.cause) from error
        return Checked(path, problem=error)
    except NmstateFailure as error:
        if error.kind in NO_ANSWER:
            raise Unavailable(f"{path.name} cannot be checked: {error.cause}", remedy=error.remedy) from error
        return Checked(path, problem=NodeFileInvalid(f"{path.name}: {error.cause}", remedy=error.remedy))
    return Checked(path, digest=file.digest)


def _without_twins(checked: list[Checked], beside: list[str]) -> Iterator[Checked]:
    """Yield them, those that were good with the problem that another file *beside* them claims to be the same."""
    for each in checked:
        try:
            node_file.search(each.path.stem.lower(), beside)
        except NodeFileInvalid as error:
            yield each if each.problem else replace(each, problem=error)
        else:
            yield each
