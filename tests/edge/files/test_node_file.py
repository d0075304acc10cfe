"""Node files are read only where nobody but root can have written them."""

from __future__ import annotations

import os
import resource
from pathlib import Path

import pytest

from nodenet.core.errors import NodeFileInvalid, Unavailable
from nodenet.edge.files import node_file as files

ROOT = pytest.mark.skipif(os.geteuid() != 0, reason="needs root: gives files away")


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


def test_a_lack_of_descriptors_is_not_a_mistake_of_the_file(nodes: Path) -> None:
    """EMFILE says something about the daemon; the file was called invalid (R53)."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, hard))
    try:
        with pytest.raises(Unavailable, match=r"node\.yml cannot be read: Too many open files"):
            files.read_node_file(nodes, "node.yml")
        with pytest.raises(Unavailable, match="openshift cannot be listed: Too many open files"):
            files.listing(nodes)
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_every_reason_for_distrust_is_given_beside_the_content(nodes: Path) -> None:
    """`check` prints them as warnings where the directory is not the node's own (R52)."""
    nodes.chmod(0o777)
    (nodes / "node.yml").chmod(0o666)
    content, distrust = files.look(nodes, "node.yml")
    assert content == b"interfaces: []\n"
    assert [each.cause for each in distrust] == [
        f"{nodes / 'node.yml'} is writable by others than root",
        f"{nodes} is writable by others than root",
    ]
