"""What may contain secrets on a node."""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import tarfile
import time
from pathlib import Path

import pytest

from nodenet.core.errors import NodenetError
from nodenet.core.history import entry
from nodenet.core.history.entry import Entry, Kind, Result
from nodenet.edge.report import (
    Output,
    _end,
    keyfiles,
    last_good,
    node_files,
    output,
    packed,
    records,
)


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


# A command of a report: it is bounded, and never an error.


def shell(script: str, seconds: float = 60.0, most_bytes: int = 1 << 20) -> Output:
    return output(("sh", "-c", script), seconds, most_bytes)


def test_output_and_errors_and_the_exit_status() -> None:
    assert shell("echo out; echo err >&2; exit 3") == Output(b"out\nerr\n", "exit status 3")
    assert shell("echo out") == Output(b"out\n")


def test_a_program_that_is_not_installed() -> None:
    assert output(("no-such-program",), 1, 1) == Output(b"", "no-such-program cannot be run: No such file or directory")


def test_a_command_that_hangs_is_ended_with_its_children() -> None:
    began = time.monotonic()
    found = shell("echo $$; sleep 1000 & echo begun; wait", seconds=1.0)
    assert found.note == "stopped after 1 s"
    assert found.content.endswith(b"\nbegun\n")
    assert time.monotonic() - began < 500
    group = int(found.content.split()[0])
    while True:  # the kernel removes a killed group in its own time
        try:
            os.killpg(group, 0)
        except ProcessLookupError:
            return
        assert time.monotonic() - began < 500


def test_a_command_that_closes_its_output_and_hangs_is_ended() -> None:
    assert shell("exec >&- 2>&-; exec sleep 1000", seconds=1.0) == Output(b"", "stopped after 1 s")


def test_a_command_that_cannot_be_ended_is_left() -> None:
    """The report goes on without one that is in an uninterruptible sleep."""

    class Stuck(subprocess.Popen[bytes]):
        def wait(self, timeout: float | None = None) -> int:
            assert timeout is not None, "it would wait for ever"
            raise subprocess.TimeoutExpired(self.args, timeout)

    stuck = Stuck(["true"], stdout=subprocess.PIPE, start_new_session=True)
    assert _end(stuck) == 0
    subprocess.Popen.wait(stuck)


def test_endless_output_is_cut_off() -> None:
    found = output(("cat", "/dev/zero"), 60.0, 4096)
    assert (len(found.content), found.note) == (4096, "cut off after 4 KiB")


def test_a_command_reads_nothing() -> None:
    assert shell("cat") == Output(b"")


# The archive of a report.


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
