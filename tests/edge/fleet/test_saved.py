"""What is saved of many nodes: read with limits."""

from __future__ import annotations

import gzip
import tarfile
from pathlib import Path

from crafted_archives import crafted, member
from nodenet.edge import fleet as saved
from nodenet.edge.archive import Limits


def test_huge_documents_and_archives_are_bounded(tmp_path: Path) -> None:
    """A part, a file and an archive that unpacks to more than the limit; a header that claims to be long."""
    crafted(tmp_path / "part.tar.gz", member("top/status.json", content=b" " * (2 << 20)))
    crafted(tmp_path / "bomb.tar.gz", member("top/journal.txt", content=bytes(9 << 20)))
    (tmp_path / "file.json").write_bytes(b" " * (2 << 20))
    info = tarfile.TarInfo("top/x")
    info.type, info.size = tarfile.XHDTYPE, 1 << 33
    (tmp_path / "header.tar.gz").write_bytes(gzip.compress(info.tobuf(tarfile.GNU_FORMAT) + bytes(4 << 20)))
    rows = {each.place: "; ".join(each.problems) for each in saved.nodes(str(tmp_path), Limits(1 << 20, 3 << 20))}
    assert "status.json is larger than 1 MiB" in rows["part.tar.gz"]
    assert "more than 3 MiB: the rest is not read" in rows["bomb.tar.gz"]
    assert "file.json is larger than 1 MiB" in rows["file"]
    assert "more than 3 MiB: the rest is not read" in rows["header.tar.gz"]


def test_a_member_that_claims_exabytes_ends_at_the_end_of_the_archive(tmp_path: Path) -> None:
    info = tarfile.TarInfo("top/x")
    info.pax_headers = {"size": "9" * 20}
    content = info.tobuf(tarfile.PAX_FORMAT) + bytes(1 << 20)
    (tmp_path / "claim.tar.gz").write_bytes(gzip.compress(content))
    (only,) = saved.nodes(str(tmp_path))
    assert only.problems == ("the archive is torn or damaged: it ends inside a member",)


def test_more_entries_than_the_limit_are_said(tmp_path: Path) -> None:
    for number in range(5):
        (tmp_path / f"{number}.json").write_text("{}")
    assert len(list(saved.nodes(str(tmp_path)))) == 5
    (only,) = saved.nodes(str(tmp_path), most=4)
    assert (only.name, only.problems) == ("", ("more than 4 files: these are left out",))


def test_a_folder_that_is_too_deep_or_hidden_is_not_read(tmp_path: Path) -> None:
    for folder in ("a/b/c", "a/b/c/d", ".git"):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
        (tmp_path / folder / "node.json").write_text("{}")
    assert [each.place for each in saved.nodes(str(tmp_path))] == ["a/b/c/node"]
