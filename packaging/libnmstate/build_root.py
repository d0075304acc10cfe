"""How is the wheel built on a machine without Rust?

Inside a Debian root file system that packages it, kept in the cache with cargo's downloads and
results, so that only the first build is slow. Needs root for chroot and a private mount namespace.
"""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from build_terminal import BuildError, run, say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

SUITE = "forky"
PACKAGES = ("rustc", "cargo", "gcc", "libc6-dev", "python3", "ca-certificates")
SOURCE = Path("/build/src")
OUT = Path("/build/out")
# How this machine reaches the network is also how the build inside the tree does.
PRIVATE = ("unshare", "--mount", "--propagation", "private")
"""What is mounted in the tree ends with the program, also when that is killed: a later build removes the tree."""
PASSED_ON = re.compile(r"(?i)(https?|all|no)_proxy$|CARGO_(HTTP|NET|REGISTR|SOURCE)")


def build_root(cache: Path, original: Path | None) -> Path:
    """A Debian tree with Rust in the cache, made by mmdebstrap or from a copy of `original`."""
    if os.geteuid() != 0:
        raise BuildError("building in a root file system needs root: run as root, or install Rust >= 1.88")
    root = cache / f"build-root-{SUITE}"
    if (root / "build").is_dir():
        return root
    unfinished = cache / f"build-root-{SUITE}.unfinished"
    if unfinished.exists():
        shutil.rmtree(unfinished)
    if original:
        _copied_root(original, unfinished)
    else:
        _new_root(unfinished)
    (unfinished / "build").mkdir(exist_ok=True)
    unfinished.rename(root)
    return root


def _new_root(root: Path) -> None:
    say(f"making a Debian {SUITE} tree with Rust in it: about 2 minutes")
    run(
        [
            *PRIVATE,
            "mmdebstrap",
            "--quiet",
            "--variant=minbase",
            "--mode=root",
            '--aptopt=Apt::Install-Recommends "0"',
            # Mirrors lag behind the release file's date; signatures are still checked.
            '--aptopt=Acquire::Check-Valid-Until "false"',
            f"--include={','.join(PACKAGES)}",
            SUITE,
            str(root),
        ],
        remedy="install mmdebstrap, or give --rootfs a Debian tree",
    )


def _copied_root(original: Path, root: Path) -> None:
    say(f"copying {original} and installing Rust in the copy: about 2 minutes")
    run(["cp", "-a", "--reflink=auto", str(original), str(root)], remedy="give --rootfs a Debian tree")
    (root / "build").mkdir()
    _lend_network(root)
    policy = root / "usr/sbin/policy-rc.d"
    policy.write_text("#!/bin/sh\nexit 101\n")  # no package may start a daemon
    policy.chmod(0o755)
    update = "apt-get -q -o Acquire::Check-Valid-Until=false update"
    install = f"apt-get -q install -y --no-install-recommends {' '.join(PACKAGES)}"
    quietly = f"{{ {update} && {install}; }} >/build/apt.log 2>&1 || {{ tail -n 20 /build/apt.log; exit 1; }}"
    run(
        chrooted(root, ["sh", "-c", quietly]),
        remedy=f"the tree must be Debian {SUITE} or newer, with apt and a reachable mirror",
        environment=inner_environment(),
    )


def lay_out(root: Path, base: Path, sources: Iterable[Path], maturin: Path) -> None:
    """Put the sources (paths below `base`), maturin and this machine's network settings into the tree."""
    inner = root / SOURCE.relative_to("/")
    shutil.rmtree(inner, ignore_errors=True)
    shutil.rmtree(root / OUT.relative_to("/"), ignore_errors=True)
    for path in sources:
        copy = inner / path.relative_to(base)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)  # with its time: cargo rebuilds what is newer
    # maturin's program is linked statically and needs nothing of the machine it comes from.
    shutil.copy2(maturin, root / "build" / "maturin")
    _lend_network(root)


def chrooted(root: Path, command: Sequence[str]) -> list[str]:
    """Run in `root`; its mounts live in a mount namespace that ends with the command."""
    mounts = 'mount -t proc proc "$0/proc"; mount --rbind /dev "$0/dev"; exec chroot "$0" "$@"'
    return [*PRIVATE, "sh", "-euc", mounts, str(root), *command]


def inner_environment() -> dict[str, str]:
    """Environment for a command in the tree; nothing of ours but the way to the network."""
    passed = {name: value for name, value in os.environ.items() if PASSED_ON.match(name)}
    return {
        **passed,
        "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
        "HOME": "/build",
        "CARGO_HOME": "/build/cargo",
        "CARGO_TARGET_DIR": "/build/target",
        "DEBIAN_FRONTEND": "noninteractive",
    }


def _lend_network(root: Path) -> None:
    """Give the tree this machine's name servers, trusted certificates and cargo settings."""
    home = Path(os.environ.get("CARGO_HOME") or Path.home() / ".cargo")
    lent = {
        Path("/etc/resolv.conf"): "etc/resolv.conf",
        Path("/etc/hosts"): "etc/hosts",
        Path("/etc/ssl/certs/ca-certificates.crt"): "etc/ssl/certs/ca-certificates.crt",
        home / "config.toml": "build/cargo/config.toml",
    }
    for ours, theirs in lent.items():
        if ours.exists():
            place = root / theirs
            place.parent.mkdir(parents=True, exist_ok=True)
            place.unlink(missing_ok=True)  # it may be a link that leads out of the tree
            shutil.copyfile(ours, place)
