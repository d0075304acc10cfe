"""The document of the first step: the same addresses without Open vSwitch, for the deployment image."""

from __future__ import annotations

import argparse
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.errors import UsageInvalid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Derive, from node files that bring br-ex, the documents that configure the same addresses, routes and DNS "
        "on the link below it, before Open vSwitch exists."
    )
    parser.add_argument("path", type=Path, metavar="FILE|DIR", help="a node file, or a folder of them")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="write the documents into this folder")
    parser.add_argument("--force", action="store_true", help="overwrite files that have other content")


def run(arguments: argparse.Namespace) -> int:
    """Write them; return the exit code. Raises NodenetError, with nothing written when one file is refused."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one import document, early  # noqa: PLC0415
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    if not arguments.out.is_dir():
        raise UsageInvalid(f"--out {arguments.out} is not a folder that exists")
    made = {}
    files = folder.node_files(arguments.path)
    findings.refuse(folder.shown(arguments.path, files), Step.BOTH)
    for name, content in files.items():
        try:
            made[name] = early.render(early.early(document.read(content.decode())))
        except ArtefactInvalid as error:
            raise folder.invalid(name, error) from error
    placed = {arguments.out / name: text.encode() for name, text in made.items()}
    folder.place_all(placed, force=arguments.force)
    for path in placed:
        print(path)
    return 0
