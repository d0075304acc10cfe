"""The nodes of the lab have the versions that docs/dev/compatibility.md lists, or newer ones. Nothing is booted."""

from __future__ import annotations

import re

import pytest

from harness.rootfs import Suite, rootfs
from make_compatibility import Row, rows


def installed(suite: Suite, package: str) -> tuple[int, ...]:
    """Return the version of a package in the root file system of *suite*, without epoch and Debian's revision."""
    status = (rootfs(suite) / "var/lib/dpkg/status").read_text(encoding="utf-8")
    found = re.search(rf"^Package: {re.escape(package)}\n(?:.+\n)*?Version: (?:\d+:)?([\d.]+)", status, re.MULTILINE)
    assert found, package
    return tuple(map(int, found[1].strip(".").split(".")))


@pytest.mark.parametrize("row", [row for row in rows() if row.lab], ids=lambda row: f"{row.what} {row.version}")
def test_a_version_of_the_page_is_in_the_lab(row: Row) -> None:
    suite, package = row.lab
    listed = tuple(map(int, row.version.split(".")))
    assert installed(Suite(suite), package)[: len(listed)] >= listed
