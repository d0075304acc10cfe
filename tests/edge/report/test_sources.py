"""What may contain secrets on a node."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from nodenet.core.errors import NodenetError
from nodenet.core.history import entry
from nodenet.core.history.entry import Entry, Kind, Result
from nodenet.edge.report.sources import keyfiles, last_good, node_files, records


def test_node_files_with_the_ones_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "a.yml").write_bytes(b"a: \xff")
    (tmp_path / "b.yml").symlink_to("gone")
    (tmp_path / ".swp").touch()
    (tmp_path / "folder").mkdir()
    found = dict(node_files(tmp_path))
    assert found["a.yml"] == "a: \ufffd"
    assert isinstance(found["b.yml"], NodenetError)
    assert set(found) == {"a.yml", "b.yml"}


def test_the_nodes_own_file_is_among_those_of_a_large_cluster(tmp_path: Path) -> None:
    for number in range(150):
        (tmp_path / f"worker-{number:03}.yml").touch()
    (tmp_path / "cluster.yml").touch()
    names = [name for name, _ in node_files(tmp_path, ("worker-149", "cluster"))]
    assert names[:3] == ["cluster.yml", "worker-149.yml", "worker-000.yml"]
    assert len(names) == 100


def test_no_file_elsewhere_is_shown(tmp_path: Path) -> None:
    """As nodenetd: a link may lead to any file of the node, and what is in that one has no names of secrets."""
    (tmp_path / "elsewhere").write_text("client-key-data: abc\n")
    (tmp_path / "files").mkdir()
    (tmp_path / "files/a.yml").symlink_to(tmp_path / "elsewhere")
    ((_, found),) = node_files(tmp_path / "files")
    assert isinstance(found, NodenetError)
    assert found.cause == f"{tmp_path}/files/a.yml is a link out of {tmp_path}/files"


def test_keyfiles_of_directories_that_may_be_absent(tmp_path: Path) -> None:
    (tmp_path / "x.nmconnection").write_text("psk=abc\n")
    (tmp_path / "folder").mkdir()
    assert list(keyfiles((tmp_path, tmp_path / "gone", tmp_path / "x.nmconnection"))) == ["psk=abc\n"]


@pytest.mark.parametrize("content", ["", "[]", "{", "null", "1"])
def test_a_record_that_is_none(content: str, tmp_path: Path) -> None:
    (tmp_path / "1.json").write_text(content)
    assert last_good(tmp_path) == ""
    assert last_good(tmp_path / "gone") == ""


def test_the_text_of_the_last_good_file(tmp_path: Path) -> None:
    for number, text in enumerate(("a: 1\n", "a: 2\n", "a: 3\n"), 1):
        digest = hashlib.sha256(text.encode()).hexdigest()
        one = Entry(Kind.NODE_FILE, Result.COMMITTED, "a.yml", text, digest, "a", "b", 1.0, good=number < 3)
        (tmp_path / f"{number}.json").write_bytes(entry.render(one, 4096))
    assert last_good(tmp_path) == "a: 2\n"


def test_the_records_that_there_are(tmp_path: Path) -> None:
    (tmp_path / "bridge.json").write_text("{}")
    (tmp_path / "folder").mkdir()
    assert list(records((tmp_path / "bridge.json", tmp_path / "folder", tmp_path / "gone"))) == ["{}"]
