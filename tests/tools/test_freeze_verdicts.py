"""Does a node that is upgraded keep its verdicts, or does the changelog say which ones change? (S4)"""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from freeze_verdicts import CHANGELOG, Change, changes, explained, frozen, releases
from node_ip_cases import CASES, directories
from nodenet import __version__

RELEASES = releases()
CASE = "default-route-ipv4"


@pytest.mark.parametrize("release", RELEASES)
def test_a_changed_verdict_stands_in_the_changelog(release: str) -> None:
    """With the name of its case in backquotes (S4)."""
    changelog = CHANGELOG.read_text(encoding="utf-8")
    unexplained = [change for change in changes(release, RELEASES[release]) if not explained(change, changelog)]
    assert unexplained == []


def test_every_release_is_frozen() -> None:
    """`python tools/freeze_verdicts.py` belongs to a release, as its section in the changelog does."""
    changelog = CHANGELOG.read_text(encoding="utf-8")
    released = set(re.findall(r"^## \[?(\d+\.\d+\.\d+)\b", changelog, re.MULTILINE))
    assert released <= RELEASES.keys()
    assert __version__ in RELEASES


def test_a_release_has_the_cases_of_its_time() -> None:
    assert all(len(corpus) >= 100 for corpus in RELEASES.values())


@pytest.fixture(name="cases")
def _cases(tmp_path: Path) -> Path:
    """One case, in a directory that may be changed."""
    shutil.copytree(CASES / CASE, tmp_path / CASE)
    return tmp_path


def test_nothing_has_changed_at_first(cases: Path) -> None:
    assert list(changes("1.0.0", frozen([cases / CASE]), cases)) == []


def test_another_verdict_is_noticed(cases: Path) -> None:
    corpus = frozen([cases / CASE])
    corpus[CASE]["node_ips"] = ["192.0.2.9"]
    (change,) = changes("1.0.0", corpus, cases)
    assert change == Change("1.0.0", CASE, "node_ips: ['192.0.2.9'] became ['192.0.2.5']")


def test_a_frozen_case_is_never_changed_or_removed(cases: Path) -> None:
    corpus = frozen([cases / CASE])
    with (cases / CASE / "policy.toml").open("a") as policy:
        policy.write("prefer_ipv6 = true\n")
    assert [change.what for change in changes("1.0.0", corpus, cases)] == [
        "the case itself was changed: a new case belongs beside it"
    ]
    shutil.rmtree(cases / CASE)
    assert [change.what for change in changes("1.0.0", corpus, cases)] == ["the case was removed"]


def test_only_what_is_newer_than_the_release_explains() -> None:
    change = Change("1.0.0", CASE, "")
    assert explained(change, f"## Unreleased\n- `{CASE}`: …\n## 1.0.0\n")
    assert not explained(change, f"## Unreleased\n## 1.0.0\n- `{CASE}`: …\n")
    assert not explained(change, "## Unreleased\n## 1.0.0\n")


def test_the_words_around_a_verdict_are_not_frozen() -> None:
    """A sentence may be improved without a word in the changelog."""
    assert "notes" not in json.dumps(frozen(directories()[:1]))
