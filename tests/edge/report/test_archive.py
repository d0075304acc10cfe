"""The archive of a report."""

from __future__ import annotations

import io
import tarfile

from nodenet.edge.report.sources import packed


def test_the_files_are_in_their_order_for_their_owner_only() -> None:
    content = packed("top", {"contents.json": b"{}", "node-files/b.json": b"b"}, 1763827200.5)
    with tarfile.open(fileobj=io.BytesIO(content)) as archive:
        assert [(one.name, one.mode, one.mtime, one.uid) for one in archive] == [
            ("top/contents.json", 0o600, 1763827200, 0),
            ("top/node-files/b.json", 0o600, 1763827200, 0),
        ]
        file = archive.extractfile("top/node-files/b.json")
        assert file is not None
        assert file.read() == b"b"
