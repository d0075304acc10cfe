"""Where do cnitool and the CNI plugins come from?

Go builds them from the modules that `../cni/go.mod` pins, once for each content of that directory.
"""

import enum
import hashlib
import os
import platform
import shutil
import tempfile
from pathlib import Path

from harness import host
from harness.kube_programs import run_go
from harness.rootfs import locked

MODULE = Path(__file__).resolve().parents[1] / "cni"


class Cni(enum.Enum):
    """A program of CNI, and its package."""

    TOOL = "github.com/containernetworking/cni/cnitool"
    BRIDGE = "github.com/containernetworking/plugins/plugins/main/bridge"
    HOST_DEVICE = "github.com/containernetworking/plugins/plugins/main/host-device"
    MACVLAN = "github.com/containernetworking/plugins/plugins/main/macvlan"
    HOST_LOCAL = "github.com/containernetworking/plugins/plugins/ipam/host-local"
    WHEREABOUTS = "github.com/k8snetworkplumbingwg/whereabouts/cmd"

    @property
    def filename(self) -> str:
        """Its name in the directory of programs."""
        return self.value.removesuffix("/cmd").rpartition("/")[2]


def cni_programs() -> Path:
    """Return the directory with all of them; they are built on first use, in two minutes."""
    shelf = host.cache() / "cni-programs"
    shelf.mkdir(parents=True, exist_ok=True)
    made = shelf / _key()
    with locked(shelf / "lock"):
        if not made.is_dir():
            _build(shelf, made)
        os.utime(made)
        host.prune(shelf)
    return made


def _build(shelf: Path, made: Path) -> None:
    host.progress("building cnitool and CNI plugins (once; two minutes)")
    with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
        place = Path(scratch) / "tree"
        place.mkdir()
        for path in (MODULE / "go.mod", MODULE / "go.sum"):
            shutil.copy(path, scratch)
        words = ["build", "-mod=readonly", "-trimpath", "-ldflags", "-s -w", "-o", f"{place}/"]
        run_go([*words, *(program.value for program in Cni)], Path(scratch))
        (place / "cmd").rename(place / "whereabouts")
        place.chmod(0o755)
        place.rename(made)


def _key() -> str:
    seen = hashlib.sha256(platform.machine().encode())
    for name in ("go.mod", "go.sum"):
        seen.update((MODULE / name).read_bytes())
    return seen.hexdigest()[:16]
