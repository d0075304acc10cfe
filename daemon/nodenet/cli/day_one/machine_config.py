"""A MachineConfig that carries node files, a hint, or settings; with --extract, the files of a MachineConfig."""

from __future__ import annotations

import argparse
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.core.day_one.files import ArtefactInvalid, CarriedFile
from nodenet.core.errors import NodeFileInvalid, UsageInvalid

MOST_BYTES = 4 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print a MachineConfig that puts the node files of DIR under /etc/nmstate/openshift on every node of a role. "
        "--hint adds /etc/default/nodeip-configuration; --settings adds /etc/nodenet/nodenet.toml.d/20-cluster.toml "
        "with platform, VIPs, network type, domain and load balancer from install-config. With --extract, write the "
        "files that a MachineConfig carries, byte for byte."
    )
    parser.add_argument("path", type=Path, nargs="?", metavar="DIR", help="a folder of node files")
    parser.add_argument("--role", metavar="ROLE", help="machine config pool: master, worker or one of your own")
    parser.add_argument("--name", metavar="NAME", help="name of the object (default: 10-nodenet-ROLE)")
    parser.add_argument(
        "--hint", metavar="HINT", help="where the node IP is: an address, a prefix or the name of a link"
    )
    parser.add_argument("--settings", type=Path, metavar="FILE", help="make settings from this install-config")
    parser.add_argument("--extract", type=Path, metavar="FILE", help="read this MachineConfig; --out names a folder")
    folder.add_output(parser, "the object, or the extracted files,")


def run(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    from nodenet.core.day_one import machine_config  # noqa: PLC0415 - the command line itself needs no library

    if arguments.extract is not None:
        folder.needs_folder(arguments)
        return _extract(arguments)
    carries = (arguments.path, arguments.hint, arguments.settings)
    if arguments.role is None or not any(each is not None for each in carries):
        cause = "--role and at least one of DIR, --hint and --settings are needed"
        raise UsageInvalid(cause, remedy="Or read a MachineConfig with --extract FILE --out DIR")
    for option, value in (("--role", arguments.role), ("--name", arguments.name)):
        if value is not None and not machine_config.is_name(value):
            raise UsageInvalid(f"{option} {value!r} is not a Kubernetes name", remedy="Use a-z, 0-9, '-' and '.'")
    try:
        text = machine_config.render(_files(arguments), arguments.role, arguments.name)
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.path or arguments.role, error) from error
    folder.write(text, arguments)
    return 0


def _files(arguments: argparse.Namespace) -> list[CarriedFile]:
    files = _node_files(arguments.path) if arguments.path is not None else []
    if arguments.hint is not None:
        from nodenet.core.day_one.machine_config import hint_file  # noqa: PLC0415

        try:
            files.append(hint_file(arguments.hint))
        except ArtefactInvalid as error:
            raise UsageInvalid(str(error)) from error
    if arguments.settings is not None:
        files.append(_settings(arguments.settings))
    return files


def _node_files(path: Path) -> list[CarriedFile]:
    from nodenet.cli.day_one import findings  # noqa: PLC0415
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    found = folder.node_files(path)
    carried = folder.carried(found)
    findings.refuse(folder.shown(path, found), Step.SECOND)
    return carried


def _settings(path: Path) -> CarriedFile:
    from nodenet.core.day_one import reading  # noqa: PLC0415
    from nodenet.core.day_one.hosts import cluster_of  # noqa: PLC0415
    from nodenet.core.day_one.machine_config import settings_of  # noqa: PLC0415

    text = folder.read(path, folder.MOST_MANIFEST_BYTES).decode()
    cluster, found = cluster_of(str(path), reading.tree(str(path), text))
    if cluster is None or found:
        first = found[0]
        raise NodeFileInvalid(f"{path}, line {first.line}: {first.sentence()}", remedy=first.remedy)
    try:
        return settings_of(cluster)
    except ArtefactInvalid as error:
        raise folder.invalid(path, error) from error


def _extract(arguments: argparse.Namespace) -> int:
    from nodenet.core.day_one import machine_config, reading  # noqa: PLC0415

    content = folder.read(arguments.extract, MOST_BYTES)
    try:
        files = machine_config.files_in(reading.read(str(arguments.extract), content.decode()))
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.extract, error) from error
    wanted = {machine_config.place_of(file.path, folder.NODE_FILE_DIR): file.content for file in files}
    if len(wanted) != len(files):
        raise NodeFileInvalid(f"{arguments.extract} has two files of one name", remedy="Extract them one by one")
    folder.extracted(wanted, arguments)
    return 0
