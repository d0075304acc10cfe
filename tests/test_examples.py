"""The node files on the pages: each is taken, and each page of docs is in the index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from nodenet.core.node_file import host_values
from nodenet.core.node_file.content import judge
from nodenet.core.node_file.find import read
from nodenet.core.node_file.finding import errors
from nodenet.core.settings.model import Settings

libnmstate = pytest.importorskip("libnmstate", reason="the binding's wheel is not installed in this environment")
ROOT = Path(__file__).parents[1]
PAGES = ("README.md", "docs/quick-start.md", "docs/node-files.md", "docs/day-one.md")
COMMAND = re.compile(r"(?:nodenetctl|systemctl|journalctl|hostnamectl|cat) ")
ROWS = b"host,address\nworker-0,192.0.2.10\n"


def examples() -> Iterator[tuple[str, str]]:
    """Yield a name and the text of each block of YAML that is a node file."""
    for page in PAGES:
        blocks = re.findall(r"^```yaml\n(.*?)^```", (ROOT / page).read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
        yield from ((f"{page}-{number}", text) for number, text in enumerate(blocks) if "interfaces:" in text)


EXAMPLES = dict(examples())


@pytest.mark.parametrize("name", EXAMPLES)
def test_each_node_file_on_a_page_is_taken(name: str) -> None:
    table = host_values.read(ROWS)
    text = host_values.filled(name, EXAMPLES[name], table, table.rows[0])
    judged = judge(read("worker-0.yml", text.encode()))
    assert [each.sentence() for each in errors(judged.findings)] == []
    libnmstate.validate(text)  # a policy too


def test_there_are_examples() -> None:
    assert len(EXAMPLES) >= 15


def test_every_page_is_in_the_index() -> None:
    index = (ROOT / "docs/README.md").read_text(encoding="utf-8")
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    assert {page for page in pages if f"({page})" not in index} == set()


def test_the_words_of_the_messages_are_those_of_the_product() -> None:
    """What an administrator searches for on the page of symptoms is what the product prints."""
    page = (ROOT / "docs/troubleshooting.md").read_text(encoding="utf-8")
    quoted = [text for text in re.findall(r"`([^`\n]+)`", page) if " " in text and not COMMAND.match(text)]
    source = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "daemon/nodenet").rglob("*.py"))
    parts = [part.strip(" ;=()") for text in quoted for part in re.split(r"…|eth\d|KUBELET_NODE_IP|\(", text)]
    assert len(parts) >= 8
    assert [part for part in parts if part and part not in source] == []


def openshift(name: str) -> dict[str, Any]:
    found: dict[str, Any] = YAML(typ="safe").load((ROOT / "examples" / "openshift" / name).read_text(encoding="utf-8"))
    return found


def test_a_node_file_of_a_machine_config_is_applied_by_a_reload() -> None:
    """The service can be reloaded, and the files are where nodenetd looks for them."""
    files = openshift("node-disruption-policy.yaml")["spec"]["nodeDisruptionPolicy"]["files"]
    directory = Settings().node_file_dir
    assert [each["path"] for each in files] == [f"{directory}/cluster.yml", f"{directory}/{host_values.TABLE}"]
    for each in files:
        assert each["actions"] == [{"type": "Reload", "reload": {"serviceName": "nodenetd.service"}}]
    assert "\nExecReload=" in (ROOT / "units" / "nodenetd.service").read_text(encoding="utf-8")


def test_the_layer_of_openshift_is_that_of_any_image() -> None:
    """What the Containerfile runs beside the copy is run there, too."""
    (given,) = openshift("machine-os-config.yaml")["spec"]["containerFile"]
    ours = (ROOT / "packaging" / "image" / "Containerfile").read_text(encoding="utf-8")
    commands = re.findall(r"systemd-sysusers \S+|systemctl preset [^\\\n]+", ours)
    assert len(commands) == 2
    assert [command for command in commands if command.strip() not in given["content"]] == []
