"""How does a test get a booted VM in a second, when a boot takes half a minute?

One VM is booted with every cable out, waits until it has settled, and is frozen: memory, devices and disk go to
the cache. Every test goes on from there with a copy of its own, and puts the cables in. Nothing of a LAN is in
what is frozen, so it is good for any of them; and it is only used with the very kernel, root file system,
product and QEMU that it was made with.
"""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from harness import Flavour, Lab, host, rootfs
from harness.rootfs import locked
from vm.harness import image, qemu
from vm.harness.kernel import Kernel, kernel
from vm.harness.machine import Vm

GUEST = Path(__file__).parents[1] / "guest"
HERE = Path(__file__).parent
HOSTNAME = "worker-0"
FILES = {
    "/etc/hostname": f"{HOSTNAME}\n",
    "/etc/machine-id": "5b0c5f6d3f0e4b8a9d0f0e7f6a2c1d34\n",
}
"""What makes a node of the root file system; all VMs are copies, with the same machine id."""
UNUSED_SECONDS = 1800.0
"""A frozen VM takes 300 MB, and each state of the sources has its own: old ones are removed."""


@dataclass(frozen=True, slots=True)
class Frozen:
    """A booted VM whose state is saved."""

    directory: Path
    kernel: Kernel
    layers: tuple[Path, ...]

    @property
    def memory(self) -> Path:
        """Its memory and devices."""
        return self.directory / "memory"

    @property
    def disk(self) -> Path:
        """What it had written when it was frozen."""
        return self.directory / "disk.img"


def frozen(product: Path, flavour: Flavour = Flavour.OPENSHIFT) -> Frozen:
    """A VM with the product installed, not enabled; booted and frozen on first use."""
    host.ensure_packages(qemu.PACKAGES)
    base, engine = rootfs.rootfs(), kernel()
    added = (GUEST, *flavour.layers, product)
    shelf = host.cache() / "frozen"
    shelf.mkdir(parents=True, exist_ok=True)
    made = shelf / _key(base, engine, added)
    shared = (
        image.shared_image(base, base.name),
        image.shared_image(engine.layer, engine.directory.name),
    )
    found = Frozen(made, engine, (*shared, made / "added.img"))
    with locked(shelf / "lock"):
        if not made.is_dir():
            _make(found, added)
        os.utime(made)
        host.prune(shelf, keep=2, older_than=UNUSED_SECONDS)
    return found


def thaw(lab: Lab, frozen: Frozen, name: str = HOSTNAME) -> Vm:
    """Return a VM of this lab that continues from the frozen state, with all cables out."""
    vm = Vm(lab, name)
    disk = image.overlay_of(frozen.disk, vm.directory / "disk.qcow2")
    disks = (*frozen.layers, disk)
    vm.boot(qemu.Power(vm.directory, vm.netns, vm.group, frozen.kernel, disks, frozen.memory))
    return vm


def _make(wanted: Frozen, added: Sequence[Path]) -> None:
    host.progress("booting a VM in order to freeze it (half a minute, once for each state of the sources)")
    shelf = wanted.directory.parent
    for leftover in shelf.glob("new-*"):
        host.call(["rm", "-r", leftover])
    with tempfile.TemporaryDirectory(prefix="new-", dir=shelf) as scratch, Lab() as lab:
        fresh = Path(scratch) / "frozen"
        fresh.mkdir()
        layers = (*wanted.layers[:-1], image.layered_image(fresh / "added.img", added))
        own = image.own_image(fresh / "disk.img", FILES)
        vm = Vm(lab, HOSTNAME)
        vm.boot(qemu.Power(vm.directory, vm.netns, vm.group, wanted.kernel, (*layers, own)))
        vm.wait_settled()
        vm.freeze(fresh / "memory")
        fresh.rename(wanted.directory)


def _key(base: Path, engine: Kernel, added: Sequence[Path]) -> str:
    seen = hashlib.sha256(f"{base.name}\0{engine.directory.name}\0{qemu.version()}\0{FILES}".encode())
    for path in sorted(HERE.glob("*.py")):
        seen.update(path.read_bytes())
    for tree in added[:-1]:
        for path in sorted(tree.rglob("*")):
            if path.is_file():
                seen.update(f"{path.relative_to(tree)}\0".encode() + path.read_bytes())
    seen.update(added[-1].name.encode())  # the product's tree is named for what it was made from
    return seen.hexdigest()[:16]
