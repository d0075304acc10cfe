#!/usr/bin/env python3
"""Where are the licences of the crates that are in libnmstate's module?

Prints the path of a directory with NAME-VERSION/FILE for each crate, collected once for each state of the sources from
the crates as cargo has downloaded them, and kept in `${XDG_CACHE_HOME:-~/.cache}/nodenet/crate-licences/`.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import tempfile
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import build_root
from build_terminal import BuildError, output, say
from build_wheel import HERE, cache_directory, cached_wheel, local_rust, source_hash
from reproducible import BOM

if TYPE_CHECKING:
    from collections.abc import Iterator

APACHE = HERE.parents[1] / "LICENSE"
"""Its text, for the crates of that licence that have no file with it."""
FILES = re.compile(r"(?i)(licen[cs]e|copying|copyright|notice|unlicense)")


def main() -> int:
    """Print the path of the directory; exit 1 with the cause when it cannot be made."""
    try:
        print(cached_licences())
    except BuildError as error:
        say(f"the licences of the crates cannot be collected: {error}")
        return 1
    return 0


def cached_licences() -> Path:
    """Return the directory for the present sources, made now unless it has been made before. Raises BuildError."""
    shelf = cache_directory() / "crate-licences"
    home = shelf / source_hash()
    if home.is_dir():
        return home
    crates = list(crates_in(cached_wheel()))
    places = _places()
    shelf.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
        made = Path(scratch) / "made"
        for name, version, licence in crates:
            collect(places[name, version], licence, made / f"{name}-{version}")
        try:
            made.rename(home)
        except OSError:
            if not home.is_dir():  # else another one was faster, with the same result
                raise
    return home


def crates_in(wheel: Path) -> Iterator[tuple[str, str, str]]:
    """Yield name, version and licence of each crate in the module, by the list that the builder put into the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        for member in filter(BOM.search, archive.namelist()):
            for crate in json.loads(archive.read(member))["components"]:
                if crate.get("scope") != "excluded":  # a program of the build
                    yield crate["name"], crate["version"], _expression(crate)


def _expression(crate: dict[str, Any]) -> str:
    stated = crate.get("licenses") or [{}]
    return str(stated[0].get("expression") or stated[0].get("license", {}).get("id", ""))


def collect(crate: Path, licence: str, place: Path) -> None:
    """Copy a crate's licence files to *place*. Raises BuildError for a crate that has none and needs one."""
    place.mkdir(parents=True)
    found = [path for path in sorted(crate.iterdir()) if path.is_file() and FILES.match(path.name)]
    if not found and "Apache-2.0" not in licence:
        raise BuildError(f"the crate {crate.name} ({licence or 'no licence stated'}) has no licence file")
    for path in found:
        shutil.copyfile(path, place / path.name)
    if not found:
        shutil.copyfile(APACHE, place / "LICENSE-APACHE")


def _places() -> dict[tuple[str, str], Path]:
    """Return where cargo has each crate. It downloads what is missing, in the versions of the lock file."""
    words = ["metadata", "--locked", "--format-version", "1", "--manifest-path"]
    remedy = "check that this machine reaches the registry of crates"
    root = Path("/")
    if toolchain := local_rust():
        text = output([str(toolchain / "cargo"), *words, str(HERE / "Cargo.toml")], remedy=remedy)
    else:
        root = build_root.build_root(cache_directory(), None)
        command = ["env", "-i", *(f"{name}={value}" for name, value in build_root.inner_environment().items())]
        command += ["cargo", *words, str(build_root.SOURCE / "Cargo.toml")]
        text = output(build_root.chrooted(root, command), remedy=remedy)
    packages = json.loads(text)["packages"]
    return {
        (package["name"], package["version"]): root / os.path.relpath(Path(package["manifest_path"]).parent, "/")
        for package in packages
    }


if __name__ == "__main__":
    sys.exit(main())
