"""The page of compatibility: what it says was run has a test, and the versions are those of the repository."""

from __future__ import annotations

import re
from functools import cache

import pytest

from make_compatibility import PAGE, ROOT, How, Row, page, rows
from make_faults import names_of_tests

REQUIRED = {"Distribution", "systemd", "NetworkManager", "libnmstate", "Open vSwitch", "Python", "Kubernetes"}


every_test = cache(names_of_tests)


@cache
def booting_tests() -> frozenset[str]:
    """Return the names of the tests that boot nodes."""
    return frozenset(names_of_tests(ROOT / "tests/lab") | names_of_tests(ROOT / "tests/vm"))


def test_the_page_is_the_list() -> None:
    """`python tools/make_compatibility.py` writes it."""
    assert PAGE.read_text(encoding="utf-8") == page(rows())
    assert {row.kind for row in rows()} >= REQUIRED


@pytest.mark.parametrize("row", rows(), ids=lambda row: f"{row.what} {row.version}")
def test_what_is_said_to_have_run_has_a_test(row: Row) -> None:
    known, booted = every_test(), booting_tests()
    assert [name for name in row.tests if name not in known] == []
    assert bool(row.tests) == (row.how is not How.DOCUMENTATION)
    assert (row.how is not How.BOOTED) or any(name in booted for name in row.tests)


@pytest.mark.parametrize("row", [row for row in rows() if row.at], ids=lambda row: row.what)
def test_a_version_of_the_repository_is_the_one_of_the_page(row: Row) -> None:
    file, text = row.at
    assert row.version in text
    assert text in (ROOT / file).read_text(encoding="utf-8")


def test_the_versions_of_python_are_those_that_are_accepted() -> None:
    accepted = re.search(r'requires-python = ">=3\.(\d+),<3\.(\d+)"', (ROOT / "pyproject.toml").read_text())
    assert accepted
    listed = {int(minor) for row in rows() if row.kind == "Python" for minor in re.findall(r"3\.(\d+)", row.version)}
    assert listed == set(range(int(accepted[1]), int(accepted[2])))
