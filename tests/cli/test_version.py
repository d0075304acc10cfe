"""`nodenetctl version`: one line."""

from __future__ import annotations

from cli.test_main import nodenetctl
from nodenet import __version__


def test_version() -> None:
    done = nodenetctl("version")
    assert (done.returncode, done.stdout) == (0, f"nodenet {__version__}\n")
