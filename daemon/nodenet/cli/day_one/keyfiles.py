"""NetworkManager keyfiles for the deployment image, generated offline by libnmstate."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.cli.outputs import note
from nodenet.core.errors import NodeFileInvalid, Unavailable
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Write the NetworkManager keyfiles of a node file into a folder, for /etc/NetworkManager/system-connections of "
        "a deployment image. What a keyfile cannot express is refused; what may leave the host without network is a "
        "warning."
    )
    parser.add_argument("path", type=Path, metavar="FILE", help="a node file without Open vSwitch")
    folder.add_folder_output(parser, "the keyfiles")


def run(arguments: argparse.Namespace) -> int:
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
