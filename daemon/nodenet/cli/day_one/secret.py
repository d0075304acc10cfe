"""The Secret with a host's node file, and the BareMetalHost that names it, for a host that is added later."""

from __future__ import annotations

import argparse
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.core.day_one.files import ArtefactInvalid
from nodenet.core.errors import UsageInvalid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print a Secret that carries the node file, and the BareMetalHost that names it, as YAML documents: the fields "
        "to merge into it, or with --bmh the whole manifest, in which every other byte stays. The node file is in the "
        "Secret as it is, secrets included; with --out the file is readable by its owner only. With --extract, write "
        "the node files that Secrets carry, byte for byte."
    )
    parser.add_argument("path", type=Path, nargs="?", metavar="FILE", help="the node file of the host")
    parser.add_argument("--host", metavar="NAME", help="name of the BareMetalHost")
    parser.add_argument("--bmh", type=Path, metavar="FILE", help="the manifest of the BareMetalHost")
    parser.add_argument("--extract", type=Path, metavar="FILE", help="read these Secrets; --out names a folder")
    folder.add_output(parser, "the documents")


def run(arguments: argparse.Namespace) -> int:
    """Print or write them; return the exit code. Raises NodenetError."""
    from nodenet.cli.day_one import findings  # noqa: PLC0415 - the command line itself needs no library
    from nodenet.core.day_one import bare_metal_host  # noqa: PLC0415
    from nodenet.core.day_one.node_rules import Step  # noqa: PLC0415

    if arguments.extract is not None:
        folder.needs_folder(arguments)
        return _extract(arguments)
    if arguments.path is None or arguments.host is None:
        raise UsageInvalid("FILE and --host are needed", remedy="Or read Secrets with --extract FILE --out DIR")
    content = folder.read(arguments.path)
    try:
        secret = bare_metal_host.secret(arguments.host, content)
        host = bare_metal_host.host_patch(arguments.host)
    except ArtefactInvalid as error:
        raise folder.invalid("--host", error) from error
    findings.refuse({str(arguments.path): content}, Step.FIRST)
    if arguments.bmh is not None:
        host = _manifest(arguments)
    between = "" if host.startswith("---") else "---\n"
    folder.write(f"{secret}{between}{host}", arguments)
    return 0


def _manifest(arguments: argparse.Namespace) -> str:
    from nodenet.core.day_one import bare_metal_host  # noqa: PLC0415
    from nodenet.core.day_one.bare_metal_host import named  # noqa: PLC0415

    text = folder.read(arguments.bmh, folder.MOST_MANIFEST_BYTES).decode()
    try:
        return named(text, arguments.host, bare_metal_host.secret_name(arguments.host))
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.bmh, error) from error


def _extract(arguments: argparse.Namespace) -> int:
    from nodenet.core.day_one import bare_metal_host  # noqa: PLC0415

    text = folder.read(arguments.extract, folder.MOST_MANIFEST_BYTES).decode()
    try:
        files = bare_metal_host.node_files_in(text)
    except ArtefactInvalid as error:
        raise folder.invalid(arguments.extract, error) from error
    folder.extracted(files, arguments)
    return 0
