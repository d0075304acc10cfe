"""Does Ignition itself take what `nodenetctl day-one` makes?"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from day_one.artefacts import day_one
from harness import LabError
from harness.ignition_validate import validate

SEED = Path(__file__).parents[3] / "fixtures" / "day_one" / "seed"


def test_node_files_and_keyfiles(tmp_path: Path) -> None:
    keys, out = tmp_path / "keys", tmp_path / "config.ign"
    keys.mkdir()
    day_one("keyfiles", SEED / "ostest-master-0.yml", "--out", keys)
    (keys / "a name: with # signs.yml").write_text("interfaces: []\n")
    day_one("ignition", keys, "--out", out)
    assert validate(out) == ""


def test_the_configuration_inside_a_machine_config(tmp_path: Path) -> None:
    out, inner = tmp_path / "mc.yaml", tmp_path / "config.ign"
    words = ("--hint", "192.168.111.0", "--settings", SEED / "install-config.yaml", "--out", out)
    day_one("machine-config", SEED / "br-ex", "--role", "master", *words)
    inner.write_text(json.dumps(YAML(typ="safe", pure=True).load(out.read_text())["spec"]["config"]))
    assert validate(inner) == ""


def test_the_validator_refuses(tmp_path: Path) -> None:
    """It would notice: a relative path, a version that it does not know."""
    for text in (
        '{"ignition": {"version": "3.2.0"}, "storage": {"files": [{"path": "x"}]}}',
        '{"ignition": {"version": "9"}}',
    ):
        path = tmp_path / "config.ign"
        path.write_text(text)
        with pytest.raises(LabError):
            validate(path)
