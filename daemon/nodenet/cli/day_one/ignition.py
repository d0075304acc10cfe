"""An Ignition configuration that carries node files or keyfiles; with --extract, the files of one."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.day_one.machine_config import files_in_ignition, render_ignition
from nodenet.core.errors import NodeFileInvalid, UsageInvalid

MOST_BYTES = 32 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print an Ignition 3.2.0 configuration (JSON) whose storage.files are the node files of a folder, with mode "
        "0644, and its keyfiles (*.nmconnection), with mode 0600. With --extract, write the files that an Ignition "
        "configuration of any version 3 carries, byte for byte."
    )
    parser.add_argument("path", type=Path, nargs="?", metavar="FILE|DIR", help="a folder of such files, or a node file")
    parser.add_argument("--extract", type=Path, metavar="FILE", help="read this configuration; --out names a folder")
    folder.add_output(parser, "the configuration, or the extracted files,")


def run(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    if arguments.extract is not None:
        folder.needs_folder(arguments)
        return _extract(arguments)
    if arguments.path is None:
        raise UsageInvalid("FILE or DIR is needed", remedy="Or read a configuration with --extract FILE --out DIR")
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    keyfiles = folder.keyfiles(arguments.path) if arguments.path.is_dir() else []
    has_node_files = folder.listed(arguments.path).node_files
    files = folder.node_files(arguments.path) if has_node_files or not keyfiles else {}
    findings.refuse(folder.shown(arguments.path, files), Step.SECOND)
    folder.write(render_ignition([*folder.carried(files), *keyfiles]), arguments)
    return 0


def _extract(arguments: argparse.Namespace) -> int:
    content = folder.read(arguments.extract, MOST_BYTES)
    try:
        files = files_in_ignition(json.loads(content))
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.extract, error) from error
    except (ValueError, RecursionError) as error:
        cause = f"{arguments.extract} is not JSON: {error}"
        raise NodeFileInvalid(cause, remedy="Name an Ignition configuration; Butane's YAML is not one") from None
    folder.extracted({file.path.relative_to("/"): file.content for file in files}, arguments)
    return 0
