"""How are node files read from a folder, and artefacts written without overwriting other content?"""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePosixPath

from nodenet.cli.outputs import printable
from nodenet.core.day_one.reading import MOST_BYTES, ArtefactInvalid, CarriedFile
from nodenet.core.errors import NodeFileInvalid, PublishFailed, UsageInvalid
from nodenet.core.node_file.find import EXTENSIONS
from nodenet.core.value import frozen
from nodenet.edge.files import disk

NODE_FILE_DIR = PurePosixPath("/etc/nmstate/openshift")
KEYFILE_DIR = PurePosixPath("/etc/NetworkManager/system-connections")
KEYFILE = ".nmconnection"
PRIVATE, PUBLIC = 0o600, 0o644
"""A node file, and everything that is made from one, may contain passwords."""
MOST_MANIFEST_BYTES = 32 << 20
"""install-config of 10 000 hosts has 15 MB."""
_REMEDIES = {
    errno.EACCES: "Name a place with --out that you may write to",
    errno.EPERM: "Name a place with --out that you may write to",
    errno.EROFS: "Name a place with --out on a file system that is not read-only",
}
Signature = tuple[int, int, int, int]
"""Device, inode, size and time of modification: another value means that the content may be another one."""


@frozen
class Listing:
    """The names in a folder, or of one file, as they were when it was listed: the signature is None for a bad link."""

    path: Path
    names: Mapping[str, Signature | None]

    @property
    def node_files(self) -> tuple[str, ...]:
        """The names that can be node files, in order."""
        return tuple(name for name in sorted(self.names) if name.endswith(EXTENSIONS) and not name.startswith("."))

    def place(self, name: str) -> Path:
        """Return where a file of the listing is."""
        return self.path / name if self.path.is_dir() else self.path

    def changed(self) -> tuple[str, ...]:
        """Return the node files that are not what they were when this listing was made."""
        try:
            now = listed(self.path)
        except UsageInvalid:
            return self.node_files
        names = dict.fromkeys((*self.node_files, *now.node_files))
        return tuple(name for name in names if self.names.get(name) != now.names.get(name))


def listed(path: Path) -> Listing:
    """Return what is in a folder, or the one file. Raises UsageInvalid where there is nothing."""
    try:
        is_folder = stat.S_ISDIR(path.stat().st_mode)
    except (FileNotFoundError, NotADirectoryError):
        raise UsageInvalid(f"{path} does not exist") from None
    except OSError as error:
        raise UsageInvalid(f"{path} cannot be read: {error.strerror}") from None
    if not is_folder:
        return Listing(path, {path.name: _signature(path)})
    try:
        return Listing(path, {entry.name: _signature(Path(entry.path)) for entry in os.scandir(path)})
    except OSError as error:
        raise UsageInvalid(f"{path} cannot be listed: {error.strerror}") from None


def _signature(path: Path) -> Signature | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def add_output(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --out and --force, alike for every artefact."""
    parser.add_argument("--out", type=Path, metavar="FILE", help=f"write {what} there (default: standard output)")
    parser.add_argument("--force", action="store_true", help="overwrite a file that has other content")


def add_folder_output(parser: argparse.ArgumentParser, what: str) -> None:
    """Add --out, which is required, and --force, for verbs that write several files."""
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help=f"write {what} into this folder")
    parser.add_argument("--force", action="store_true", help="overwrite files that have other content")


def add_map(parser: argparse.ArgumentParser) -> None:
    """Add --map, for hosts whose node file has another name."""
    parser.add_argument(
        "--map",
        action="append",
        default=[],
        metavar="HOST=FILE",
        help="the node file of a host that has another name; may be given several times",
    )


def mapped(words: Iterable[str]) -> dict[str, str]:
    """Return host → node file of --map. Raises UsageInvalid."""
    pairs: dict[str, str] = {}
    for word in words:
        host, equals, name = word.partition("=")
        if not (host and equals and name):
            raise UsageInvalid(f"--map {word!r} is not HOST=FILE")
        if pairs.setdefault(host, name) != name:
            raise UsageInvalid(f"--map names two files for {host}: {pairs[host]} and {name}")
    return pairs


def node_files(path: Path) -> dict[str, bytes]:
    """Return name and content of each node file of a folder, or of one file. Raises UsageInvalid, NodeFileInvalid."""
    found = listed(path)
    if not found.node_files:
        raise UsageInvalid(f"{path} has no node file", remedy="Node files end in .yml or .yaml")
    contents = {name: read(found.place(name)) for name in found.node_files}
    if changed := found.changed():
        raise NodeFileInvalid(
            f"{found.place(changed[0])} changed while {path} was read", remedy="Run the command again"
        )
    return contents


def shown(path: Path, files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Return the files of a folder under the names that findings have."""
    place = Listing(path, {}).place
    return {str(place(name)): content for name, content in files.items()}


def read(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the bytes of one file, UTF-8 and not too large. Raises UsageInvalid, NodeFileInvalid."""
    content = read_bytes(path, most_bytes)
    try:
        content.decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise NodeFileInvalid(f"{path}, line {line} is not UTF-8", remedy="Save the file as UTF-8") from None
    return content


def read_bytes(path: Path, most_bytes: int = MOST_BYTES) -> bytes:
    """Return the bytes of a regular file that is not too large. Raises UsageInvalid, NodeFileInvalid."""
    try:
        # Without O_NONBLOCK a FIFO of that name would be waited for, for ever; one of the shell, `<(…)`, has a writer.
        of_shell = str(path).startswith("/dev/fd/") and path.is_fifo()
        flags = os.O_RDONLY | os.O_CLOEXEC | (0 if of_shell else os.O_NONBLOCK)
        with os.fdopen(os.open(path, flags), "rb") as file:
            if not (of_shell or stat.S_ISREG(os.fstat(file.fileno()).st_mode)):
                raise UsageInvalid(f"{path} is not a file that can be read", remedy="Name a regular file")
            content = file.read(most_bytes + 1)
    except OSError as error:
        raise UsageInvalid(f"{path} cannot be read: {error.strerror}") from None
    if len(content) > most_bytes:
        raise NodeFileInvalid(f"{path} has more than {most_bytes} bytes", remedy="Name the right file, or split it")
    return content


def keyfiles(path: Path) -> list[CarriedFile]:
    """Return the keyfiles of a folder with their paths on the host. Raises UsageInvalid, NodeFileInvalid."""
    names = sorted(name for name in listed(path).names if name.endswith(KEYFILE)) if path.is_dir() else []
    return [CarriedFile(KEYFILE_DIR / name, read(path / name), 0o600) for name in names]


def carried(files: dict[str, bytes]) -> list[CarriedFile]:
    """Return node files with their paths on every node of a role. Raises NodeFileInvalid for another extension."""
    for name in files:
        if not name.endswith(".yml"):
            raise NodeFileInvalid(f"{name} does not end in .yml", remedy="Rename it: other readers take .yml only")
    return [CarriedFile(NODE_FILE_DIR / name, content) for name, content in files.items()]


def needs_folder_output(arguments: argparse.Namespace) -> None:
    """Return when --out is a folder. Raises UsageInvalid."""
    if not arguments.out.is_dir():
        raise UsageInvalid(f"--out {arguments.out} is not a folder that exists")


def needs_folder(arguments: argparse.Namespace) -> None:
    """Return when --out is a folder for extracted files. Raises UsageInvalid."""
    if arguments.out is None or not arguments.out.is_dir():
        raise UsageInvalid("--extract needs --out with a folder that exists")


def extracted(files: Mapping[PurePosixPath, bytes], arguments: argparse.Namespace, mode: int = PRIVATE) -> None:
    """Write files by their relative paths into the folder --out and print each. Raises UsageInvalid, PublishFailed."""
    whole = arguments.out.resolve()
    wanted = {arguments.out / place: content for place, content in sorted(files.items())}
    for path in wanted:
        if not path.parent.resolve().is_relative_to(whole):
            raise UsageInvalid(f"{path.parent} leads out of {arguments.out}", remedy="Remove the symbolic link")
    for path in wanted:
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageInvalid(f"{path.parent} cannot be made: {error.strerror}") from None
    place_all(wanted, force=arguments.force, mode=mode)
    for path, content in wanted.items():
        print(printable(f"{path}: {len(content)} bytes"))


def write_all(files: Mapping[str, bytes], arguments: argparse.Namespace) -> None:
    """Write files by their names into the folder --out and print their paths. Raises UsageInvalid, PublishFailed."""
    wanted = {arguments.out / name: content for name, content in files.items()}
    place_all(wanted, force=arguments.force)
    for path in wanted:
        print(printable(str(path)))


def write(text: str, arguments: argparse.Namespace, mode: int = PRIVATE) -> None:
    """Print *text*, or write it where --out says. Raises UsageInvalid when another file is there."""
    if arguments.out is None:
        sys.stdout.write(text)
    else:
        place(arguments.out, text.encode(), force=arguments.force, mode=mode)


def place(path: Path, content: bytes, *, force: bool, mode: int = PRIVATE) -> None:
    """Write a file whole; equal content is not written again. Raises UsageInvalid when other content is there."""
    place_all({path: content}, force=force, mode=mode)


def place_all(files: Mapping[Path, bytes], *, force: bool, mode: int = PRIVATE) -> None:
    """Write several files; if one fails, the new ones are removed again. Raises UsageInvalid, PublishFailed."""
    for path, content in files.items():
        may_be_placed(path, content, force=force)
    made: list[Path] = []
    try:
        for path, content in files.items():
            new = not (path.exists() or path.is_symlink())
            disk.write(path, content, mode)
            made += [path] if new else []
        disk.clear_stray({path.parent for path in files}, ours=())  # of a run that was killed
    except BaseException as error:
        for path in made:
            with contextlib.suppress(OSError):
                path.unlink()
        if isinstance(error, PublishFailed):
            why = getattr(error.__cause__, "errno", None)
            raise error.saying(error.cause, _REMEDIES.get(why or 0, error.remedy)) from error.__cause__
        raise


def may_be_placed(path: Path, content: bytes, *, force: bool) -> None:
    """Return when *path* may be written. Raises UsageInvalid when other content is there, or no folder for it."""
    if not path.parent.is_dir():
        raise UsageInvalid(f"the folder {path.parent} does not exist")
    if path.is_dir():
        raise UsageInvalid(f"{path} is a folder", remedy="Name a file")
    if (path.exists() or path.is_symlink()) and not force and _content(path) != content:
        raise UsageInvalid(f"{path} is there already with other content", remedy="Use --force to overwrite it")


def _content(path: Path) -> bytes | None:
    try:
        return read_bytes(path, MOST_MANIFEST_BYTES)
    except (UsageInvalid, NodeFileInvalid):
        return None


def invalid(name: object, error: ArtefactInvalid) -> NodeFileInvalid:
    """Return the error of an artefact that cannot be read or made, for the command line."""
    return NodeFileInvalid(f"{name}: {error}", remedy="Correct it and run the command again")
