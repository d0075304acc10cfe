"""How do the parts of a report become one file? As tar, compressed by gzip."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Mapping

PRIVATE = 0o600


def packed(top: str, files: Mapping[str, bytes], moment: float) -> bytes:
    """Return the archive of *files* below the directory *top*, in their order; *moment*: their time (Unix)."""
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz", compresslevel=6) as archive:
        for name, content in files.items():
            entry = tarfile.TarInfo(f"{top}/{name}")
            entry.size, entry.mtime, entry.mode = len(content), int(moment), PRIVATE
            archive.addfile(entry, io.BytesIO(content))
    return stream.getvalue()
