"""Make what the tests of booted nodes need and what takes long, several at a time: `python tools/prepare.py`.

Everything is kept outside the repository, by a hash of its inputs (`${XDG_CACHE_HOME:-~/.cache}/nodenet/`), so a second
run has little to do. A test that finds a part missing makes it itself; a part that cannot be made is named here, and
the test that needs it fails with the cause.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / place) for place in ("tests", "tests/lab", "daemon", "packaging/libnmstate")]

import ovn  # noqa: E402 -- found there
from harness import LabError, Suite, host, install_product, progress  # noqa: E402
from harness.cni_programs import cni_programs  # noqa: E402
from harness.ignition_validate import program as ignition_validate  # noqa: E402
from harness.kube_programs import Program, build, etcd  # noqa: E402
from harness.kubelet import PACKAGES as CONTAINERD  # noqa: E402
from harness.product import Tree  # noqa: E402
from harness.rootfs import DEFAULT, packages  # noqa: E402
from images import Images  # noqa: E402
from vip_rig import PROGRAMS  # noqa: E402
from vm.harness import frozen  # noqa: E402
from vm.harness import obstacle as no_vm  # noqa: E402

AT_ONCE = 3
"""Go and Rust use every core; the rest mostly waits for the network."""


def main() -> int:
    """Make everything; 1 if a part could not be made."""
    if why := host.obstacle():
        progress(why)
        return 1
    host.ensure_packages()
    began = time.monotonic()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        done = list(pool.map(partial(made, began), *zip(*parts().items(), strict=True)))
    return 0 if all(done) else 1


def parts() -> Mapping[str, Callable[[], object]]:
    """Return what is made, the longest first."""
    found: dict[str, Callable[[], object]] = {
        "programs of Kubernetes": lambda: build(*Program),
        "root file system and product": install_product,
        "product with its own Python": lambda: install_product(kind=Tree.BUNDLED),
        "etcd": etcd,
        "programs of CNI": cni_programs,
        "ignition-validate": ignition_validate,
    }
    for suite in Suite:
        found[f"product on {suite.value}"] = partial(install_product, suite=suite)
    further = {"hosted services": PROGRAMS, "containerd": CONTAINERD, "rpm": ("rpm",), "curl": ("curl",)}
    found |= {name: partial(packages, DEFAULT, *names) for name, names in further.items()}
    found["OVN"] = ovn.layer
    found["images"] = image_base
    if no_vm() is None:
        found["frozen VM"] = lambda: frozen(install_product())
    return found


def image_base() -> None:
    """Make the image that Containerfiles of the tests begin with."""
    with Images() as images:
        images.base()


def made(began: float, name: str, make: Callable[[], object]) -> bool:
    """Make one part; say how long it took, or why it cannot be made."""
    try:
        make()
    except (LabError, OSError, subprocess.SubprocessError) as error:
        progress(f"{name}: not made: {error}")
        return False
    progress(f"{time.monotonic() - began:.0f} s: {name}")
    return True


if __name__ == "__main__":
    sys.exit(main())
