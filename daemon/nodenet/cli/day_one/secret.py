"""The Secret with a host's node file, and the fields of its BareMetalHost, for a host that is added later."""

from __future__ import annotations

import argparse
from pathlib import Path

from nodenet.cli.day_one import folder
from nodenet.core.day_one import bare_metal_host
from nodenet.core.day_one.files import ArtefactInvalid


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options."""
    parser.description = (
        "Print a Secret that carries the node file, and the BareMetalHost fields that name it, as two YAML documents. "
        "The node file stands in the Secret as it is, secrets included."
    )
    parser.add_argument("path", type=Path, metavar="FILE", help="the node file of the host")
    parser.add_argument("--host", required=True, metavar="NAME", help="name of the BareMetalHost")
    folder.add_output(parser, "both documents")


def run(arguments: argparse.Namespace) -> int:
    """Print or write them; return the exit code. Raises NodenetError."""
    content = folder.read(arguments.path)
    try:
        text = f"{bare_metal_host.secret(arguments.host, content)}---\n{bare_metal_host.host_patch(arguments.host)}"
    except ArtefactInvalid as error:
        raise folder.invalid("--host", error) from error
    folder.write(text, arguments)
    return 0
