"""A small tree such as `staging.stage` makes, for tests of each form."""

from __future__ import annotations

import json
from pathlib import Path

import bill_of_materials
from staging import Build
from tree_files import LIBRARY

BUILD = Build("1.2.3", "1.2.3-test")
FILES = {
    # path → mode; in the alphabet, the directory of the build is between the others
    "usr/bin/nodenetctl": 0o755,
    f"{LIBRARY}/{BUILD.name}/nodenet/__init__.py": 0o644,
    f"{LIBRARY}/{BUILD.name}/{bill_of_materials.NAME}": 0o644,
    f"{LIBRARY}/{BUILD.name}/python/bin/python3": 0o755,
    "usr/lib/systemd/system/nodenetd.service": 0o644,
    "usr/libexec/nodenetd": 0o755,
    "usr/share/man/man8/nodenetd.8": 0o644,
}
BILL = json.dumps({"metadata": {"component": {"components": [{"name": "usr/share/man/man8/nodenetd.8"}]}}})


def small_tree(tree: Path) -> Path:
    """Make the tree and return it."""
    for name, mode in FILES.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BILL if name.endswith(".json") else name * 200)
        path.chmod(mode)
    return tree
