"""The JSON Schema of node files: current, and it takes what libnmstate takes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import fastjsonschema
import pytest

import make_schema
from nodenet.core.node_file.content import judge
from nodenet.core.node_file.find import NodeFile
from nodenet.core.node_file.finding import errors
from nodenet.core.node_file.keys import wrong_keys
from nodenet.core.node_file.yaml_text import Block, Misread, load, plain

libnmstate = pytest.importorskip("libnmstate", reason="the binding's wheel is not installed in this environment")
ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    path for place in ("fixtures", "examples", "tests/libnmstate") for path in (ROOT / place).rglob("*.yml")
)
valid = fastjsonschema.compile(make_schema.document())


def read(path: Path) -> Any:
    try:
        tree = load(path.name, path.read_text(encoding="utf-8"))
    except (Misread, UnicodeDecodeError):
        return None
    return plain(tree) if isinstance(tree, Block) and not tree.is_list else None


def test_the_schema_is_current() -> None:
    for path in (make_schema.PAGE, make_schema.IN_THE_WHEEL):
        assert path.read_text(encoding="utf-8") == make_schema.text(), "run: python tools/make_schema.py"


def test_each_document_that_libnmstate_takes_is_valid() -> None:
    taken = 0
    for path in DOCUMENTS:
        found = read(path)
        if found is None:
            continue
        file = NodeFile(path.name, path.read_text(encoding="utf-8"), "")
        try:
            libnmstate.validate(file.text)
        except Exception:  # noqa: BLE001, S112 - whatever it refuses is no case
            continue
        if errors(judge(file).findings):
            continue  # libnmstate takes an unknown type without using it
        taken += 1
        try:
            valid(found)
        except fastjsonschema.JsonSchemaException as error:
            pytest.fail(f"{path}: {error}")
    assert taken > 60


@pytest.mark.parametrize(
    ("document", "is_valid"),
    [
        ({"interfaces": [{"name": "eth0", "type": "ethernet", "mtu": 1500}]}, True),
        ({"interfaces": [{"name": "eth0", "state": "absent", "whatever": 1}]}, True),
        ({"interfaces": [{"name": "eth0", "tpye": "ethernet"}]}, False),
        ({"interfaces": [{"name": "eth0", "type": "ethernetz"}]}, False),
        ({"interfaces": [{"type": "ethernet"}]}, False),
        ({"interfaces": [{"name": "eth0", "ipv4": {"dhcp": "maybe"}}]}, False),
        ({"interfaces": {"name": "eth0"}}, False),
        ({"routes": {"config": [{"destination": "0.0.0.0/0", "metric": "ten"}]}}, False),
        ({"route": {}}, False),
    ],
)
def test_it_judges_keys_and_kinds(document: dict[str, Any], *, is_valid: bool) -> None:
    """As `check` does, from the same table."""
    try:
        valid(document)
        by_schema = True
    except fastjsonschema.JsonSchemaException:
        by_schema = False
    assert by_schema is is_valid


def test_check_and_schema_know_the_same_keys() -> None:
    for name in ("mtu", "ipv4", "link-aggregation"):
        tree = load("a.yml", json.dumps({"interfaces": [{"name": "eth0", f"{name}x": 1}]}))
        assert isinstance(tree, Block)
        assert list(wrong_keys(tree))
        with pytest.raises(fastjsonschema.JsonSchemaException):
            valid({"interfaces": [{"name": "eth0", f"{name}x": 1}]})
