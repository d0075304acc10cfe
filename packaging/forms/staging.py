"""What do all forms of the package have in common? The tree with its own Python, the documents, and the scripts' steps.

Each form has the tree in a directory with the name of the build, below /usr/lib/nodenet: the next version is unpacked
beside it, so an upgrade that is cut by power leaves one of them whole.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import platform
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from build_terminal import run

import bill_of_materials
import build_interpreter
from tree_files import LIBRARY, ROOT, UNITS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

HERE = Path(__file__).resolve().parent
SOURCES = ("daemon/nodenet", "units", "docs/man", "packaging", "CHANGELOG.md", "LICENSE")
PASSED_OVER = frozenset({"__pycache__", ".ruff_cache", ".mypy_cache", "target", "build"})
DOCUMENTS = "usr/share/doc/nodenet"
MANUAL = "usr/share/man"
MAINTAINER = "The nodenet maintainers <maintainers@nodenet.invalid>"
EPOCH = int(os.environ.get("SOURCE_DATE_EPOCH", "1767225600"))
"""Seconds; the time of every file in a package, else two builds would differ."""
COPYRIGHT = f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: nodenet
Comment: The licences of the bundled interpreter and packages are below
 /{LIBRARY}/*/licences and in the *.dist-info directories beside it;
 nodenet.cdx.json there lists the origin of each file.

Files: *
Copyright: 2026 the nodenet maintainers
License: Apache-2.0
 The text is in /{LIBRARY}/*/licences/nodenet, and on Debian in
 /usr/share/common-licenses/Apache-2.0.
"""


@dataclass(frozen=True, slots=True)
class Build:
    """What distinguishes one package from another one of the same sources."""

    version: str
    name: str
    """The directory below /usr/lib/nodenet."""
    maintainer: str = MAINTAINER
    compressed: bool = True


def source_hash(maintainer: str) -> str:
    """Return a name for everything that decides what is in a package."""
    interpreter = build_interpreter.cached().home.name
    digest = hashlib.sha256(f"{platform.machine()} {interpreter} {maintainer} {EPOCH}".encode())
    for path in _sources():
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def _sources() -> Iterator[Path]:
    for name in SOURCES:
        top = ROOT / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and PASSED_OVER.isdisjoint(path.relative_to(ROOT).parts):
                yield path


def stage(build: Build, tree: Path) -> None:
    """Install into an empty directory, as a node will have it. Raises BuildError."""
    install = [sys.executable, str(HERE.parent / "install.py"), "--destdir", str(tree), "--bundled"]
    run([*install, "--build", build.name], remedy="see the messages above")


def complete(build: Build, tree: Path, own: Mapping[str, bytes]) -> None:
    """Add the documents and a form's *own* files to *tree*, and all of them to the bill of materials."""
    pages = {str(path.relative_to(tree)): path for path in (tree / MANUAL).rglob("*") if path.is_file()}
    added = {f"{name}.gz": gzip.compress(path.read_bytes(), mtime=0) for name, path in pages.items()}
    added |= {
        f"{DOCUMENTS}/CHANGELOG.md.gz": gzip.compress((ROOT / "CHANGELOG.md").read_bytes(), mtime=0),
        f"{DOCUMENTS}/copyright": COPYRIGHT.encode(),
        **own,
    }
    for page in pages.values():
        page.unlink()
    for name, content in added.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o755 if content.startswith(b"#!") else 0o644)
    bill = tree / LIBRARY / build.name / bill_of_materials.NAME
    bill.write_text(bill_of_materials.with_files(bill.read_text(encoding="utf-8"), set(pages), added), encoding="utf-8")


def script(text: str, build: str = "") -> str:
    """Return a script after each line `@NAME@` has become the step of that name, with the line's indentation.

    *build* is the name of the build, for a script that needs it.
    """
    filled = re.sub(r"^(\t*)@([a-z]+)@\n", _step, text, flags=re.MULTILINE)
    return filled.replace("@ENABLED_UNITS@", " ".join(enabled_units())).replace("@BUILD@", build)


def _step(found: re.Match[str]) -> str:
    text = (HERE / "steps" / found[2]).read_text(encoding="utf-8")
    return "".join(f"{found[1]}{line}" for line in text.splitlines(keepends=True))


def enabled_units() -> list[str]:
    """Return the units that an administrator can enable; a link to one of them must not stay behind."""
    units = ROOT / "units"
    named = [name for name in UNITS if name.endswith((".service", ".target"))]
    return sorted(Path(name).name for name in named if "\n[Install]\n" in (units / name).read_text(encoding="utf-8"))
