"""A MachineConfig that carries the node files of a folder; with --extract, the files of a MachineConfig."""

from __future__ import annotations

import argparse
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.core.day_one import machine_config
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.errors import NodeFileInvalid, UsageInvalid

MOST_BYTES = 4 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print a MachineConfig that puts the node files of DIR under /etc/nmstate/openshift on every node of a role. "
        "With --extract, write the files that a MachineConfig carries, byte for byte."
    )
    parser.add_argument("path", type=Path, nargs="?", metavar="DIR", help="a folder of node files")
    parser.add_argument("--role", metavar="ROLE", help="machine config pool: master, worker or one of your own")
    parser.add_argument("--name", metavar="NAME", help="name of the object (default: 10-nodenet-ROLE)")
    parser.add_argument("--extract", type=Path, metavar="FILE", help="read this MachineConfig; --out names a folder")
    folder.add_output(parser, "the object, or the extracted files,")


def run(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    if arguments.extract is not None:
        return _extract(arguments)
    if arguments.path is None or arguments.role is None:
        raise UsageInvalid("DIR and --role are needed", remedy="Or read a MachineConfig with --extract FILE --out DIR")
    for option, value in (("--role", arguments.role), ("--name", arguments.name)):
        if value is not None and not machine_config.is_name(value):
            raise UsageInvalid(f"{option} {value!r} is no name of Kubernetes", remedy="Use a-z, 0-9, '-' and '.'")
    files = folder.carried(folder.node_files(arguments.path))
    try:
        text = machine_config.render(files, arguments.role, arguments.name)
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.path, error) from error
    folder.write(text, arguments)
    return 0


def _extract(arguments: argparse.Namespace) -> int:
    if arguments.out is None or not arguments.out.is_dir():
        raise UsageInvalid("--extract needs --out with a folder that exists")
    from ruamel.yaml import YAML  # noqa: PLC0415 - the command line itself needs no library
    from ruamel.yaml.error import YAMLError  # noqa: PLC0415

    content = folder.read(arguments.extract, MOST_BYTES)
    try:
        files = machine_config.files_in(YAML(typ="safe", pure=True).load(content.decode()))
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.extract, error) from error
    except (YAMLError, ValueError, RecursionError) as error:
        problem = getattr(error, "problem", None) or type(error).__name__
        raise NodeFileInvalid(f"{arguments.extract} is not YAML: {problem}") from error
    wanted = {arguments.out / machine_config.place_of(file.path, folder.NODE_FILE_DIR): file for file in files}
    if len(wanted) != len(files):
        raise NodeFileInvalid(f"{arguments.extract} has two files of one name", remedy="Extract them one by one")
    for path, file in sorted(wanted.items()):
        path.parent.mkdir(parents=True, exist_ok=True)
        folder.place(path, file.content, force=arguments.force)
        print(f"{path}: {len(file.content)} bytes, for {file.path}")
    return 0
