"""A node that an earlier release has left: the present one reads each record, changes nothing, and can go back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from factories import NodeFactory
from harness import Flavour, Node
from story import FIXTURES, causes, mtu, nothing_left, settle, stage

RELEASES = sorted((FIXTURES.parent / "releases").iterdir())
MAC = "52:54:00:88:01:00"
"""Of eth0 where the files come from."""


def left_by(release: Path, node: Node) -> dict[str, bytes]:
    """Write what nodenetd and NetworkManager of *release* left on the disk; return the records of nodenetd."""
    found = {f"/{file.relative_to(release)}": file.read_bytes() for file in release.rglob("*") if file.is_file()}
    found = {name: content.replace(MAC.encode(), node.mac().encode()) for name, content in found.items()}
    for name, content in found.items():
        private = name.startswith(("/var/lib/nodenet/", "/etc/NetworkManager/"))
        node.write(name, content, 0o600 if private else 0o644)
    return {name: content for name, content in found.items() if name.startswith("/var/lib/nodenet/")}


@pytest.mark.parametrize("release", RELEASES, ids=lambda release: release.name)
def test_the_records_of_an_earlier_release_are_read(release: Path, product_node: NodeFactory) -> None:
    node = product_node(flavour=Flavour.OPENSHIFT)
    records = left_by(release, node)
    node.boot()
    document = settle(node)
    assert (document["health"], document["node_ips"], causes(node)) == ("ok", ["10.88.0.50"], [])
    assert "is applied already" in stage(document, "nmstate")["detail"]
    there = node.run("find /var/lib/nodenet -type f").stdout.split()
    assert [name for name in records if name not in there] == []
    assert [name for name in there if name not in records and not name.endswith(".json")] == []
    history = json.loads(node.run("nodenetctl history --json").stdout)["entries"]
    assert [(entry["number"], entry["result"]) for entry in history] == [(2, "committed"), (1, "committed")]
    assert mtu(node) == 1450
    node.run("nodenetctl rollback --to 1", timeout=60)
    node.wait_until("nodenetctl status")  # the stages run again after it
    assert mtu(node) == 1500
    nothing_left(node)
