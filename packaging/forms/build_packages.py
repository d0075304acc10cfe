#!/usr/bin/env python3
"""Where are the packages of nodenet for these sources?

Prints their paths. They are built once for each state of the sources and kept in
`${XDG_CACHE_HOME:-~/.cache}/nodenet/forms/`. With `NODENET_SIGNING_KEY`, gpg signs the list of their sums.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(HERE / name) for name in ("forms", "deb", "rpm", "sysext", "tree", "interpreter", "libnmstate")]

from build_terminal import BuildError, run  # noqa: E402  (beside the wheel)

import build_deb  # noqa: E402  (in its own directory)
import build_rpm  # noqa: E402  (in its own directory)
import build_sysext  # noqa: E402  (in its own directory)
from staging import MAINTAINER, Build, source_hash, stage  # noqa: E402  (in its own directory)
from tree_files import version  # noqa: E402  (in its own directory)

SUMS = "SHA256SUMS"


@dataclass(frozen=True, slots=True)
class Form:
    """One kind of package."""

    file_name: Callable[[Build], str]
    pack: Callable[[Build, Path, Path], Path]


FORMS = {
    "deb": Form(build_deb.file_name, build_deb.pack),
    "rpm": Form(build_rpm.file_name, build_rpm.pack),
    "sysext": Form(build_sysext.file_name, build_sysext.pack),
}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the paths of the packages; exit 1 with the cause when one cannot be built."""
    parser = argparse.ArgumentParser(description="Build the packages once and print their paths.")
    parser.add_argument("forms", nargs="*", metavar="FORM", help=f"{', '.join(FORMS)}; default: all")
    parser.add_argument("--out", type=Path, required=True, help="copy them to this directory")
    options = parser.parse_args(argv)
    if unknown := set(options.forms) - set(FORMS):
        parser.error(f"unknown form {', '.join(sorted(unknown))}: the forms are {', '.join(FORMS)}")
    os.umask(0o022)
    try:
        built = cached(options.forms or list(FORMS))
        options.out.mkdir(parents=True, exist_ok=True)
        made = [Path(shutil.copy2(file, options.out)) for file in built]
        if "sysext" in (options.forms or FORMS):
            script = options.out / "nodenet-sysext"
            script.write_bytes(build_sysext.script())
            script.chmod(0o755)
            made.append(script)
        made += sign(made, options.out)
    except BuildError as error:
        print(f"nodenet: the packages cannot be built: {error}", file=sys.stderr, flush=True)
        return 1
    print("\n".join(map(str, made)))
    return 0


def cached(forms: Sequence[str]) -> list[Path]:
    """Return the packages of the present sources, built now unless they have been built before. Raises BuildError."""
    maintainer = os.environ.get("NODENET_MAINTAINER", MAINTAINER)
    digest = source_hash(maintainer)
    build = Build(version(), f"{version()}-{digest[:8]}", maintainer)
    bound = hashlib.sha256(build_sysext.release().encode()).hexdigest()[:8]
    home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodenet" / "forms" / f"{digest}-{bound}"
    home.mkdir(parents=True, exist_ok=True)
    files = {name: home / FORMS[name].file_name(build) for name in forms}
    missing = [name for name, file in files.items() if not file.exists()]
    if missing:
        print(f"nodenet: building {', '.join(missing)}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="new-", dir=home) as scratch:
            make(build, missing, Path(scratch), home)
    return list(files.values())


def make(build: Build, forms: Sequence[str], scratch: Path, home: Path) -> None:
    """Install once, and make each form from a copy. Raises BuildError."""
    staged = scratch / "staged"
    stage(build, staged)
    for name in forms:
        tree = scratch / name
        shutil.copytree(staged, tree)
        file = FORMS[name].pack(build, tree, scratch)
        file.replace(home / file.name)
        shutil.rmtree(tree)


def sign(files: Sequence[Path], out: Path) -> list[Path]:
    """Write the sums of the packages, and their signature where a key is given. Raises BuildError."""
    lines = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    listed = out / SUMS
    listed.write_text("".join(sorted(lines, key=lambda line: line.split()[1])), encoding="utf-8")
    signature = out / f"{SUMS}.asc"
    signature.unlink(missing_ok=True)  # of an earlier build
    key = os.environ.get("NODENET_SIGNING_KEY")
    if not key:
        return [listed]
    words = ["--batch", "--yes", "--armor", "--local-user", key, "--output", str(signature), "--detach-sign"]
    run(["gpg", *words, str(listed)], remedy="NODENET_SIGNING_KEY must name a secret key in gpg's keyring")
    return [listed, signature]


if __name__ == "__main__":
    sys.exit(main())
