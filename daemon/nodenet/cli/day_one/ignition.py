"""An Ignition configuration that carries the node files of a folder."""

from __future__ import annotations

import argparse
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.core.day_one import ignition


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = "Print an Ignition 3.2.0 configuration (JSON) whose storage.files are the node files."
    parser.add_argument("path", type=Path, metavar="FILE|DIR", help="a folder of node files, or one of them")
    folder.add_output(parser, "the configuration")


def run(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    folder.write(ignition.render(folder.carried(folder.node_files(arguments.path))), arguments)
    return 0
