"""Where does a node's root file system come from?

mmdebstrap makes it from Debian packages alone, once; it is never booted itself, every node is an overlay over
it. forky is the first Debian whose NetworkManager has its Open vSwitch plugin packaged.
"""

import contextlib
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness import host

SUITE = "forky"
PACKAGES = (
    "systemd",
    "systemd-sysv",
    "dbus",
    "udev",
    "kmod",
    "network-manager",
    "network-manager-ovs",
    "systemd-resolved",
    "openvswitch-switch",
    "python3",
    "iproute2",
    "iputils-ping",
    "iputils-arping",
    "procps",
    "less",
    "jq",
    "ethtool",
)
# A mirror can lag behind its promise, so Check-Valid-Until is off; signatures are still checked.
RECIPE = (
    "--variant=minbase",
    "--mode=root",
    '--aptopt=Apt::Install-Recommends "0"',
    '--aptopt=Acquire::Check-Valid-Until "false"',
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-include=/usr/share/doc/*/copyright",
    "--include=" + ",".join(PACKAGES),
)
REMOVED = (
    "etc/NetworkManager/dispatcher.d/01-ifupdown",  # fails without ifupdown
    "usr/sbin/resolvconf",  # systemd-resolved's: NetworkManager would hand resolv.conf to it, though it does not run
    "etc/hostname",  # each node has its own, or none
    "usr/sbin/resolvconf",  # systemd-resolved's: NetworkManager would give it the nameservers, in vain
    "var/cache/apt/archives",
    "var/lib/apt/lists",
)
MASKED = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer")
"""Timers that would run in the middle of a test."""
DISABLED = ("systemd-resolved.service",)
"""Installed for the tests that want it; a node like those we replace does without."""
BUILD_TIMEOUT = 1800.0


def rootfs() -> Path:
    """The read-only root file system of this recipe, built on first use."""
    shelf = host.cache() / "rootfs"
    shelf.mkdir(parents=True, exist_ok=True)
    made = shelf / key()
    with locked(shelf / "lock"):
        if not made.is_dir():
            host.ensure_packages()
            _build(made)
        os.utime(made)
        host.prune(shelf)
    return made


def key() -> str:
    """Name of the cache entry: another recipe is another root file system."""
    recipe = "\n".join((SUITE, *RECIPE, *REMOVED, *MASKED, *DISABLED))
    return f"{SUITE}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one builder at a time in; the others wait and then find the work done."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(made: Path) -> None:
    host.progress("building the lab's root file system (about a minute, once)")
    for leftover in made.parent.glob("new-*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix="new-", dir=made.parent) as scratch:
        root = Path(scratch) / "root"
        host.call(["mmdebstrap", *RECIPE, SUITE, root], timeout=BUILD_TIMEOUT)
        _finish(root)
        root.rename(made)
    host.progress("the root file system is ready")


def _finish(root: Path) -> None:
    for name in REMOVED:
        path = root / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
    for unit in MASKED:
        host.call(["systemctl", f"--root={root}", "mask", "--quiet", unit])
    for unit in DISABLED:
        host.call(["systemctl", f"--root={root}", "disable", "--quiet", unit])
