"""Where does Ignition's validator come from? Go builds it from the module that `../ignition/go.mod` pins, once."""

import hashlib
import os
import platform
import shutil
import subprocess
import tempfile
from pathlib import Path

from harness import host
from harness.kube_programs import run_go
from harness.rootfs import locked

MODULE = Path(__file__).resolve().parents[1] / "ignition"
PACKAGE = "github.com/coreos/ignition/v2/validate"


def validate(config: Path) -> str:
    """Return what the validator says of an Ignition configuration; empty: nothing. Raises LabError if it is invalid."""
    done = subprocess.run([program(), config], capture_output=True, text=True, check=False, timeout=60)
    if done.returncode:
        raise host.LabError(f"{config}: {done.stdout}{done.stderr}")
    return (done.stdout + done.stderr).strip()


def program() -> Path:
    """Return the validator; it is built on first use."""
    shelf = host.cache() / "ignition" / _key()
    shelf.mkdir(parents=True, exist_ok=True)
    with locked(shelf / "lock"):
        made = shelf / "ignition-validate"
        if not made.exists():
            host.progress("building ignition-validate (once)")
            with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch:
                for name in ("go.mod", "go.sum"):
                    shutil.copy(MODULE / name, scratch)
                built = Path(scratch) / "ignition-validate"
                run_go(["build", "-mod=readonly", "-trimpath", "-o", str(built), PACKAGE], Path(scratch))
                built.rename(made)
        os.utime(shelf)
        host.prune(shelf.parent)
    return made


def _key() -> str:
    seen = hashlib.sha256(platform.machine().encode())
    for name in ("go.mod", "go.sum"):
        seen.update((MODULE / name).read_bytes())
    return seen.hexdigest()[:16]
