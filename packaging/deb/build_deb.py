#!/usr/bin/env python3
"""Where is the Debian package of nodenet for these sources?

Prints its path. It is built once for each state of the sources and kept in `${XDG_CACHE_HOME:-~/.cache}/nodenet/deb/`.
The tree in it has its own Python, and is in a directory with the name of the build: dpkg unpacks the next version
beside it, so an upgrade that is cut by power leaves one of them whole.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import os
import platform
import shutil
import sys
import tempfile
from dataclasses import dataclass
from email.utils import formatdate
from pathlib import Path
from typing import TYPE_CHECKING

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / name) for name in ("deb", "tree", "interpreter", "libnmstate")]

from build_terminal import BuildError, run  # noqa: E402  (beside the wheel)

import bill_of_materials  # noqa: E402  (in its own directory)
import build_interpreter  # noqa: E402  (in its own directory)
import deb_archive  # noqa: E402  (beside this file)
from tree_files import LIBRARY, ROOT, UNITS, version  # noqa: E402  (in its own directory)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}
SOURCES = ("daemon/nodenet", "units", "docs/man", "packaging", "CHANGELOG.md", "LICENSE")
PASSED_OVER = frozenset({"__pycache__", "target", "build"})
SCRIPTS = ("preinst", "postinst", "prerm", "postrm")
DOCUMENTS = "usr/share/doc/nodenet"
MANUAL = "usr/share/man"
OVERRIDES = "usr/share/lintian/overrides/nodenet"
MAINTAINER = "The nodenet maintainers <maintainers@nodenet.invalid>"
CONTROL = """\
Package: nodenet
Version: {version}
Architecture: {architecture}
Maintainer: {maintainer}
Installed-Size: {size}
Depends: systemd (>= 252), default-dbus-system-bus | dbus-system-bus, network-manager (>= 1.46), iproute2
Suggests: openvswitch-switch, network-manager-ovs, dnsmasq-base, keepalived, haproxy
Section: net
Priority: optional
Description: host network of a Kubernetes node, before kubelet starts
 nodenetd applies the node's NMState file, puts the node's DNS resolver first,
 selects and publishes the node IPs and makes br-ex. kubelet starts after that.
 .
 The package has its own Python: the node needs none.
"""
CHANGELOG = """\
nodenet ({version}) unstable; urgency=medium

  * The changes are in {documents}/CHANGELOG.md.gz.

 -- {maintainer}  {date}
"""
COPYRIGHT = f"""\
Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: nodenet
Comment: The licences of the bundled interpreter and packages are below
 /{LIBRARY}/*/licences and in the *.dist-info directories beside it;
 nodenet.cdx.json there lists the origin of each file.

Files: *
Copyright: 2026 the nodenet maintainers
License: Apache-2.0
 The text is in /usr/share/common-licenses/Apache-2.0.
"""


@dataclass(frozen=True, slots=True)
class Build:
    """What distinguishes one package from another one of the same sources."""

    version: str
    name: str
    """The directory below /usr/lib/nodenet."""
    maintainer: str = MAINTAINER
    preset: int | None = deb_archive.PRESET
    """xz's; None: not compressed."""

    @property
    def file(self) -> str:
        """The package's file name."""
        return f"nodenet_{self.version}_{ARCHITECTURES[platform.machine()]}.deb"


def main(argv: Sequence[str] | None = None) -> int:
    """Print the path of the package; exit 1 with the cause when it cannot be built."""
    parser = argparse.ArgumentParser(description="Build the Debian package once and print its path.")
    parser.add_argument("--out", type=Path, help="copy the package to this directory")
    options = parser.parse_args(argv)
    os.umask(0o022)
    try:
        deb = cached_deb()
    except BuildError as error:
        print(f"nodenet: the package cannot be built: {error}", file=sys.stderr, flush=True)
        return 1
    if options.out:
        options.out.mkdir(parents=True, exist_ok=True)
        deb = Path(shutil.copy2(deb, options.out))
    print(deb)
    return 0


def cached_deb() -> Path:
    """Return the package of the present sources, built now unless it has been built before. Raises BuildError."""
    shelf = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodenet" / "deb"
    shelf.mkdir(parents=True, exist_ok=True)
    maintainer = os.environ.get("NODENET_MAINTAINER", MAINTAINER)
    digest = source_hash(maintainer)
    build = Build(version(), f"{version()}-{digest[:8]}", maintainer)
    home = shelf / digest
    if not home.is_dir():
        print("nodenet: building the Debian package", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
            made = Path(scratch) / "made"
            made.mkdir()
            make_deb(build, made)
            try:
                made.rename(home)
            except OSError:
                if not home.is_dir():  # else another build was faster, with the same result
                    raise
    return home / build.file


def source_hash(maintainer: str) -> str:
    """Return a name for everything that decides what is in the package."""
    interpreter = build_interpreter.cached().home.name
    digest = hashlib.sha256(f"{platform.machine()} {interpreter} {maintainer} {deb_archive.EPOCH}".encode())
    for path in _sources():
        digest.update(f"\0{path.relative_to(ROOT)}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def _sources() -> Iterator[Path]:
    for name in SOURCES:
        top = ROOT / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and PASSED_OVER.isdisjoint(path.relative_to(ROOT).parts):
                yield path


def make_deb(build: Build, out: Path) -> Path:
    """Install into an empty directory, write the package into *out* and return its path. Raises BuildError."""
    with tempfile.TemporaryDirectory(prefix="stage-", dir=out) as scratch:
        stage(build, Path(scratch))
        return pack(build, Path(scratch), out)


def stage(build: Build, tree: Path) -> None:
    """Install into an empty directory, as a node will have it. Raises BuildError."""
    install = [sys.executable, str(HERE.parent / "install.py"), "--destdir", str(tree), "--bundled"]
    run([*install, "--build", build.name], remedy="see the messages above")


def pack(build: Build, tree: Path, out: Path) -> Path:
    """Write the package with the files of *tree* into *out* and return its path."""
    pages = {str(path.relative_to(tree)): path for path in (tree / MANUAL).rglob("*") if path.is_file()}
    added = {f"{name}.gz": gzip.compress(path.read_bytes(), mtime=0) for name, path in pages.items()}
    added |= _documents(build)
    for page in pages.values():
        page.unlink()
    for name, content in added.items():
        path = tree / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    bill = tree / LIBRARY / build.name / bill_of_materials.NAME
    bill.write_text(bill_of_materials.with_files(bill.read_text(encoding="utf-8"), set(pages), added), encoding="utf-8")
    file = out / build.file
    file.write_bytes(deb_archive.package(_control(build, tree), tree, f"{LIBRARY}/{build.name}", preset=build.preset))
    return file


def _documents(build: Build) -> dict[str, bytes]:
    news = (ROOT / "CHANGELOG.md").read_bytes()
    date = formatdate(deb_archive.EPOCH)
    entry = CHANGELOG.format(version=build.version, documents=f"/{DOCUMENTS}", maintainer=build.maintainer, date=date)
    return {
        f"{DOCUMENTS}/changelog.gz": gzip.compress(entry.encode(), mtime=0),
        f"{DOCUMENTS}/CHANGELOG.md.gz": gzip.compress(news, mtime=0),
        f"{DOCUMENTS}/copyright": COPYRIGHT.encode(),
        OVERRIDES: (HERE / "lintian-overrides").read_bytes(),
    }


def _control(build: Build, tree: Path) -> dict[str, tuple[str, int]]:
    files = sorted(path for path in tree.rglob("*") if path.is_file())
    size = sum(-(-path.stat().st_size // 1024) for path in files)
    architecture = ARCHITECTURES[platform.machine()]
    text = CONTROL.format(version=build.version, architecture=architecture, maintainer=build.maintainer, size=size)
    sums = "".join(f"{_md5(path)}  {path.relative_to(tree)}\n" for path in files)
    control = {"control": (text, 0o644), "md5sums": (sums, 0o644)}
    for name in SCRIPTS:
        script = (HERE / name).read_text(encoding="utf-8").replace("@ENABLED_UNITS@", " ".join(enabled_units()))
        control[name] = (script, 0o755)
    return control


def _md5(path: Path) -> str:
    return hashlib.md5(path.read_bytes(), usedforsecurity=False).hexdigest()


def enabled_units() -> list[str]:
    """Return the units that an administrator can enable; a link to one of them must not stay behind."""
    units = ROOT / "units"
    named = [name for name in UNITS if name.endswith((".service", ".target"))]
    return sorted(Path(name).name for name in named if "\n[Install]\n" in (units / name).read_text(encoding="utf-8"))


if __name__ == "__main__":
    sys.exit(main())
