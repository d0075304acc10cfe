"""Files: written whole or not at all, read only when nobody but root can have written them."""

import errno
import os
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path

import pytest

from nodenet.core.errors import NodeFileInvalid, PublishFailed
from nodenet.edge.files import disk as files

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: gives files away or mounts")


def test_a_write_says_whether_it_differed_and_leaves_an_equal_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "primary-ip"
    assert files.write(path, b"192.0.2.5") is True
    before = path.stat()
    assert files.write(path, b"192.0.2.5") is False
    assert (path.stat().st_mtime_ns, path.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert files.write(path, b"192.0.2.6") is True
    assert path.read_bytes() == b"192.0.2.6"
    assert files.listing(tmp_path) == ("primary-ip",)


def test_the_mode_is_as_asked_whatever_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        files.write(tmp_path / "new" / "public", b"x")
        files.write(tmp_path / "new" / "private", b"x", 0o600)
    finally:
        os.umask(old)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.rglob("*")}
    assert modes == {"new": 0o755, "public": 0o644, "private": 0o600}


def test_equal_content_with_another_mode_is_written(tmp_path: Path) -> None:
    path = tmp_path / "record"
    path.write_bytes(b"x")
    path.chmod(0o666)
    assert files.write(path, b"x", 0o600) is True
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_planted_link_is_replaced_not_followed(tmp_path: Path) -> None:
    victim, path = tmp_path / "victim", tmp_path / "state.json"
    victim.write_bytes(b"precious")
    path.symlink_to(victim)
    assert files.write(path, b"precious") is True
    assert not path.is_symlink()
    files.write(path, b"ours")
    assert victim.read_bytes() == b"precious"


def test_remove_says_whether_it_was_there(tmp_path: Path) -> None:
    path = tmp_path / "remote-worker"
    path.touch()
    assert [files.remove(path), files.remove(path)] == [True, False]


def test_read_gives_bytes_or_none_and_never_half(tmp_path: Path) -> None:
    path = tmp_path / "intent.json"
    assert files.read(path) is None
    path.write_bytes(b"12345")
    assert files.read(path, 5) == b"12345"
    with pytest.raises(PublishFailed, match="larger than 4 bytes"):
        files.read(path, 4)


@ROOT
@pytest.mark.parametrize(
    ("options", "told", "remedy"),
    [("size=64k", os.strerror(errno.ENOSPC), "df -h"), ("ro", os.strerror(errno.EROFS), "remount,rw")],
)
def test_a_broken_file_system_is_told_with_the_remedy_and_changes_nothing(
    tmp_path: Path, options: str, told: str, remedy: str
) -> None:
    program = f"""
import os, sys
from pathlib import Path
from nodenet.core.errors import PublishFailed
from nodenet.edge.files import disk as files
path = Path("{tmp_path}/state.json")
if "{options}" != "ro":
    files.write(path, b"old")
before = os.listdir(path.parent)
try:
    files.write(path, b"x" * 200_000)
except PublishFailed as error:
    print(error)
assert os.listdir(path.parent) == before
assert not before or path.read_bytes() == b"old"
"""
    mount = f'mount -t tmpfs -o {options} tmpfs {tmp_path} && exec {sys.executable} -c "$0"'
    isolated = ["unshare", "--mount", "sh", "-c", mount, program]
    done = subprocess.run(isolated, capture_output=True, text=True, check=True, env=_environment())
    assert told in done.stdout
    assert remedy in done.stdout
    assert str(tmp_path / "state.json") in done.stdout


def test_a_writer_killed_at_any_moment_leaves_a_whole_file(tmp_path: Path) -> None:
    """SIGKILL at random: the reader sees one of the contents that were written, and strays are swept up."""
    path = tmp_path / "drop-in.conf"
    program = f"""
from itertools import count
from pathlib import Path
from nodenet.edge.files import disk as files
for number in count():
    files.write(Path("{path}"), bytes([number % 256]) * 300_000)
    number or print("going", flush=True)
"""
    for milliseconds in (1, 7, 15, 22, 31):
        writer = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=_environment())
        assert writer.stdout is not None
        with writer, writer.stdout:
            writer.stdout.readline()
            time.sleep(milliseconds / 1000)
            writer.send_signal(signal.SIGKILL)
        content = path.read_bytes()
        assert content == content[:1] * 300_000
    (tmp_path / ".nodenet-0123456789abcdef").write_bytes(b"half")
    files.clear_stray([tmp_path, tmp_path / "missing"])
    assert files.listing(tmp_path) == ("drop-in.conf",)


def test_listing_is_sorted_and_none_without_the_directory(tmp_path: Path) -> None:
    for name in ("b.yml", "a.yml"):
        (tmp_path / name).touch()
    assert files.listing(tmp_path) == ("a.yml", "b.yml")
    assert files.listing(tmp_path / "missing") == ()
    with pytest.raises(NodeFileInvalid, match="cannot be listed"):
        files.listing(tmp_path / "a.yml")


@pytest.fixture
def nodes(tmp_path: Path) -> Path:
    """A directory of node files with a good one."""
    directory = tmp_path / "openshift"
    directory.mkdir(mode=0o755)
    (directory / "node.yml").write_bytes(b"interfaces: []\n")
    (directory / "node.yml").chmod(0o644)
    return directory


def refusal(directory: Path, name: str) -> str:
    with pytest.raises(NodeFileInvalid) as caught:
        files.read_node_file(directory, name)
    assert caught.value.remedy
    return caught.value.cause


def test_a_good_node_file_is_read(nodes: Path) -> None:
    assert files.read_node_file(nodes, "node.yml") == b"interfaces: []\n"


def test_links_inside_the_directory_are_followed(nodes: Path) -> None:
    """The way a mounted ConfigMap looks, and a plain alias."""
    (nodes / "..2026_11_21").mkdir()
    (nodes / "..2026_11_21" / "cluster.yml").write_bytes(b"dns: {}\n")
    (nodes / "..data").symlink_to("..2026_11_21")
    (nodes / "cluster.yml").symlink_to("..data/cluster.yml")
    (nodes / "alias.yml").symlink_to(nodes / "node.yml")
    assert files.read_node_file(nodes, "cluster.yml") == b"dns: {}\n"
    assert files.read_node_file(nodes, "alias.yml") == b"interfaces: []\n"


def test_the_directory_may_be_a_link_itself(nodes: Path, tmp_path: Path) -> None:
    (tmp_path / "alias").symlink_to(nodes)
    assert files.read_node_file(tmp_path / "alias", "node.yml") == b"interfaces: []\n"


@pytest.mark.parametrize("target", ["/etc/passwd", "../outside.yml", "..data/outside.yml", "/dev/zero"])
def test_a_link_out_of_the_directory_is_refused(nodes: Path, target: str) -> None:
    (nodes.parent / "outside.yml").write_bytes(b"interfaces: []\n")
    (nodes / "..data").symlink_to("..")
    (nodes / "evil.yml").symlink_to(target)
    assert "evil.yml is a link out of" in refusal(nodes, "evil.yml")


def test_a_neighbour_with_a_longer_name_is_outside(nodes: Path) -> None:
    beside = nodes.with_name("openshift-old")
    beside.mkdir()
    (beside / "node.yml").write_bytes(b"")
    (nodes / "old.yml").symlink_to("../openshift-old/node.yml")
    assert "link out of" in refusal(nodes, "old.yml")


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_others_may_write_is_refused(nodes: Path, mode: int) -> None:
    (nodes / "node.yml").chmod(mode)
    assert "node.yml is writable by others" in refusal(nodes, "node.yml")


def test_a_directory_others_may_write_is_refused(nodes: Path) -> None:
    nodes.chmod(0o777)
    assert "openshift is writable by others" in refusal(nodes, "node.yml")


@ROOT
def test_a_file_of_somebody_else_is_refused(nodes: Path) -> None:
    os.chown(nodes / "node.yml", 65534, 0)
    assert "node.yml belongs to uid 65534" in refusal(nodes, "node.yml")


def test_what_is_no_regular_file_is_refused_without_hanging(nodes: Path) -> None:
    os.mkfifo(nodes / "fifo.yml", 0o600)
    (nodes / "directory.yml").mkdir()
    assert "fifo.yml is not a regular file" in refusal(nodes, "fifo.yml")
    assert "directory.yml is not a regular file" in refusal(nodes, "directory.yml")


def test_the_size_has_a_limit(nodes: Path) -> None:
    (nodes / "node.yml").write_bytes(b"#" * (1 << 20))
    assert len(files.read_node_file(nodes, "node.yml")) == 1 << 20
    (nodes / "node.yml").write_bytes(b"#" * ((1 << 20) + 1))
    assert "larger than 1024 KiB" in refusal(nodes, "node.yml")


@pytest.mark.parametrize("name", ["../node.yml", "..", ".", "", "a/b.yml", "a\0.yml"])
def test_a_name_that_leaves_the_directory_is_refused(nodes: Path, name: str) -> None:
    assert "is not a file name" in refusal(nodes, name)


def test_a_missing_file_and_a_dangling_link_are_told(nodes: Path) -> None:
    (nodes / "dangling.yml").symlink_to("gone.yml")
    assert "No such file" in refusal(nodes, "missing.yml")
    assert "No such file" in refusal(nodes, "dangling.yml")


def _environment() -> dict[str, str]:
    return os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
