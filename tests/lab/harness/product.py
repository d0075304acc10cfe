"""What is installed on the node?

The tree of `make install DESTDIR=…`, made once for each state of the sources and laid over the root file system. The
node's own Python compiles it before the first boot, as the post-install step of a package does. The other tree, of
`make tree`, has its own Python; with `NODENET_TREE=bundled` all tests of the lab use that one.
"""

import enum
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

from harness import host
from harness.rootfs import DEFAULT, Suite, locked, merged, rootfs

REPOSITORY = Path(__file__).resolve().parents[3]
SOURCES = ("Makefile", "pyproject.toml", "daemon", "units", "packaging")
"""What the tree is made from: if one of these changes, it is made again."""
PASSED_OVER = frozenset({"__pycache__", "target", "build", "dist"})
USERS = "/usr/lib/sysusers.d/nodenet.conf"
PACKAGES = "/usr/lib/nodenet"
PYTHON = f"{PACKAGES}/python/bin/python3"
"""The program of the tree that has its own Python."""


class Tree(enum.Enum):
    """Which Python runs the product."""

    NODE = "node"
    BUNDLED = "bundled"

    @property
    def target(self) -> str:
        """The target of the Makefile."""
        return "tree" if self is Tree.BUNDLED else "install"


DEFAULT_TREE = Tree(os.environ.get("NODENET_TREE", Tree.NODE.value))
INSTALL_TIMEOUT = 1800.0
"""Seconds; libnmstate's first build is long."""


def install_product(repository: Path = REPOSITORY, suite: Suite = DEFAULT, kind: Tree = DEFAULT_TREE) -> Path:
    """Return the install tree of these sources, compiled for *suite*: a layer for `Lab.node(layers=[…])`."""
    shelf = host.cache() / "tree"
    shelf.mkdir(parents=True, exist_ok=True)
    tree = shelf / _digest(repository, suite, kind)
    with locked(shelf / f"lock-{_name(suite, kind)}"):
        if not tree.is_dir():
            host.progress("installing the product into a tree of its own")
            _install(repository, tree, suite, kind)
        os.utime(tree)
        host.prune(shelf, keep=3 * len(Suite))
    return tree


def _install(repository: Path, tree: Path, suite: Suite, kind: Tree) -> None:
    new = f"new-{_name(suite, kind)}-"
    for leftover in tree.parent.glob(f"{new}*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix=new, dir=tree.parent) as scratch:
        fresh = Path(scratch) / "tree"
        fresh.mkdir()
        fresh.chmod(0o755)  # it becomes the node's root directory
        host.call(["make", "-s", "-C", repository, kind.target, f"DESTDIR={fresh}"], timeout=INSTALL_TIMEOUT)
        _finish(fresh, suite, kind)
        fresh.rename(tree)


def _name(suite: Suite, kind: Tree) -> str:
    """Trees of different names are made at the same time."""
    return f"{kind.value}-{suite.value}"


def _finish(tree: Path, suite: Suite, kind: Tree) -> None:
    """Let the node's Python compile the tree in place and make the users: as the upper layer over the node's root."""
    if not (tree / PACKAGES.lstrip("/")).is_dir():
        return
    with merged([rootfs(suite)], tree) as root:
        if kind is Tree.NODE:
            host.call(["chroot", root, "python3", "-m", "compileall", "-q", PACKAGES], timeout=300)
        if (tree / USERS.lstrip("/")).exists():
            host.call(["systemd-sysusers", f"--root={root}", Path(USERS).name])


def _digest(repository: Path, suite: Suite, kind: Tree) -> str:
    seen = hashlib.sha256(f"{rootfs(suite).name} {kind.value}".encode())
    for path in _files(repository):
        seen.update(f"{path.relative_to(repository)}\0{path.stat().st_mode:o}\0".encode())
        seen.update(hashlib.sha256(path.read_bytes()).digest())
    return seen.hexdigest()[:16]


def _files(repository: Path) -> Iterator[Path]:
    for name in SOURCES:
        top = repository / name
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.is_file() and PASSED_OVER.isdisjoint(path.relative_to(repository).parts):
                yield path
