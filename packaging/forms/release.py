#!/usr/bin/env python3
"""Which files belong to a release? `make release` writes them to a directory, with checksums and a signature.

The packages, the wheel for a workstation, the sources, a bill of materials of what the lock files name (CycloneDX 1.5),
the statements about vulnerabilities (OpenVEX 0.2.0), and the notes from CHANGELOG.md. Nothing is published. The same
commit gives the same documents: their time is SOURCE_DATE_EPOCH.
"""

from __future__ import annotations

import argparse
import gzip
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent
sys.path[:0] = [str(HERE / name) for name in ("forms", "deb", "rpm", "sysext", "tree", "interpreter", "libnmstate")]

from build_terminal import BuildError, run  # noqa: E402  (beside the wheel)

import build_packages  # noqa: E402  (in its own directory)
from staging import EPOCH  # noqa: E402  (in its own directory)
from tree_files import version  # noqa: E402  (in its own directory)

REQUIREMENTS, CRATES = HERE / "requirements.txt", HERE / "libnmstate" / "Cargo.lock"
STATEMENTS = HERE / "forms" / "vex-statements.json"
"""What is known of vulnerabilities of the parts of nodenet: OpenVEX statements, without the product."""
NOTES = "RELEASE-NOTES.md"
_LOCKED = re.compile(r"^(?P<name>[A-Za-z0-9_.-]+)==(?P<version>\S+)(?P<hashes>(?:\s*\\\n\s+--hash=\S+)*)", re.MULTILINE)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the paths of what was made; exit 1 with the cause when something cannot be made."""
    parser = argparse.ArgumentParser(description="Make everything that belongs to a release.")
    parser.add_argument(
        "--out", type=Path, required=True, help="write to this directory, which must be empty or missing"
    )
    parser.add_argument("--documents", action="store_true", help="only sources, bill of materials, VEX, notes and sums")
    options = parser.parse_args(argv)
    os.umask(0o022)
    try:
        made = make(options.out, packages=not options.documents)
    except BuildError as error:
        print(f"nodenet: the release cannot be made: {error}", file=sys.stderr, flush=True)
        return 1
    print("\n".join(map(str, made)))
    return 0


def make(out: Path, *, packages: bool) -> list[Path]:
    """Write everything to *out*. Raises BuildError."""
    if out.exists() and any(out.iterdir()):
        raise BuildError(f"{out} is not empty: a release has no file of an earlier one. Remove it")
    release = version()
    documents = {
        NOTES: notes((ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), release),
        f"nodenet-{release}.cdx.json": _text(bill(release)),
        f"nodenet-{release}.openvex.json": _text(vex(release, json.loads(STATEMENTS.read_text(encoding="utf-8")))),
    }
    out.mkdir(parents=True, exist_ok=True)
    if packages:
        if build_packages.main(["--out", str(out)]):
            raise BuildError("the packages could not be built; the cause is above")
        _wheel(out)
    for name, text in documents.items():
        (out / name).write_text(text, encoding="utf-8")
    _sources(out / f"nodenet-{release}.tar.gz", f"nodenet-{release}/")
    sums = (build_packages.SUMS, f"{build_packages.SUMS}.asc")
    made = [path for path in sorted(out.iterdir()) if path.name not in sums]
    return [*made, *build_packages.sign(made, out)]


def notes(changelog: str, release: str) -> str:
    """Return the section of *release* in a changelog; before it is made, that of what is not released.

    Raises BuildError.
    """
    sections = dict(re.findall(r"^## \[?([^\]\s]+)[^\n]*\n(.*?)(?=^## |\Z)", changelog, re.MULTILINE | re.DOTALL))
    text = sections.get(release) or sections.get("Unreleased")
    if not text or not text.strip():
        raise BuildError(f"CHANGELOG.md has no section {release}. Write one")
    return f"# nodenet {release}\n\n{text.strip()}\n"


def bill(release: str) -> dict[str, Any]:
    """Return the bill of materials: what the lock files of Python and of libnmstate's module name."""
    own = {"type": "application", "bom-ref": f"pkg:generic/nodenet@{release}", "name": "nodenet", "version": release}
    return {
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {"timestamp": _time(), "component": own},
        "components": [*_distributions(), *_crates()],
    }


def _distributions() -> Iterator[dict[str, Any]]:
    for found in _LOCKED.finditer(REQUIREMENTS.read_text(encoding="utf-8")):
        name = re.sub("[-_.]+", "-", found["name"]).lower()
        hashes = re.findall(r"--hash=sha256:([0-9a-f]{64})", found["hashes"])
        yield _component(name, found["version"], "pypi", hashes)


def _crates() -> Iterator[dict[str, Any]]:
    for package in tomllib.loads(CRATES.read_text(encoding="utf-8"))["package"]:
        if "source" in package:  # our own module has none
            hashes = [package["checksum"]] if "checksum" in package else []
            yield _component(package["name"], package["version"], "cargo", hashes)


def _component(name: str, number: str, kind: str, hashes: Sequence[str]) -> dict[str, Any]:
    purl = f"pkg:{kind}/{name}@{number}"
    sums = [{"alg": "SHA-256", "content": each} for each in hashes]
    return {"type": "library", "bom-ref": purl, "name": name, "version": number, "purl": purl, "hashes": sums}


def vex(release: str, statements: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the OpenVEX document; each statement is about this release."""
    product = [{"@id": f"pkg:generic/nodenet@{release}"}]
    return {
        "@context": "https://openvex.dev/ns/v0.2.0",
        "@id": f"urn:nodenet:vex:{release}",
        "author": "The nodenet maintainers",
        "timestamp": _time(),
        "version": 1,
        "statements": [{**each, "products": product} for each in statements],
    }


def _time() -> str:
    return datetime.fromtimestamp(EPOCH, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _text(document: dict[str, Any]) -> str:
    return json.dumps(document, indent=1) + "\n"


def _sources(file: Path, prefix: str) -> None:
    """Write the committed sources as an archive. Raises BuildError."""
    archive = ["git", "-C", str(ROOT), "archive", "--format=tar", f"--prefix={prefix}", "HEAD"]
    try:
        tar = subprocess.run(archive, capture_output=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", b"") or str(error).encode()
        raise BuildError(f"the sources cannot be archived: {said.decode(errors='replace').strip()}") from error
    file.write_bytes(gzip.compress(tar, mtime=0))


def _wheel(out: Path) -> None:
    """Build the wheel for a workstation from a copy of the sources. Raises BuildError."""
    with tempfile.TemporaryDirectory(prefix="nodenet-wheel-") as scratch:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info", "build")
        shutil.copytree(ROOT / "daemon", Path(scratch) / "daemon", ignore=ignored)
        for name in ("pyproject.toml", "README.md", "LICENSE"):
            shutil.copy(ROOT / name, scratch)
        pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps"]
        run([*pip, "--wheel-dir", str(out), scratch], remedy="pip must reach the package index for setuptools")


if __name__ == "__main__":
    sys.exit(main())
