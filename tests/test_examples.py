"""The node files on the pages: each is taken, and each page of docs is in the index."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from nodenet.core.node_file import host_values
from nodenet.core.node_file.content import judge
from nodenet.core.node_file.find import read
from nodenet.core.node_file.finding import errors

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
