"""Would nodenetd take these node files? Without touching the network, on any machine."""

from __future__ import annotations

import argparse
import asyncio
import sys
from pathlib import Path

from nodenet.core import desired, node_file
from nodenet.core.apply import NmstateFailure
from nodenet.core.errors import NodeFileInvalid, UsageInvalid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the verb's options."""
    parser.description = (
        "Check node files as nodenetd would at boot: name, owner and mode, UTF-8, YAML, duplicate keys, and every "
        "NMState key. Nothing is applied. Exits 0 when all are good, 65 when one is not."
    )
    parser.add_argument("path", type=Path, metavar="FILE|DIR", help="a node file, or a directory of them")


def run(arguments: argparse.Namespace) -> int:
    """Print one line a file; return the exit code."""
    path: Path = arguments.path
    if not path.exists():
        raise UsageInvalid(f"{path} does not exist")
    names = sorted(name.name for name in path.iterdir()) if path.is_dir() else [path.name]
    directory = path if path.is_dir() else path.parent
    files = [name for name in names if name.endswith(node_file.EXTENSIONS)]
    if not files:
        raise UsageInvalid(f"{path} has no node file", remedy="Node files end in .yml or .yaml")
    problems = asyncio.run(_check_all(directory, files))
    problems += _twins(files)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 65 if problems else 0


async def _check_all(directory: Path, names: list[str]) -> list[NodeFileInvalid | NmstateFailure]:
    from nodenet.edge.files import read_node_file  # noqa: PLC0415
    from nodenet.edge.nmstate import Nmstate  # noqa: PLC0415

    problems: list[NodeFileInvalid | NmstateFailure] = []
    async with Nmstate().transaction() as transaction:
        for name in names:
            try:
                file = node_file.read(name, read_node_file(directory, name))
                if desired.parse(file).empty:
                    print(f"{name}: empty, counts as no node file")
                    continue
                await transaction.validate(file.text)
                print(f"{name}: good ({file.digest[:12]})")
            except NodeFileInvalid as error:
                problems.append(error)
            except NmstateFailure as error:
                problems.append(NodeFileInvalid(f"{name}: {error.cause}", remedy=error.remedy))
    return problems


def _twins(names: list[str]) -> list[NodeFileInvalid | NmstateFailure]:
    """Return a problem for each stem that several files claim."""
    problems: list[NodeFileInvalid | NmstateFailure] = []
    for stem in sorted({name.rpartition(".")[0].lower() for name in names}):
        try:
            node_file.search(stem, [name for name in names if name.rpartition(".")[0].lower() == stem])
        except NodeFileInvalid as error:
            problems.append(error)
    return problems
