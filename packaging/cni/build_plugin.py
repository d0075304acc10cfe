#!/usr/bin/env python3
"""Where is the CNI plugin nodenet-ipam for these sources?

Prints its path. The program is built once for each state of its sources and kept in
`${XDG_CACHE_HOME:-~/.cache}/nodenet/cni/HASH/`; a build takes a few seconds. Builds with the machine's Rust; where
there is none, as root inside the Debian root file system that libnmstate's wheel is built in. It needs no crate.
"""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "libnmstate"))

import build_root  # noqa: E402  (beside the wheel)
from build_terminal import BuildError, run  # noqa: E402  (the same)

NAME = "nodenet-ipam"
OPTIONS = (
    *("--edition=2021", "-O", "-Ctarget-feature=+crt-static", "-Crelocation-model=static", "-Cpanic=abort"),
    *("-Cstrip=symbols", "-Ccodegen-units=1", "-Dwarnings"),
)
RECIPE = 1
"""To be increased when the same sources become another program."""
INSIDE = Path("/build/cni")
"""Where sources and program are in the root file system."""


def main() -> int:
    """Print the path of the program; exit 1 with the cause when it cannot be built."""
    try:
        print(cached_plugin())
    except BuildError as error:
        print(f"{NAME}: failed: {error}", file=sys.stderr, flush=True)
        return 1
    return 0


def cached_plugin() -> Path:
    """Return the program of the present sources, built now unless it has been built before. Raises BuildError."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodenet"
    home = cache / "cni" / source_hash()
    if (home / NAME).is_file():
        return home / NAME
    home.parent.mkdir(parents=True, exist_ok=True)
    print(f"nodenet: building {NAME}", file=sys.stderr, flush=True)
    with tempfile.TemporaryDirectory(prefix="new-", dir=home.parent) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        _build(cache, made / NAME)
        (made / NAME).chmod(0o755)
        try:
            made.rename(home)
        except OSError:
            if not (home / NAME).is_file():  # else another build was faster, with the same result
                raise
    return home / NAME


def source_hash() -> str:
    """Return a name for everything that decides what the program does."""
    digest = hashlib.sha256(f"{platform.machine()} {RECIPE} {' '.join(OPTIONS)}".encode())
    for path in sources():
        digest.update(f"\0{path.name}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:32]


def sources() -> list[Path]:
    """Return the program's sources."""
    return sorted((HERE / "src").glob("*.rs"))


def _build(cache: Path, program: Path) -> None:
    rustc = shutil.which("rustc") or next(map(str, Path("~/.cargo/bin").expanduser().glob("rustc")), None)
    if rustc and _links_statically(rustc, program.parent):
        run(_command(rustc, HERE / "src", program), remedy="see the compiler's messages above")
        return
    root = build_root.build_root(cache, None)
    inside = root / INSIDE.relative_to("/")
    shutil.rmtree(inside, ignore_errors=True)
    inside.mkdir(parents=True)
    for path in sources():
        shutil.copy2(path, inside)
    command = build_root.chrooted(root, _command("rustc", INSIDE, INSIDE / NAME))
    run(command, remedy="see the compiler's messages above", environment=build_root.inner_environment())
    shutil.copy2(inside / NAME, program)


def _links_statically(rustc: str, scratch: Path) -> bool:
    """Return whether this compiler works here: it needs a linker and the C library's static archive."""
    probe = scratch / "probe"
    command = [rustc, "--crate-type=bin", "-Ctarget-feature=+crt-static", "-o", str(probe), "-"]
    done = subprocess.run(command, input="fn main() {}", text=True, capture_output=True, check=False)
    probe.unlink(missing_ok=True)
    return done.returncode == 0


def _command(rustc: str, directory: Path, program: Path) -> Sequence[str]:
    named = (f"--crate-name={NAME.replace('-', '_')}", f"--remap-path-prefix={directory}={NAME}")
    return [rustc, *OPTIONS, *named, "-o", str(program), str(directory / "main.rs")]


if __name__ == "__main__":
    sys.exit(main())
