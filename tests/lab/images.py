"""How is an image built from a Containerfile where no registry can be reached?

buildah builds it on a base image that is a node's root file system with pip. The base is made once for each root file
system; the Python packages that a Containerfile installs come from a directory of this machine.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import sys
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from harness import host
from harness.rootfs import DEFAULT, locked, merged, packages, rootfs

ROOT = Path(__file__).resolve().parents[2]
REQUIREMENTS = ROOT / "packaging" / "requirements.txt"
WHEELS = "/wheels"
PIP = f"[global]\nno-index = true\nfind-links = {WHEELS}\ndisable-pip-version-check = true\n"
ENVIRONMENT = ("PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8")
BUILD_SECONDS = 600.0


class Images:
    """The images of this machine's tests; a context manager that one test at a time is in."""

    def __init__(self) -> None:
        host.ensure_packages({"buildah": "buildah"})
        self._shelf = host.cache() / "images"
        self._shelf.mkdir(parents=True, exist_ok=True)
        # containers/storage cannot put its overlay over another one.
        over = host.call(["stat", "--file-system", "--format=%T", self._shelf]).strip()
        self._driver = "vfs" if over == "overlayfs" else "overlay"
        self._ends = contextlib.ExitStack()

    def __enter__(self) -> Self:
        self._ends.enter_context(locked(self._shelf / "lock"))
        self._clear()  # what a killed test left behind
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._clear()
        self._ends.close()

    def build(self, containerfile: Path, context: Path) -> str:
        """Build an image on the base; return its id."""
        with tempfile.TemporaryDirectory(prefix="image-", dir=self._shelf) as scratch:
            found, config = Path(scratch) / "id", Path(scratch) / "pip.conf"
            config.write_text(PIP)
            lent = (f"--volume={_wheels()}:{WHEELS}:ro", f"--volume={config}:/etc/pip.conf:ro")
            words = ["bud", "--quiet", "--isolation=chroot", "--network=host", f"--build-arg=BASE={self.base()}"]
            self._buildah(*words, *lent, f"--iidfile={found}", f"--file={containerfile}", str(context))
            return found.read_text().strip()

    def config(self, image: str) -> dict[str, Any]:
        """Return what a runtime starts in a container of the image, by the OCI image specification."""
        found: dict[str, Any] = json.loads(self._buildah("inspect", "--type=image", image))["OCIv1"]["config"]
        return found

    def mounted(self, image: str) -> Path:
        """Return the root directory of a new container of the image, until the end of the block."""
        container = self._buildah("from", "--pull-never", image).strip()
        return Path(self._buildah("mount", container).strip())

    def base(self) -> str:
        """Return the name of the image of a node's root file system; it is made on first use."""
        layers = rootfs(DEFAULT), packages(DEFAULT, "python3-pip")
        name = (
            "localhost/nodenet-lab:" + hashlib.sha256("".join(layer.name for layer in layers).encode()).hexdigest()[:16]
        )
        if name not in self._buildah("images", "--format={{.Name}}:{{.Tag}}").split():
            host.progress("making an image of a node's root file system (once)")
            self._buildah("rmi", "--all", "--force")  # bases of other root file systems
            with (
                tempfile.TemporaryDirectory(prefix="base-", dir=self._shelf) as scratch,
                merged(layers, Path(scratch) / "upper") as root,
            ):
                self._import(root, name)
        return name

    def _import(self, root: Path, name: str) -> None:
        container = self._buildah("from", "scratch").strip()
        place = Path(self._buildah("mount", container).strip())
        host.call(["cp", "--archive", f"{root}/.", place], timeout=BUILD_SECONDS)
        (place / "usr/local/bin/python").symlink_to("/usr/bin/python3")  # as in the images of Python
        self._buildah("config", *(f"--env={each}" for each in ENVIRONMENT), container)
        self._buildah("commit", "--quiet", "--disable-compression", "--rm", container, name)

    def _clear(self) -> None:
        self._buildah("rm", "--all")
        self._buildah("rmi", "--prune", "--force")

    def _buildah(self, *words: str) -> str:
        store = ["--root", str(self._shelf / "root"), "--runroot", str(self._shelf / "run")]
        return host.call(["buildah", *store, "--storage-driver", self._driver, *words], timeout=BUILD_SECONDS)


def _wheels() -> Path:
    """Return a directory with the locked packages as files, downloaded once for each lock file."""
    shelf = host.cache() / "wheels-of-image"
    shelf.mkdir(parents=True, exist_ok=True)
    made = shelf / hashlib.sha256(REQUIREMENTS.read_bytes()).hexdigest()[:16]
    with locked(shelf / "lock"):
        if not made.is_dir():
            with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
                fresh = Path(scratch) / "wheels"
                fetch = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--require-hashes"]
                host.call([*fetch, "--only-binary=:all:", "-d", fresh, "-r", REQUIREMENTS], timeout=BUILD_SECONDS)
                fresh.rename(made)
        host.prune(shelf)
    return made
