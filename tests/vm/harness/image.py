"""What is a VM's disk?

An overlay, as a node's is in the lab: ext4 images that are never written (the root file system, the kernel's modules,
what a test adds), and one image on top for what this VM writes. The initrd lays them over each other.
"""

import os
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness import host
from harness.rootfs import locked

SIZE = 2 << 30
"""Bytes: most that an image can hold; what it does not hold costs nothing."""
READ_ONLY = ("-O", "^has_journal,^metadata_csum", "-m", "0")
BUILD_TIMEOUT = 300.0


def shared_image(tree: Path, key: str) -> Path:
    """The image of a tree that many VMs use, made on first use."""
    shelf = host.cache() / "image"
    shelf.mkdir(parents=True, exist_ok=True)
    made = shelf / key
    with locked(shelf / "lock"):
        if not made.is_dir():
            with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
                fresh = Path(scratch) / "image"
                fresh.mkdir()
                _make(fresh / "ext4", tree, READ_ONLY)
                fresh.rename(made)
        os.utime(made)
        host.prune(shelf, keep=6)
    return made / "ext4"


def layered_image(path: Path, layers: Sequence[Path]) -> Path:
    """Write an image that holds several trees, the later over the earlier."""
    with tempfile.TemporaryDirectory(prefix="new-", dir=path.parent) as scratch:
        Path(scratch).chmod(0o755)  # it becomes the node's root directory
        for layer in layers:
            host.call(["cp", "--archive", "--no-target-directory", layer, scratch])
        _make(path, Path(scratch), READ_ONLY)
    return path


def own_image(path: Path, files: Mapping[str, str]) -> Path:
    """Write the image for what one VM writes; these files are in it from the start."""
    with tempfile.TemporaryDirectory(prefix="new-", dir=path.parent) as scratch:
        top = Path(scratch) / "upper"
        for name, text in files.items():
            file = top / name.lstrip("/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        top.chmod(0o755)
        _make(path, Path(scratch), ())
    return path


def overlay_of(base: Path, path: Path) -> Path:
    """Write an image that starts as another one and keeps what is written to itself."""
    host.call(["qemu-img", "create", "-q", "-f", "qcow2", "-F", "raw", "-b", base, path])
    return path


def _make(path: Path, tree: Path, options: Sequence[str]) -> None:
    with path.open("wb") as handle:
        handle.truncate(SIZE)
    fixed = ("-q", "-F", "-t", "ext4", "-E", "lazy_itable_init=1,nodiscard")
    host.call(["mke2fs", *fixed, *options, "-d", tree, path], timeout=BUILD_TIMEOUT)
