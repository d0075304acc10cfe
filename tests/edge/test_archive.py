"""What is in a report archive: read with limits."""

from __future__ import annotations

import gzip
import os
import tarfile
from pathlib import Path

import pytest

from nodenet.core.errors import UsageInvalid
from nodenet.edge.archive import unpacked
from nodenet.edge.report import packed


def tar(*members: tuple[str, bytes, int | None]) -> bytes:
    """Return an archive; the third value is the size that the head of a member names in place of its own."""
    blocks = b""
    for name, content, size in members:
        info = tarfile.TarInfo(name)
        info.size = len(content) if size is None else size
        blocks += info.tobuf(tarfile.GNU_FORMAT) + content + bytes(-len(content) % tarfile.BLOCKSIZE)
    return blocks + bytes(2 * tarfile.BLOCKSIZE)


def test_an_archive_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "r.tar.gz"
    path.write_bytes(packed("top", {"a.txt": b"a", "b/c.txt": b"c" * 5000}, 1.0))
    assert unpacked(path) == ({"a.txt": b"a", "b/c.txt": b"c" * 5000}, ())


def test_an_archive_that_is_torn_has_its_first_parts(tmp_path: Path) -> None:
    path = tmp_path / "r.tar.gz"
    whole = packed("top", {"a.txt": b"a", "b.txt": os.urandom(100_000)}, 1.0)
    path.write_bytes(whole[: len(whole) // 2])
    files, notes = unpacked(path)
    assert files["a.txt"] == b"a"
    assert "".join(notes).startswith("The archive is not whole: the archive is torn or damaged: ")


@pytest.mark.parametrize(
    "content",
    [b"", b"no gzip", gzip.compress(b"no tar" * 200), gzip.compress(b"x" * 512)],
    ids=["empty", "no gzip", "no tar", "one block"],  # the bytes have the time
)
def test_what_is_no_archive_is_refused(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "r.tar.gz"
    path.write_bytes(content)
    with pytest.raises(UsageInvalid, match=r"r\.tar\.gz"):
        unpacked(path)
    with pytest.raises(UsageInvalid, match="No such file"):
        unpacked(tmp_path / "gone")


def test_a_hostile_archive_costs_nothing_and_writes_nothing(tmp_path: Path) -> None:
    """Names that lead elsewhere, a size of exabytes, thousands of members, and a bomb of zeros."""
    path = tmp_path / "r.tar.gz"
    members = [("top/../../../etc/passwd", b"x", None), ("/etc/shadow", b"y", None), ("top/huge", b"z", 1 << 62)]
    path.write_bytes(gzip.compress(tar(*members)))
    files, notes = unpacked(path)
    assert files == {"../../../etc/passwd": b"x"}, "a name, which is never opened"
    assert notes == ("The archive is not whole: the archive is torn or damaged: unexpected end of data.",)
    path.write_bytes(gzip.compress(tar(*((f"top/{number}", b"", None) for number in range(5000)))))
    files, notes = unpacked(path)
    assert (len(files), notes) == (1000, ("The archive is not whole: more than 1000 parts: the rest is not read.",))
    zeros = [(f"top/zeros{number}", bytes(30 << 20), None) for number in range(8)]
    path.write_bytes(gzip.compress(tar(("top/a", b"a", None), *zeros, ("top/late", b"", None)), 1))
    files, notes = unpacked(path)
    assert set(files) == {"a", *(f"zeros{number}" for number in range(5))}
    assert notes == ("The archive is not whole: more than 160 MiB: the rest is not read.",)
    assert [each.name for each in tmp_path.iterdir()] == ["r.tar.gz"]
