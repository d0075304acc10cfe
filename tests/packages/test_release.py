"""Is everything of a release made, and do its documents say what is in it? The packages have tests of their own."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest
from build_terminal import BuildError

import release
from nodenet import __version__

MAKE = [sys.executable, str(Path(release.__file__)), "--documents", "--out"]
CHANGELOG = """# Changelog

## Unreleased

not yet

## 0.2.0 - 2027-01-01

### What to know
- two

## 0.1.0

- one
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("release") / "out"
    environment = {name: value for name, value in os.environ.items() if name != "NODENET_SIGNING_KEY"}
    subprocess.run([*MAKE, str(out)], check=True, capture_output=True, env=environment)
    return out


def document(made: Path, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((made / f"nodenet-{__version__}.{kind}.json").read_text())
    return found


def test_the_sums_are_those_of_every_file(made: Path) -> None:
    subprocess.run(["sha256sum", "--check", "--strict", "--quiet", "SHA256SUMS"], cwd=made, check=True)
    listed = {line.split()[1] for line in (made / "SHA256SUMS").read_text().splitlines()}
    assert listed == {path.name for path in made.iterdir()} - {"SHA256SUMS"}
    names = ("tar.gz", "cdx.json", "openvex.json")
    assert listed == {"RELEASE-NOTES.md", *(f"nodenet-{__version__}.{name}" for name in names)}


def test_the_bill_has_what_the_lock_files_name(made: Path) -> None:
    """With the hashes that pip and cargo compare."""
    components = document(made, "cdx")["components"]
    locked = re.findall(r"^([\w.-]+)==", release.REQUIREMENTS.read_text(), re.MULTILINE)
    assert {each["name"] for each in components if each["purl"].startswith("pkg:pypi/")} == {
        name.replace(".", "-").replace("_", "-") for name in locked
    }
    assert [each["purl"] for each in components if not each["hashes"]] == []
    crates = [each["name"] for each in components if each["purl"].startswith("pkg:cargo/")]
    assert "nmstate" in crates
    assert len({each["bom-ref"] for each in components}) == len(components)


def test_the_statements_about_vulnerabilities_are_of_this_release(made: Path) -> None:
    found = document(made, "openvex")
    assert found["@context"] == "https://openvex.dev/ns/v0.2.0"
    assert set(found) == {"@context", "@id", "author", "timestamp", "version", "statements"}
    statement = {"vulnerability": {"name": "CVE-2026-0001"}, "status": "not_affected"}
    (given,) = release.vex("9.9", [statement])["statements"]
    assert given == {**statement, "products": [{"@id": "pkg:generic/nodenet@9.9"}]}


def test_the_sources_are_those_of_the_commit(made: Path) -> None:
    with tarfile.open(made / f"nodenet-{__version__}.tar.gz") as sources:
        names = sources.getnames()
    assert f"nodenet-{__version__}/daemon/nodenet/__init__.py" in names
    assert [name for name in names if "__pycache__" in name] == []


def test_the_notes_are_the_section_of_the_release() -> None:
    assert release.notes(CHANGELOG, "0.2.0") == "# nodenet 0.2.0\n\n### What to know\n- two\n"
    assert release.notes(CHANGELOG, "0.1.0") == "# nodenet 0.1.0\n\n- one\n"
    assert release.notes(CHANGELOG, "0.3.0") == "# nodenet 0.3.0\n\nnot yet\n"
    with pytest.raises(BuildError, match=r"has no section 0\.3\.0"):
        release.notes("# Changelog\n", "0.3.0")


def test_a_release_has_no_file_of_an_earlier_one(made: Path) -> None:
    done = subprocess.run([*MAKE, str(made)], check=False, capture_output=True, text=True)
    assert done.returncode == 1
    assert "is not empty" in done.stderr


def test_two_releases_of_one_commit_are_the_same(made: Path, tmp_path: Path) -> None:
    subprocess.run([*MAKE, str(tmp_path / "again")], check=True, capture_output=True)
    assert (tmp_path / "again" / "SHA256SUMS").read_bytes() == (made / "SHA256SUMS").read_bytes()
