"""docs/day-one-walkthrough.md: every command of the page works in a copy of the examples."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cli.test_main import environment

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "day-one-walkthrough.md"
EXAMPLES = ROOT / "examples" / "day-one"
BLOCKS = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(), re.MULTILINE | re.DOTALL)


def test_every_environment_has_its_commands() -> None:
    used = {block.splitlines()[0].removeprefix("cd ").partition("/")[0] for block in BLOCKS}
    assert used == {path.name for path in EXAMPLES.iterdir()}


@pytest.mark.parametrize("block", BLOCKS, ids=[f"{n}-{block.splitlines()[0][3:]}" for n, block in enumerate(BLOCKS)])
def test_the_commands_work(block: str, tmp_path: Path) -> None:
    """Also a second time, as when a folder is made anew: the same bytes are not written again."""
    shutil.copytree(EXAMPLES, tmp_path / "examples")
    command = tmp_path / "bin" / "nodenetctl"
    command.parent.mkdir()
    command.write_text(f'#!/bin/sh\nexec {sys.executable} -m nodenet.cli.main "$@"\n')
    command.chmod(0o755)
    env = environment() | {"PATH": f"{command.parent}:/usr/bin:/bin"}
    for script in (block, block.replace("mkdir ", "mkdir -p ")):
        done = subprocess.run(
            ["/bin/sh", "-e", "-c", script],
            cwd=tmp_path / "examples",
            env=env,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
