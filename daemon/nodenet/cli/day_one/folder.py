"""How are node files read from a folder, and artefacts written without harm to what is there?"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path, PurePosixPath

from nodenet.core.day_one.files import MOST_BYTES, ArtefactInvalid, CarriedFile
from nodenet.core.errors import NodeFileInvalid, UsageInvalid
from nodenet.core.node_file.find import EXTENSIONS
from nodenet.edge.files import disk

NODE_FILE_DIR = PurePosixPath("/etc/nmstate/openshift")


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --out and --force, alike for every artefact."""
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"write {what} there (default: standard output)")
    parser.add_argument("--force", action="store_true", help="overwrite a file that has other content")


def node_files(path: Path) -> dict[str, bytes]:
    """Return name and content of each node file of a folder, or of one file. Raises UsageInvalid, NodeFileInvalid."""
    if not path.exists():
        raise UsageInvalid(f"{path} does not exist")
    found = [path] if path.is_file() else sorted(path.iterdir())
    files = [file for file in found if file.name.endswith(EXTENSIONS) and not file.name.startswith(".")]
    if not files:
        raise UsageInvalid(f"{path} has no node file", remedy="Node files end in .yml or .yaml")
    return {file.name: read(file) for file in files}


def read(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the bytes of one file, UTF-8 and not too large. Raises UsageInvalid, NodeFileInvalid."""
    try:
        with path.open("rb") as file:
            content = file.read(most_bytes + 1)
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
        raise UsageInvalid(f"{path} is not a file that can be read") from None
    if len(content) > most_bytes:
        raise NodeFileInvalid(f"{path} has more than {most_bytes} bytes", remedy="Name the right file, or split it")
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise NodeFileInvalid(f"{path}, line {line} is not UTF-8", remedy="Save the file as UTF-8") from None
    return content


def carried(files: dict[str, bytes]) -> list[CarriedFile]:
    """Return node files as they are to lie on every node of a role. Raises NodeFileInvalid for another extension."""
    for name in files:
        if not name.endswith(".yml"):
            raise NodeFileInvalid(f"{name} does not end in .yml", remedy="Rename it: other readers take .yml only")
    return [CarriedFile(NODE_FILE_DIR / name, content) for name, content in files.items()]


def write(text: str, arguments: argparse.Namespace) -> None:
    """Print *text*, or write it where --out says. Raises UsageInvalid when another file is there."""
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        place(arguments.out, text.encode(), force=arguments.force)


def place(path: Path, content: bytes, *, force: bool, mode: int = 0o644) -> None:
    """Write a file whole; equal content is not written again. Raises UsageInvalid when other content is there."""
    if not path.parent.is_dir():
        raise UsageInvalid(f"the folder {path.parent} does not exist")
    if path.exists() and not force and path.read_bytes() != content:
        raise UsageInvalid(f"{path} is there already with other content", remedy="Use --force to overwrite it")
    disk.write(path, content, mode)


def invalid(name: object, error: ArtefactInvalid) -> NodeFileInvalid:
    """Return the error of an artefact that cannot be read or made, for the command line."""
    return NodeFileInvalid(f"{name}: {error}", remedy="Correct it and run the command again")
