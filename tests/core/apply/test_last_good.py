"""The record of the last known good node file."""

from __future__ import annotations

import hashlib
from dataclasses import replace

import pytest

from nodenet.core.apply.last_good import LastGood, parse, render
from nodenet.core.node_file.find import read

TEXT = "interfaces: []\n"
GOOD = LastGood("worker-0.yml", TEXT, hashlib.sha256(TEXT.encode()).hexdigest(), "worker-0", 1.5)


def test_a_record_is_what_it_was_and_reads_as_the_file() -> None:
    assert parse(render(GOOD), "worker-0") == GOOD
    assert replace(GOOD.file, name="worker-0.yml") == read("worker-0.yml", TEXT.encode())


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"{", "Expecting"),
        (b"[]", "it does not have version 1"),
        (b'{"version": 1}', "not a complete record"),
        (render(replace(GOOD, text="interfaces: [1]\n")), "its text is not the one that its SHA-256 was made of"),
        (render(replace(GOOD, hostname="worker-9")), "it belongs to the host worker-9, and this one is worker-0"),
        (b"", "it is empty"),
        (render(GOOD).replace(b'"interfaces: []\\n"', b"3"), "not a complete record"),
        (render(GOOD)[:60], "Unterminated string"),
    ],
)
def test_a_damaged_or_foreign_record_is_refused(content: bytes, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        parse(content, "worker-0")


@pytest.mark.parametrize("name", ["cluster.yml", "cluster.yaml", "Cluster.yml"])
def test_the_file_of_the_cluster_is_used_before_the_node_has_its_name(name: str) -> None:
    """It comes from DHCP, after the node file; the file is the same for every host. Another name is another node."""
    of_cluster = replace(GOOD, name=name)
    assert parse(render(of_cluster), None) == of_cluster
    unnamed = replace(of_cluster, hostname=None)
    assert parse(render(unnamed), "worker-0") == unnamed
    with pytest.raises(ValueError, match="it belongs to the host worker-0, and this one is worker-9"):
        parse(render(of_cluster), "worker-9")


def test_a_node_without_a_name_is_no_node_called_none() -> None:
    with pytest.raises(ValueError, match="it belongs to the host worker-0, and this one has no name yet"):
        parse(render(GOOD), None)
