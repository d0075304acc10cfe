"""Which Debian packages does the bundled interpreter come from, and where are they?

apt fetches them and verifies Debian's signatures; the machine's own packages and package lists are not touched. A
security update of one of them is in the next build with `--refresh`; the bill of materials names the versions.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from build_terminal import BuildError, output, run

if TYPE_CHECKING:
    from pathlib import Path

SUITE = "trixie"
PYTHON = "python3.13"
MIRROR = "http://deb.debian.org"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
PACKAGES = (
    *(f"{PYTHON}-minimal", f"lib{PYTHON}-minimal", f"lib{PYTHON}-stdlib"),
    *("libc6", "libgcc-s1", "libexpat1", "libffi8", "libsqlite3-0", "libssl3t64", "libzstd1", "zlib1g"),
)
"""The interpreter and the libraries that its modules and libnmstate's module are linked to."""
ONLY_LICENCES = ("gcc-14-base", "base-files")
"""Packages with the licence texts of others."""
UNREADABLE = "remove the file, it is fetched again"


@dataclass(frozen=True, slots=True)
class Package:
    """A package as it was fetched."""

    name: str
    version: str
    source: str
    architecture: str
    sha256: str
    file: Path

    @classmethod
    def read(cls, file: Path) -> Self:
        """Return what a package's control file says. Raises BuildError when dpkg-deb cannot read it."""
        text = output(["dpkg-deb", "--field", str(file)], remedy=UNREADABLE)
        fields: dict[str, str] = dict(re.findall(r"^([A-Za-z-]+): (.*)$", text, re.MULTILINE))
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        source = fields.get("Source", fields["Package"])
        return cls(fields["Package"], fields["Version"], source, fields["Architecture"], digest, file)


def packages(shelf: Path, *, refresh: bool = False) -> list[Package]:
    """Return the packages below *shelf*, by name; fetch them when there are none, or again with *refresh*.

    Raises BuildError when the archive cannot be reached or its signature is not good.
    """
    files = sorted(shelf.glob("*.deb"))
    if refresh or len(files) != len({*PACKAGES, *ONLY_LICENCES}):
        print(f"nodenet: fetching {PYTHON} and its libraries from Debian {SUITE}", file=sys.stderr, flush=True)
        _fetch(shelf)
        files = sorted(shelf.glob("*.deb"))
    return sorted((Package.read(file) for file in files), key=lambda package: package.name)


def _fetch(shelf: Path) -> None:
    fresh = shelf.with_name(f"{shelf.name}.new")
    shutil.rmtree(fresh, ignore_errors=True)
    state = fresh / "apt"
    for name in ("lists/partial", "archives/partial"):
        (state / name).mkdir(parents=True)
    (state / "status").touch()
    (state / "sources.list").write_text(_sources(), encoding="utf-8")
    options = {
        "Dir::Etc::SourceList": state / "sources.list",
        "Dir::Etc::SourceParts": "/dev/null",
        "Dir::Etc::Preferences": "/dev/null",
        "Dir::Etc::PreferencesParts": "/dev/null",
        "Dir::State": state,
        "Dir::State::Lists": state / "lists",
        "Dir::State::Status": state / "status",
        "Dir::Cache": state,
        "APT::Sandbox::User": "",
        "Acquire::Languages": "none",
        "Acquire::Check-Valid-Until": "false",  # mirrors lag behind; signatures are still verified
    }
    apt = ["apt-get", "-qq", *(f"--option={name}={value}" for name, value in options.items())]
    remedy = "this needs apt, debian-archive-keyring and a Debian mirror (NODENET_DEBIAN_MIRROR names another one)"
    run([*apt, "update"], remedy=remedy)
    run([*apt, "download", *PACKAGES, *ONLY_LICENCES], remedy=remedy, directory=fresh)
    shutil.rmtree(state)
    shutil.rmtree(shelf, ignore_errors=True)
    fresh.rename(shelf)


def _sources() -> str:
    mirror = os.environ.get("NODENET_DEBIAN_MIRROR", MIRROR).rstrip("/")
    suites = {SUITE: "debian", f"{SUITE}-updates": "debian", f"{SUITE}-security": "debian-security"}
    return "".join(f"deb [signed-by={KEYRING}] {mirror}/{where} {suite} main\n" for suite, where in suites.items())


def unpack(package: Package, directory: Path) -> Path:
    """Unpack a package's files below *directory* and return the place. Raises BuildError."""
    place = directory / package.name
    run(["dpkg-deb", "--extract", str(package.file), str(place)], remedy=UNREADABLE)
    return place


def licence(unpacked: Path, package: str) -> bytes:
    """Return a package's copyright file; it may be in another package of the same source. Raises BuildError."""
    owner = package
    for _ in range(3):
        documents = unpacked / owner / "usr/share/doc" / owner
        if not documents.is_symlink():
            break
        owner = documents.readlink().name
    file = documents / "copyright"
    if not file.is_file() or file.is_symlink():
        raise BuildError(f"Debian's package {package} has no copyright file: add the package that has it")
    return file.read_bytes()


def common_licences(unpacked: Path, texts: list[bytes]) -> dict[str, bytes]:
    """Return the licence texts to which Debian's copyright files refer, by name."""
    names = {name.rstrip(b".").decode() for text in texts for name in re.findall(rb"common-licenses/([\w.+-]+)", text)}
    place = unpacked / "base-files/usr/share/common-licenses"
    return {name: (place / name).read_bytes() for name in sorted(names) if (place / name).is_file()}
