"""install-config with the node file of each bare-metal host; every other byte stays."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.cli.outputs import note
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.errors import UsageInvalid

MOST_BYTES = 64 << 20


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print install-config with platform.baremetal.hosts[].networkConfig filled from the node file that has the "
        "host's name. Comments, order and quoting stay; a host that has another networkConfig is an error."
    )
    parser.add_argument("path", type=Path, metavar="FILE", help="install-config.yaml")
    parser.add_argument("--node-files", type=Path, required=True, metavar="DIR", help="a folder of node files")
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="HOST=NAME",
        help="the node file of a host that has another name; may be given several times",
    )
    folder.add_output(parser, "install-config")


def run(arguments: argparse.Namespace) -> int:
    """Print or write it; return the exit code. Raises NodenetError."""
    from nodenet.core.day_one import install_config  # noqa: PLC0415 - the command line itself needs no library

    text = folder.read(arguments.path, MOST_BYTES).decode()
    files = {name: content.decode() for name, content in folder.node_files(arguments.node_files).items()}
    try:
        hosts = install_config.hosts(text)
        made = install_config.fill(text, _by_host(hosts, files, _mapped(arguments.map)))
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.path, error) from error
    folder.write(made.text, arguments)
    for host in made.without_file:
        note(f"nodenetctl: no node file for host {host}: it keeps what {arguments.path} says")
    return 0


def _mapped(words: Iterable[str]) -> dict[str, str]:
    pairs = {}
    for word in words:
        host, equals, name = word.partition("=")
        if not (host and equals and name):
            raise UsageInvalid(f"--map {word!r} is not HOST=NAME")
        pairs[host] = name
    return pairs


def _by_host(hosts: Iterable[str], files: dict[str, str], mapped: dict[str, str]) -> dict[str, str]:
    """Return the node file of each host: the mapped one, else HOST.yml, else HOST.yaml. Raises UsageInvalid."""
    if strange := sorted(set(mapped) - set(hosts)):
        raise UsageInvalid(f"--map names the host {strange[0]}, which install-config does not have")
    found = {}
    for host in hosts:
        names = [mapped[host]] if host in mapped else [f"{host}.yml", f"{host}.yaml"]
        name = next((name for name in names if name in files), None)
        if name is None and host in mapped:
            raise UsageInvalid(f"--map names the node file {mapped[host]}, which does not exist")
        if name is not None:
            found[host] = files[name]
    return found
