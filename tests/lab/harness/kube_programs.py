"""Where do kube-apiserver, kubelet and the other parts of Kubernetes come from?

Go builds them from the modules that `../kubernetes/go.mod` pins, once for each content of that directory. Debian has no
package of them. A program lies in a tree of its own, so that it can be a layer of a node's root file system.
"""

import contextlib
import enum
import hashlib
import os
import platform
import re
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path

from harness import host
from harness.rootfs import Suite, bound, locked, merged, packages, rootfs

MODULE = Path(__file__).resolve().parents[1] / "kubernetes"
OLDEST_GO = (1, 24)
"""What go.mod requires."""
BUILD_TIMEOUT = 3000.0
PLACE = "usr/local/bin"


class Program(enum.Enum):
    """A part of Kubernetes."""

    APISERVER = "kube-apiserver"
    CONTROLLER_MANAGER = "kube-controller-manager"
    KUBECTL = "kubectl"
    KUBELET = "kubelet"

    @property
    def path(self) -> Path:
        """The program; it is built on first use, in some minutes, unless `tools/prepare.py` has built it before."""
        return self.layer / PLACE / self.value

    @property
    def layer(self) -> Path:
        """A directory to lay over a root file system: the program in /usr/local/bin."""
        return build(self) / self.value


def build(*programs: Program) -> Path:
    """Build those of *programs* that are missing, all in one run of Go; return the directory with their layers."""
    shelf = _cache() / _key()
    shelf.mkdir(parents=True, exist_ok=True)
    with locked(shelf / "lock"):
        if missing := [program for program in programs if not (shelf / program.value).is_dir()]:
            _build(missing, shelf)
        os.utime(shelf)
        host.prune(_cache())
    return shelf


def etcd() -> Path:
    """Return etcd of this machine's Debian; unpacked, not installed, since its package would start it here."""
    shelf = _cache()
    shelf.mkdir(parents=True, exist_ok=True)
    made = shelf / "etcd"
    with locked(shelf / "etcd.lock"):
        if not made.is_dir():
            host.progress("fetching etcd (once)")
            with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
                _unpack("etcd-server", Path(scratch))
                (Path(scratch) / "tree").rename(made)
        os.utime(made)
    return made / "usr/bin/etcd"


def version() -> str:
    """Return the version that go.mod requires, such as `v1.34.4`."""
    found = re.search(r"^(?:require|\t)\s*k8s\.io/kubernetes (v\S+)\b", (MODULE / "go.mod").read_text(), re.MULTILINE)
    if found is None:
        raise host.LabError(f"{MODULE}/go.mod does not require k8s.io/kubernetes")
    return found[1]


def _cache() -> Path:
    return host.cache() / "kubernetes"


def _unpack(package: str, scratch: Path) -> None:
    host.call(["apt-get", "-qq", "update"], timeout=300)
    download = ["apt-get", "-qq", "-o", "APT::Sandbox::User=root", "download", package]
    host.call(["env", "-C", scratch, *download], timeout=300)
    (archive,) = scratch.glob("*.deb")
    host.call(["dpkg-deb", "-x", archive, scratch / "tree"], timeout=300)


def _key() -> str:
    seen = hashlib.sha256(f"{platform.machine()}\n{_flags()}".encode())
    for name in ("go.mod", "go.sum"):
        seen.update((MODULE / name).read_bytes())
    return f"{version()}-{seen.hexdigest()[:16]}"


def _build(programs: Sequence[Program], shelf: Path) -> None:
    names = [program.value for program in programs]
    host.progress(f"building {', '.join(names)} {version()} (once; some minutes)")
    with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
        made = Path(scratch) / "made"
        made.mkdir()
        for path in (MODULE / "go.mod", MODULE / "go.sum"):
            shutil.copy(path, scratch)
        words = ["build", "-mod=readonly", "-trimpath", "-ldflags", _flags(), "-o", f"{made}/"]
        run_go([*words, *(f"k8s.io/kubernetes/cmd/{name}" for name in names)], Path(scratch))
        for name in names:
            place = Path(scratch) / f"{name}-tree" / PLACE
            place.mkdir(parents=True)
            (made / name).rename(place / name)
            place.parents[2].chmod(0o755)
            place.parents[2].rename(shelf / name)


def _flags() -> str:
    """Name the version as a release does: kubelet and kube-apiserver compare theirs."""
    major, minor, _ = version().removeprefix("v").split(".")
    names = {"gitVersion": version(), "gitMajor": major, "gitMinor": minor, "gitTreeState": "clean"}
    return " ".join(["-s", "-w", *(f"-X k8s.io/component-base/version.{name}={text}" for name, text in names.items())])


def run_go(words: list[str], directory: Path) -> None:
    """Run Go in *directory*: this machine's own if it is new enough, otherwise Debian's in a root file system."""
    environment = {**os.environ, "GOTOOLCHAIN": "local", "GOFLAGS": "-buildvcs=false"}
    if _go_version() >= OLDEST_GO:
        host.call(["nice", "go", "-C", directory, *words], timeout=BUILD_TIMEOUT, env=environment)
        return
    caches = _cache() / "go"  # the second program is built with the packages of the first one
    caches.mkdir(exist_ok=True)
    environment |= {"HOME": "/root", "GOCACHE": "/caches/build", "GOMODCACHE": "/caches/modules"}
    lower = [rootfs(Suite.FORKY), packages(Suite.FORKY, "golang-go", "ca-certificates")]
    with contextlib.ExitStack() as mounts:
        root = mounts.enter_context(merged(lower, directory / "root"))
        for source in (Path("/proc"), Path("/etc/ssl/certs")):  # an authority that only this machine trusts, too
            mounts.enter_context(bound(source, root / source.relative_to("/")))
        for source, target in ((directory, "build"), (caches, "caches")):
            mounts.enter_context(bound(source, root / target))
        (root / "etc/resolv.conf").write_text(Path("/etc/resolv.conf").read_text())
        there = [word.replace(str(directory), "/build") for word in words]
        go: list[str | Path] = ["chroot", root, "nice", "go", "-C", "/build", *there]
        host.call(go, timeout=BUILD_TIMEOUT, env=environment)


def _go_version() -> tuple[int, ...]:
    if shutil.which("go") is None:
        return (0,)
    found = re.search(
        r"go(\d+)\.(\d+)", host.call(["go", "env", "GOVERSION"], env={**os.environ, "GOTOOLCHAIN": "local"})
    )
    return (int(found[1]), int(found[2])) if found else (0,)
