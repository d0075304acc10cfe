"""Does every main boot that the lab runs on each Debian exist?"""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

LAB = Path(__file__).parent / "lab"


def test_every_main_boot_exists() -> None:
    """A renamed test would silently run on one suite only."""
    spec = importlib.util.spec_from_file_location("suites", LAB / "suites.py")
    assert spec is not None
    assert spec.loader is not None
    suites = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(suites)
    assert len(suites.MAIN_BOOTS) > 0
    for name, tests in suites.MAIN_BOOTS.items():
        tree = ast.parse((LAB / name).read_text())
        assert tests <= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}, name
