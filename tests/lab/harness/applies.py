"""What did a reload do to a node? With NODENET_RECORD_APPLIES=DIR each one that a test orders is kept there.

A record is a line of DIR/records.jsonl: the node before, its node files, and the node after. `tools/error_rate.py`
compares it with what `nodenetctl what-if` predicts. The records of the repository are in fixtures/what_if.
"""

import json
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from harness.shell import Shell

FOLDER = os.environ.get("NODENET_RECORD_APPLIES", "")
ORDER = re.compile(r"^nodenetctl reload --wait\b(?!.*--prune)")
"""Not `reload --prune`: it removes what is left over too, which no file asks for."""
NODE_FILES = "/etc/nmstate/openshift"
STATE = "nodenetctl snapshot; echo ,; cat /run/nodenet/state.json || echo null"
STATUS = (
    *("health", "ready", "hostname", "node_file", "digest", "applied_digest", "node_ips", "link", "bridge", "uplink"),
    *("last_error", "problems", "left_over"),
)
"""What of the status a prediction uses, or is compared with."""
FILES = f"cd {NODE_FILES} && grep -H '' -- *.yml *.yaml hosts.csv 2>/dev/null"


@contextmanager
def recorded(node: Shell, words: Sequence[str]) -> Iterator[None]:
    """Keep what happens to *node* meanwhile if *words* are an order to apply its file, and FOLDER is given."""
    if FOLDER and not _KEEPING and ORDER.match(words[-1] if words[0] == "/bin/sh" else " ".join(words)):
        test = os.environ.get("PYTEST_CURRENT_TEST", "by-hand").partition(" (")[0].rpartition("/")[2]
        with keep(
            node, FOLDER, re.sub(r"[^a-z0-9]+", "-", test.removeprefix("test_").replace(".py::test", "").lower())
        ):
            yield
    else:
        yield


_KEEPING: list[str] = []


@contextmanager
def keep(node: Shell, folder: str, name: str) -> Iterator[None]:
    """Add what happens to *node* meanwhile to the records in *folder*."""
    _KEEPING.append(name)
    try:
        before = _state(node)
        files: dict[str, str] = {}
        for line in node.run(FILES, check=False).stdout.splitlines():
            file, _, text = line.partition(":")
            files[file] = f"{files.get(file, '')}{text}\n"
        lines = node.run("nodenetctl settings", check=False).stdout.splitlines(keepends=True)
        yield
        after = _state(node)
    finally:
        _KEEPING.pop()
    if before["status"] and after["status"]:
        settings = "".join(line for line in lines if line.split()[-1:] != ["default"])
        kept = {"name": name.strip("-"), "before": before, "files": files, "settings": settings, "after": after}
        Path(folder).mkdir(parents=True, exist_ok=True)
        with (Path(folder) / "records.jsonl").open("a") as records:
            records.write(f"{json.dumps(kept, separators=(',', ':'))}\n")


def _state(node: Shell) -> dict[str, Any]:
    snapshot, status = json.loads(f"[{node.run(STATE, check=False).stdout}]")
    addresses = [{key: each[key] for key in ("ifname", "addr_info")} for each in snapshot["addresses"]]
    snapshot["addresses"] = [each for each in addresses if each["ifname"] != "lo"]  # its links have the rest
    return {"snapshot": snapshot, "status": status and {key: status.get(key) for key in STATUS}}
