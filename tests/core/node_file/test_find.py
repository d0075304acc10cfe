"""Which file belongs to a node."""

from __future__ import annotations

import hashlib

import pytest

from nodenet.core.errors import NodeFileInvalid
from nodenet.core.node_file.find import has_host_specific, named_macs, read, search

HERE = "worker-0.example.com"


@pytest.mark.parametrize(
    ("listing", "found"),
    [
        ([], None),
        (["cluster.yml"], "cluster.yml"),
        (["cluster.yaml"], "cluster.yaml"),
        (["cluster.yml", "worker-0.yml"], "worker-0.yml"),
        (["cluster.yml", "worker-0.yml", "worker-0.example.com.yml"], "worker-0.example.com.yml"),
        (["worker-1.yml", "cluster.yml"], "cluster.yml"),
        (["Worker-0.yml"], "Worker-0.yml"),
        (["worker-0.yml.bak", ".worker-0.yml", "applied", "worker-0"], None),
    ],
)
def test_the_most_specific_file_is_found(listing: list[str], found: str | None) -> None:
    """Whole name, short name, cluster."""
    assert search(HERE, listing).found == found


def test_the_search_says_what_it_looked_for() -> None:
    """An administrator sees every name that would have been taken."""
    tried = search(HERE, []).tried
    assert tried[0] == "worker-0.example.com.yml"
    assert tried[-2:] == ("cluster.yml", "cluster.yaml")


@pytest.mark.parametrize("stem", ["worker-0", "cluster"])
def test_two_files_for_one_stem_are_an_error(stem: str) -> None:
    """Never a guess between .yml and .yaml."""
    with pytest.raises(NodeFileInvalid, match=rf"{stem}\.yaml and {stem}\.yml"):
        search("worker-0", [f"{stem}.yml", f"{stem}.yaml"])


def test_without_a_name_only_cluster_is_looked_for() -> None:
    """An unknown name selects nothing host-specific."""
    assert search(None, ["worker-0.yml"]).found is None


@pytest.mark.parametrize(
    ("listing", "needed"), [([], False), (["cluster.yml", "applied", "notes.txt"], False), (["w.yaml"], True)]
)
def test_a_name_is_needed_only_for_host_specific_files(listing: list[str], *, needed: bool) -> None:
    """Nobody waits for a name that no file asks for."""
    assert has_host_specific(listing) is needed


def test_bytes_that_are_not_utf8_are_refused_with_their_line() -> None:
    """The error names file and line."""
    with pytest.raises(NodeFileInvalid, match=r"w\.yml, line 2: not UTF-8 \(byte 0xff\)"):
        read("w.yml", b"interfaces:\n\xff")


def test_the_digest_is_of_the_bytes() -> None:
    """So that `sha256sum` gives the same."""
    assert read("w.yml", b"a: 1\n").digest == hashlib.sha256(b"a: 1\n").hexdigest()


# Which MACs a node file names.


TEXT = """
interfaces:
- name: eth0  # mac-address: 52:54:00:00:00:01
  mac-address: 52:54:00:AA:00:02
- {name: eth1, identifier: mac-address, "mac-address": '52-54-00-aa-00-03'}
# mac-address: 52:54:00:00:00:04
- name: bond0
  copy-mac-from: eth0
"""


def test_macs_are_found_in_every_form_and_not_in_comments() -> None:
    assert named_macs(TEXT) == {"52:54:00:aa:00:02", "52:54:00:aa:00:03"}
    assert named_macs("interfaces: []") == frozenset()
