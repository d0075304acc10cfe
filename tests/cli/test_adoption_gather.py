"""What is looked up before a node is adopted or handed back."""

from __future__ import annotations

import socket
from pathlib import Path

from nodenet.cli.adoption.gather import changed_node_file
from nodenet.core.settings.model import Settings


def test_the_node_file_that_an_adoption_would_apply(tmp_path: Path) -> None:
    """It is named unless it is the one in force; two that claim to be it do not keep nodenet from being removed."""
    name = socket.gethostname().split(".")[0].lower()
    settings = Settings(node_file_dir=str(tmp_path))
    assert changed_node_file(settings) == ""
    (tmp_path / f"{name}.yml").write_text("interfaces: []\n")
    assert changed_node_file(settings) == f"{name}.yml"
    (tmp_path / "applied").write_text("interfaces: []\n")
    assert changed_node_file(settings) == ""
    (tmp_path / f"{name}.yaml").write_text("interfaces: []\n")
    assert changed_node_file(settings) == f"{name}.yaml and {name}.yml"
