"""Is what the build mounts in its root file system gone when the build ends, whatever ends it?"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

MMDEBSTRAP = """#!/bin/sh
for root do :; done
mkdir -p "$root/proc"
mount -t tmpfs tmpfs "$root/proc"
touch "$root/proc/mounted"
exit {code}
"""
"""A builder that is ended before it unmounts."""
BUILD = "import pathlib, sys, build_root as b; b.build_root(pathlib.Path(sys.argv[1]), None)"
LOOK = """
mount --make-rprivate /
"$@" || echo failed
find "$CACHE" -name mounted
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="the build mounts, as root")
@pytest.mark.parametrize(("code", "said"), [(0, ""), (1, "failed\n")])
def test_a_builder_that_is_cut_leaves_no_mount(tmp_path: Path, code: int, said: str) -> None:
    """The next build removes the unfinished tree: with a mount in it, that would fail or remove other files."""
    program, cache = tmp_path / "bin/mmdebstrap", tmp_path / "cache"
    for directory in (program.parent, cache):
        directory.mkdir()
    program.write_text(MMDEBSTRAP.format(code=code))
    program.chmod(0o755)
    paths = {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": os.pathsep.join(sys.path)}
    environment = os.environ | paths | {"CACHE": str(cache)}
    command = ["unshare", "--mount", "sh", "-euc", LOOK, "sh", sys.executable, "-c", BUILD, str(cache)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    assert done.stdout == said
