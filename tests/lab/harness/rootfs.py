"""Where does a node's root file system come from?

mmdebstrap makes it from Debian packages, once for each suite. It is never booted itself: every node is an overlay
over it. forky is the first Debian that packages the Open vSwitch plugin of NetworkManager.
"""

import contextlib
import enum
import fcntl
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from harness import host


class Suite(enum.Enum):
    """A release of Debian that nodes boot."""

    FORKY = "forky"
    """systemd 262, NetworkManager 1.58 with its Open vSwitch plugin, Python 3.14."""
    TRIXIE = "trixie"
    """systemd 257, NetworkManager 1.52 without the plugin, Python 3.13: everything except br-ex."""

    @property
    def packages(self) -> tuple[str, ...]:
        """What is installed: the same on every suite that has it."""
        return tuple(package for package in PACKAGES if package not in MISSING.get(self.value, ()))

    @property
    def recipe(self) -> tuple[str, ...]:
        """The options of mmdebstrap."""
        return (*RECIPE, "--include=" + ",".join(self.packages))


DEFAULT = Suite(os.environ.get("NODENET_LAB_SUITE", Suite.FORKY.value))
"""What a node boots unless a test asks for a suite; with `NODENET_LAB_SUITE=trixie` that other one."""
MISSING = {"trixie": ("network-manager-ovs",)}
"""Packages that a suite does not have."""
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
)
REMOVED = (
    "etc/NetworkManager/dispatcher.d/01-ifupdown",  # fails without ifupdown
    "usr/sbin/resolvconf",  # systemd-resolved's, which does not run: NetworkManager would pass the DNS servers to it
    "etc/hostname",  # each node has its own, or none
    "var/cache/apt/archives",
    "var/lib/apt/lists",
)
MASKED = ("apt-daily.timer", "apt-daily-upgrade.timer", "dpkg-db-backup.timer", "fstrim.timer")
"""Timers that would start during a test."""
DISABLED = ("systemd-resolved.service",)
"""Installed for the tests that start it; a node of the systems that nodenet replaces does not run it."""
BUILD_TIMEOUT = 1800.0
MIRROR = "http://deb.debian.org/debian"


def rootfs(suite: Suite = DEFAULT) -> Path:
    """Return the read-only root file system of *suite*; build it on first use."""
    shelf = host.cache() / "rootfs"
    shelf.mkdir(parents=True, exist_ok=True)
    made = shelf / key(suite)
    with locked(shelf / f"lock-{suite.value}"):
        if not made.is_dir():
            host.ensure_packages()
            _build(suite, made)
        os.utime(made)
        host.prune(shelf, keep=2 * len(Suite))
    return made


def key(suite: Suite = DEFAULT) -> str:
    """Return the name of the cache entry: another recipe is another root file system."""
    recipe = "\n".join((suite.value, *suite.recipe, *REMOVED, *MASKED, *DISABLED))
    return f"{suite.value}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"


def packages(suite: Suite, *names: str, beside: Suite | None = None) -> Path:
    """Return a layer with further packages, for nodes of *suite*; install them on first use.

    A package that *suite* does not have is installed from the release *beside* it.
    """
    base = rootfs(suite)
    shelf = host.cache() / "rootfs-layers"
    shelf.mkdir(parents=True, exist_ok=True)
    words = " ".join((*names, *([f"beside={beside.value}"] if beside else [])))
    made = shelf / f"{base.name}-{hashlib.sha256(words.encode()).hexdigest()[:16]}"
    with locked(shelf / f"lock-{made.name}"):
        if not made.is_dir():
            host.progress(f"installing {' '.join(names)} of Debian {suite.value} into a layer (once)")
            _install(base, names, made, beside)
        os.utime(made)
        host.prune(shelf, keep=2 * len(Suite))
    return made


@contextlib.contextmanager
def merged(lower: Sequence[Path], upper: Path) -> Iterator[Path]:
    """Mount layers over each other (later wins), *upper* over all of them; what is written goes to *upper*."""
    work, root = upper.with_name(f"{upper.name}.work"), upper.with_name(f"{upper.name}.root")
    for directory in (upper, work, root):
        directory.mkdir(exist_ok=True)
    layers = ":".join(str(layer) for layer in reversed(lower))
    options = f"lowerdir={layers},upperdir={upper},workdir={work}"
    host.call(["mount", "-t", "overlay", "-o", options, "overlay", root])
    try:
        yield root
    finally:
        host.call(["umount", root])


@contextlib.contextmanager
def bound(source: Path, target: Path) -> Iterator[None]:
    """Mount a directory of this machine at another place, which is made if it does not exist."""
    target.mkdir(exist_ok=True)
    host.call(["mount", "--bind", source, target])
    try:
        yield
    finally:
        host.call(["umount", target])


@contextlib.contextmanager
def locked(path: Path) -> Iterator[None]:
    """Let one builder in at a time; the others wait, then find its result."""
    with path.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _build(suite: Suite, made: Path) -> None:
    host.progress(f"building the lab's root file system of Debian {suite.value} (about a minute, once)")
    new = f"new-{suite.value}-"
    for leftover in made.parent.glob(f"{new}*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix=new, dir=made.parent) as scratch:
        root = Path(scratch) / "root"
        host.call(["mmdebstrap", *suite.recipe, suite.value, root], timeout=BUILD_TIMEOUT)
        _finish(root)
        root.rename(made)
    host.progress(f"the root file system of Debian {suite.value} is ready")


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


def _install(base: Path, names: Sequence[str], made: Path, beside: Suite | None) -> None:
    with tempfile.TemporaryDirectory(prefix="new-", dir=made.parent) as scratch:
        fresh = Path(scratch) / "layer"
        with merged([base], fresh) as root:
            network = root / "etc/resolv.conf"  # a link to a file of systemd-resolved, which does not run
            network.unlink(missing_ok=True)
            network.write_text(Path("/etc/resolv.conf").read_text())
            more = root / "etc/apt/sources.list.d/beside.list"
            if beside:
                more.write_text(f"deb {MIRROR} {beside.value} main\n")
            apt: list[str | Path] = ["chroot", root, "/usr/bin/env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-qq"]
            host.call([*apt, "update"], timeout=BUILD_TIMEOUT)
            host.call([*apt, "-y", "install", *names], timeout=BUILD_TIMEOUT)
            network.write_text("")
            more.unlink(missing_ok=True)
        for name in ("var/cache/apt", "var/lib/apt/lists"):
            shutil.rmtree(fresh / name)
        fresh.chmod(0o755)
        fresh.rename(made)
