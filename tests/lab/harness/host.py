"""What must this machine have for a lab, and how are its commands called?"""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")

PACKAGES = {
    "systemd-nspawn": "systemd-container",
    "mmdebstrap": "mmdebstrap",
    "dnsmasq": "dnsmasq-base",
    "ethtool": "ethtool",
    "ip": "iproute2",
    "nft": "nftables",
    "dbus-daemon": "dbus",
}
"""Command the harness or the tests call, and the Debian package that brings it."""


INSTANCES = 1024
"""Of inotify; a node uses about ten."""
PATIENCE = 3.0
"""The factor for all limits of waits: tests give what is long on a quiet machine, and a gate is not always quiet."""


class LabError(RuntimeError):
    """The lab could not do what a test requested; the text contains the evidence."""


def progress(line: str) -> None:
    """Print what takes so long."""
    sys.stderr.write(f"lab: {line}\n")
    sys.stderr.flush()


def obstacle() -> str | None:
    """Return why no lab can run on this machine; None if it can."""
    if sys.platform != "linux":
        return "the lab boots Linux nodes and runs on Linux only"
    if os.geteuid() != 0:
        return "the lab boots nodes and needs root: run it with sudo"
    if not (cgroups() / "cgroup.procs").exists():
        return "no unified cgroup hierarchy is mounted below /sys/fs/cgroup: systemd cannot boot in a node"
    missing = missing_packages()
    if missing and shutil.which("apt-get") is None:
        return f"missing commands of {', '.join(missing)}, and no apt-get to install them with"
    return None


def cgroups() -> Path:
    """Return the root of the unified hierarchy, also on a machine with version 1 hierarchies."""
    hybrid = Path("/sys/fs/cgroup/unified")
    return hybrid if hybrid.is_dir() else Path("/sys/fs/cgroup")


def missing_packages(packages: Mapping[str, str] = PACKAGES) -> list[str]:
    """Return the Debian packages whose command this machine does not have."""
    return [package for command, package in packages.items() if shutil.which(command) is None]


def ensure_packages(packages: Mapping[str, str] = PACKAGES) -> None:
    """Install what is missing with apt-get, which starts no daemon of these packages."""
    missing = missing_packages(packages)
    if not missing:
        return
    progress(f"installing {' '.join(missing)} (some seconds, once)")
    env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    install = ["apt-get", "-qq", "-y", "--no-install-recommends", "install", *missing]
    call(["apt-get", "-qq", "update"], timeout=300, env=env)
    call(install, timeout=600, env=env)


def make_room() -> None:
    """Let root have as many inotify instances as many nodes need; the kernel's own limit is good for a dozen nodes."""
    limit = Path("/proc/sys/fs/inotify/max_user_instances")
    if int(limit.read_text()) < INSTANCES:
        with contextlib.suppress(OSError):  # a container may not change it, and a lab with few nodes does not need it
            limit.write_text(str(INSTANCES))


def call(argv: Sequence[str | Path], *, timeout: float = 30, env: dict[str, str] | None = None) -> str:
    """Run a command of this machine and return what it printed.

    Raises LabError with its standard error when it fails or takes longer than `timeout` seconds.
    """
    words = [str(word) for word in argv]
    try:
        done = subprocess.run(
            words,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=timeout,
            env=env,
            check=False,
        )
    except subprocess.TimeoutExpired as late:
        raise LabError(f"{' '.join(words)}: still running after {timeout:g} s") from late
    except FileNotFoundError as absent:
        raise LabError(f"{words[0]}: no such command on this machine") from absent
    if done.returncode != 0:
        said = tail(done.stdout + done.stderr)
        raise LabError(f"{' '.join(words)}: exit code {done.returncode}\n{said}")
    return done.stdout


def eventually(
    look: Callable[[], T | None], what: str, *, timeout: float = 30, pause: float = 0.05, patience: float = PATIENCE
) -> T:
    """Call `look` until it returns something true, and return that.

    Raises LabError with `what` after `timeout` seconds, times `patience`. A pause is at least twice as long as the look
    before it: on a busy machine and in an emulated one, looks must leave some processor to what they wait for.
    """
    patient = timeout * patience
    deadline = time.monotonic() + patient
    while True:
        began = time.monotonic()
        found = look()
        if found:
            return found
        now = time.monotonic()
        if now > deadline:
            raise LabError(f"waited {patient:g} s for {what}, without result")
        time.sleep(max(pause, 2 * (now - began)))


def tail(text: str, lines: int = 40) -> str:
    """Return the last lines of a text, for an error message."""
    return "\n".join(text.splitlines()[-lines:])


def cache() -> Path:
    """Return the directory for what is slow to make; it is never inside the repository."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "nodenet"


def prune(directory: Path, *, keep: int = 3, older_than: float = 86400) -> None:
    """Remove directories, except the newest `keep` ones and those used in the last `older_than` seconds."""
    entries = [entry for entry in directory.iterdir() if entry.is_dir()]
    entries.sort(key=lambda entry: entry.stat().st_mtime, reverse=True)
    for entry in entries[keep:]:
        if time.time() - entry.stat().st_mtime > older_than:
            shutil.rmtree(entry, ignore_errors=True)
