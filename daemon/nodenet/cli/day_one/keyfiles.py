"""NetworkManager keyfiles for the deployment image, generated offline by libnmstate."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.cli.outputs import note
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.errors import NodeFileInvalid, UsageInvalid

MODE = 0o600
"""NetworkManager ignores a keyfile that other users than root can read."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Write the NetworkManager keyfiles of a node file into a folder, for /etc/NetworkManager/system-connections of "
        "a deployment image. What a keyfile cannot express is refused; what may leave the host without network is a "
        "warning."
    )
    parser.add_argument("path", type=Path, metavar="FILE", help="a node file without Open vSwitch")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="write the keyfiles into this folder")
    parser.add_argument("--force", action="store_true", help="overwrite files that have other content")


def run(arguments: argparse.Namespace) -> int:
    """Write them; return the exit code. Raises NodenetError, with nothing written."""
    from nodenet.core.day_one import document, keyfiles  # noqa: PLC0415 - the command line itself needs no library

    if not arguments.out.is_dir():
        raise UsageInvalid(f"--out {arguments.out} is not a folder that exists")
    text = folder.read(arguments.path).decode()
    try:
        found = document.read(text)
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.path, error) from error
    if refused := keyfiles.refusals(found):
        raise NodeFileInvalid(f"{arguments.path}: " + "; ".join(refused))
    files, said = asyncio.run(_generated(text))
    if not files:
        cause = f"{arguments.path}: libnmstate generates no keyfile from it"
        raise NodeFileInvalid(cause, remedy="Name at least one interface")
    for warning in (*keyfiles.warnings(found), *said):
        note(f"nodenetctl: warning: {warning}")
    for name, content in sorted(files.items()):
        folder.place(arguments.out / Path(name).name, content.encode(), force=arguments.force, mode=MODE)
        print(arguments.out / Path(name).name)
    return 0


async def _generated(text: str) -> tuple[dict[str, str], tuple[str, ...]]:
    from nodenet.edge.nmstate.client import Nmstate  # noqa: PLC0415 - for this verb only

    async with Nmstate().transaction() as transaction:
        return await transaction.configurations(text)
