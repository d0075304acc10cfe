"""Where is promtool? In the PATH, or in Debian's package prometheus, unpacked and not installed: that has a daemon."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from functools import cache
from pathlib import Path

import pytest

SHELF = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodenet" / "promtool"
SECONDS = 120.0


@cache
def promtool() -> str:
    """Return the path of promtool; skip the test where there is none and apt has none."""
    if found := shutil.which("promtool"):
        return found
    if not (SHELF / "promtool").exists():
        _fetch()
    return str(SHELF / "promtool")


def _fetch() -> None:
    SHELF.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=SHELF) as made:
        try:
            subprocess.run(
                ["apt-get", "-qq", "--option=APT::Sandbox::User=", "download", "prometheus"],
                cwd=made,
                check=True,
                capture_output=True,
                timeout=SECONDS,
            )
            (package,) = Path(made).glob("prometheus_*.deb")
            unpack = ["dpkg-deb", "--extract", str(package), f"{made}/tree"]
            subprocess.run(unpack, check=True, capture_output=True, timeout=SECONDS)
        except (OSError, ValueError, subprocess.SubprocessError) as error:
            pytest.skip(f"no promtool here, and apt does not fetch Debian's package prometheus: {error}")
        (Path(made) / "tree/usr/bin/promtool").rename(SHELF / "promtool")
