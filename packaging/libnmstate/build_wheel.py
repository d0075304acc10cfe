#!/usr/bin/env python3
"""Where is the wheel of libnmstate for these sources?

Prints its path. A wheel is built once for each state of the sources and kept in
`${XDG_CACHE_HOME:-~/.cache}/nodenet/wheels/HASH/`; a first build takes about four minutes, one
after an edit about two. Builds with the machine's Rust (1.88 or newer); where there is none, as
root inside a Debian root file system that packages it. Needs only the standard library.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import build_root
import reproducible
from build_terminal import BuildError, run, run_watched, say

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

HERE = Path(__file__).resolve().parent
MATURIN = HERE / "requirements-build.txt"
OLDEST_RUST = (1, 88)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the path of the wheel; exit 1 with the cause when it cannot be built."""
    options = _parser().parse_args(argv)
    try:
        wheel = cached_wheel(rootfs=options.rootfs, in_rootfs=options.in_rootfs)
    except BuildError as error:
        say(f"failed: {error}")
        return 1
    print(wheel)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Build libnmstate's wheel once and print its path.")
    parser.add_argument(
        "--in-rootfs",
        action="store_true",
        help="build inside a Debian root file system even if this machine has Rust (needs root)",
    )
    parser.add_argument(
        "--rootfs",
        type=Path,
        metavar="DIR",
        help=f"start that root file system from a copy of DIR, a Debian {build_root.SUITE} tree with apt, "
        "instead of making one with mmdebstrap",
    )
    return parser


def cached_wheel(*, rootfs: Path | None = None, in_rootfs: bool = False) -> Path:
    """The wheel for the present sources, built now unless it has been built before."""
    cache = cache_directory()
    home = cache / "wheels" / source_hash()
    if wheel := _wheel_in(home):
        return wheel
    with _one_builder(cache / "wheels.lock"):
        if wheel := _wheel_in(home):  # another builder was faster
            return wheel
        toolchain = None if in_rootfs else local_rust()
        say("building libnmstate: about 4 minutes the first time, 2 after an edit")
        with tempfile.TemporaryDirectory(dir=cache) as scratch:
            out = Path(scratch)
            if toolchain:
                _build_here(toolchain, cache, out)
            else:
                _build_in_root(build_root.build_root(cache, rootfs), cache, out)
            return _kept(out, home)


def source_hash() -> str:
    """Names everything that decides what is in the wheel."""
    digest = hashlib.sha256(f"{platform.machine()} {reproducible.RECIPE}".encode())
    for path in _sources():
        digest.update(f"\0{path.relative_to(HERE)}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:32]


def _sources() -> list[Path]:
    # README.md and LICENSE end up in the wheel, but do not change what it does.
    trees = [path for tree in ("src", "python") for path in (HERE / tree).rglob("*") if path.is_file()]
    wanted = [path for path in trees if path.suffix in {".rs", ".py", ".pyi", ".typed"}]
    return sorted([*wanted, *(HERE / name for name in ("Cargo.toml", "Cargo.lock", "build.rs", "pyproject.toml"))])


def cache_directory() -> Path:
    """The directory that keeps what is slow to make."""
    home = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    cache = Path(home).expanduser() / "nodenet"
    cache.mkdir(parents=True, exist_ok=True)
    return cache


def _wheel_in(directory: Path) -> Path | None:
    return next(directory.glob("*.whl"), None)


@contextmanager
def _one_builder(path: Path) -> Iterator[None]:
    with path.open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("another build is running, waiting for it")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _kept(out: Path, home: Path) -> Path:
    """Move the built wheel to its place in one step: readers see the whole file or none."""
    built = _wheel_in(out)
    if built is None:
        raise BuildError(f"maturin ended well but left no wheel in {out}")
    reproducible.normalize(built)
    staged = out / "staged"
    staged.mkdir()
    wheel = built.rename(staged / built.name)
    with wheel.open("rb") as written:
        os.fsync(written.fileno())
    home.parent.mkdir(exist_ok=True)
    staged.rename(home)
    say(f"built {wheel.name}")
    return home / wheel.name


def local_rust() -> Path | None:
    """The directory of a cargo whose rustc is new enough."""
    found = [path for name in ("cargo", "rustc") if (path := shutil.which(name))]
    for directory in [*(Path(path).parent for path in found), Path("~/.cargo/bin").expanduser()]:
        if (directory / "cargo").exists() and _rust_version(directory / "rustc") >= OLDEST_RUST:
            return directory
    return None


def _rust_version(rustc: Path) -> tuple[int, ...]:
    try:
        said = subprocess.run([rustc, "--version"], capture_output=True, text=True, check=False).stdout
    except OSError:
        return (0,)
    numbers = re.match(r"rustc (\d+)\.(\d+)", said)
    return tuple(int(number) for number in numbers.groups()) if numbers else (0,)


def _build_here(toolchain: Path, cache: Path, out: Path) -> None:
    environment = {
        **reproducible.environment(os.environ, HERE),
        "PATH": f"{toolchain}{os.pathsep}{os.environ['PATH']}",
        "CARGO_TARGET_DIR": str(cache / "cargo-target"),
    }
    command = [str(_maturin(cache)), *_maturin_arguments(HERE, out, sys.executable)]
    _build(command, environment, cache)


def _build_in_root(root: Path, cache: Path, out: Path) -> None:
    build_root.lay_out(root, HERE, [*_sources(), HERE / "README.md"], _maturin(cache))
    arguments = _maturin_arguments(build_root.SOURCE, build_root.OUT, "/usr/bin/python3")
    command = build_root.chrooted(root, ["/build/maturin", *arguments])
    _build(command, reproducible.environment(build_root.inner_environment(), build_root.SOURCE), cache)
    for wheel in (root / build_root.OUT.relative_to("/")).glob("*.whl"):
        shutil.copy2(wheel, out)


def _build(command: Sequence[str], environment: Mapping[str, str], cache: Path) -> None:
    crates = (HERE / "Cargo.lock").read_text().count("[[package]]")
    run_watched(command, environment, cache / "libnmstate-build.log", crates)


def _maturin_arguments(source: Path, out: Path, python: str) -> list[str]:
    manifest = str(source / "Cargo.toml")
    return ["build", "--release", "--locked", "-m", manifest, "-i", python, "-o", str(out)]


def _maturin(cache: Path) -> Path:
    """The maturin program, from PyPI in a separate environment."""
    environment = cache / "maturin"
    program = environment / "bin" / "maturin"
    if not program.exists():
        say("installing maturin")
        run([sys.executable, "-m", "venv", "--clear", str(environment)], remedy="install python3-venv")
        pip = [str(environment / "bin" / "python"), "-m", "pip", "install", "--quiet", "--require-hashes"]
        remedy = "check that this machine reaches the Python package index"
        run([*pip, "--only-binary=:all:", "-r", str(MATURIN)], remedy=remedy)
    return program


if __name__ == "__main__":
    sys.exit(main())
