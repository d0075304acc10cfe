"""How are the bytes of a Debian package made? From a directory, the same each time; deb(5) has the format.

The order of the files matters for an upgrade that is cut by power: dpkg renames them into place in this order, so what
is in the directory of the build comes before the launchers that use it.
"""

from __future__ import annotations

import io
import lzma
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path

from staging import EPOCH

PRESET = 9 | lzma.PRESET_EXTREME
"""xz's; dpkg needs 65 MB of memory to unpack that."""


def package(control: Mapping[str, tuple[str, int]], tree: Path, first: str, *, compressed: bool = True) -> bytes:
    """Return a package with these control files (text and mode) and the files of *tree*; those below *first* first."""
    members = {"debian-binary": b"2.0\n"}
    for name, content in (("control.tar", _control(control)), ("data.tar", _data(tree, first))):
        if compressed:
            members[f"{name}.xz"] = lzma.compress(content, preset=PRESET)
        else:
            members[name] = content
    return b"!<arch>\n" + b"".join(_member(name, content) for name, content in members.items())


def _member(name: str, content: bytes) -> bytes:
    header = f"{name:<16}{EPOCH:<12}{0:<6}{0:<6}{'100644':<8}{len(content):<10}`\n"
    return header.encode() + content + b"\n" * (len(content) % 2)


def _control(files: Mapping[str, tuple[str, int]]) -> bytes:
    def fill(archive: tarfile.TarFile) -> None:
        _add_directory(archive, "./")
        for name, (text, mode) in sorted(files.items()):
            _add_file(archive, f"./{name}", text.encode(), mode)

    return _tar(fill)


def _data(tree: Path, first: str) -> bytes:
    def fill(archive: tarfile.TarFile) -> None:
        paths = sorted(tree.rglob("*"), key=str)
        _add_directory(archive, "./")
        for path in paths:
            if path.is_dir():
                _add_directory(archive, f"./{path.relative_to(tree)}/")
        files = [path for path in paths if path.is_file()]
        for path in sorted(files, key=lambda path: not path.is_relative_to(tree / first)):
            _add_file(archive, f"./{path.relative_to(tree)}", path.read_bytes(), path.stat().st_mode & 0o777)

    return _tar(fill)


def _tar(fill: Callable[[tarfile.TarFile], None]) -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.GNU_FORMAT) as archive:
        fill(archive)
    return buffer.getvalue()


def _add_directory(archive: tarfile.TarFile, name: str) -> None:
    entry = _entry(name, 0o755)
    entry.type = tarfile.DIRTYPE
    archive.addfile(entry)


def _add_file(archive: tarfile.TarFile, name: str, content: bytes, mode: int) -> None:
    entry = _entry(name, mode)
    entry.size = len(content)
    archive.addfile(entry, io.BytesIO(content))


def _entry(name: str, mode: int) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(name)
    entry.mode, entry.mtime = mode, EPOCH
    entry.uname = entry.gname = "root"
    return entry
