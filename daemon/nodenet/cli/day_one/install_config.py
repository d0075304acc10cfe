"""install-config with the node file of each bare-metal host; every other byte stays."""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from nodenet.cli.day_one import folder
from nodenet.cli.outputs import note
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.errors import NodeFileInvalid, UsageInvalid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print install-config with platform.baremetal.hosts[].networkConfig filled from the node file that has the "
        "host's name. Comments, order and quoting stay; a host that has another networkConfig is an error. With "
        "--extract, write the networkConfig of each host into the folder --out, as HOST.yml."
    )
    parser.add_argument("path", type=Path, metavar="FILE", help="install-config.yaml")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--node-files", type=Path, metavar="DIR", help="a folder of node files")
    what.add_argument("--extract", action="store_true", help="write what is there into files; --out names a folder")
    folder.add_map(parser)
    folder.add_output(parser, "install-config, or the extracted files,")


def run(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one import install_config  # noqa: PLC0415
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    if arguments.extract:
        folder.needs_folder(arguments)
    text = folder.read(arguments.path, folder.MOST_MANIFEST_BYTES).decode()
    try:
        if arguments.extract:
            return _extract(install_config.network_configs(text), arguments)
        contents = folder.node_files(arguments.node_files)
        files = {name: content.decode() for name, content in contents.items()}
        by_host = _by_host(install_config.hosts(text), files, folder.mapped(arguments.map))
        used = {name: contents[name] for name in by_host.values()}
        findings.refuse(folder.shown(arguments.node_files, used), Step.FIRST)
        made = install_config.fill(text, {host: files[name] for host, name in by_host.items()})
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.path, error) from error
    folder.write(made.text, arguments)
    for host in made.without_file:
        note(f"nodenetctl: no node file for host {host}: it keeps what {arguments.path} says")
    return 0


def _extract(found: Mapping[str, str], arguments: argparse.Namespace) -> int:
    if not found:
        raise NodeFileInvalid(f"{arguments.path}: no host has a networkConfig", remedy="Look at its hosts")
    if strange := [host for host in found if "/" in host or host in (".", "..")]:
        raise NodeFileInvalid(f"{arguments.path}: {strange[0]!r} is not a host name", remedy="Correct the name")
    folder.extracted({PurePosixPath(f"{host}.yml"): text.encode() for host, text in found.items()}, arguments)
    return 0


def _by_host(hosts: Iterable[str], files: dict[str, str], mapped: dict[str, str]) -> dict[str, str]:
    """Return the name of each host's node file: the mapped one, else HOST.yml, else HOST.yaml. Raises UsageInvalid."""
    if strange := sorted(set(mapped) - set(hosts)):
        raise UsageInvalid(f"--map names the host {strange[0]}, which install-config does not have")
    found = {}
    for host in hosts:
        names = [mapped[host]] if host in mapped else [f"{host}.yml", f"{host}.yaml"]
        name = next((name for name in names if name in files), None)
        if name is None and host in mapped:
            raise UsageInvalid(f"--map names the node file {mapped[host]}, which does not exist")
        if name is not None:
            found[host] = name
    return found
