"""Archives as no program of ours makes them."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path


def member(
    name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"", link: str = ""
) -> tuple[tarfile.TarInfo, bytes]:
    """Return one member of an archive."""
    info = tarfile.TarInfo(name)
    info.type, info.size, info.linkname = kind, len(content), link
    return info, content


def crafted(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> None:
    """Write an archive of *members* to *path*."""
    with tarfile.open(path, "w:gz") as made:
        for info, content in members:
            made.addfile(info, io.BytesIO(content))
