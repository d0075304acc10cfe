"""The document of the first step: the same addresses without Open vSwitch, for the deployment image."""

from __future__ import annotations

import argparse
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.core.day_one.files import ArtefactInvalid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Derive, from node files that make br-ex, the documents that configure the same addresses, routes and DNS "
        "on the link below it, before Open vSwitch exists."
    )
    parser.add_argument("path", type=Path, metavar="FILE|DIR", help="a node file, or a folder of them")
    folder.add_folder_output(parser, "the documents")


def run(arguments: argparse.Namespace) -> int:
    """Write them; return the exit code. Raises NodenetError, with nothing written when one file is refused."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one import document, early  # noqa: PLC0415
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    folder.needs_folder_output(arguments)
    made = {}
    files = folder.node_files(arguments.path)
    findings.refuse(folder.shown(arguments.path, files), Step.BOTH)
    for name, content in files.items():
        try:
            made[name] = early.render(early.early(document.read(content.decode()))).encode()
        except ArtefactInvalid as error:
            raise folder.invalid(name, error) from error
    folder.write_all(made, arguments)
    return 0
