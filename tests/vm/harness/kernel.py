"""Which kernel does a VM boot, and what hands over to systemd?

Debian's cloud kernel, unpacked from its package: it has bonds, VLANs, VRFs and Open vSwitch's datapath, which
the machine that runs the tests may lack. An initrd of busybox and one script lays the VM's disks over each other.
"""

import hashlib
import os
import re
import shutil
import struct
import tempfile
from dataclasses import dataclass
from pathlib import Path

from harness import host
from harness.rootfs import locked

SUITE = "bookworm"
"""Linux 6.1: its age is that of the kernels on real nodes, and it is known to run under plain emulation."""
RECIPE = (
    "--variant=extract",
    "--mode=root",
    '--aptopt=Apt::Install-Recommends "0"',
    '--aptopt=Acquire::Check-Valid-Until "false"',
    "--include=linux-image-cloud-amd64,kmod,busybox-static,lz4",
)
INITRD_MODULES = ("virtio_pci", "virtio_blk", "ext4", "crc32c_generic", "overlay")
INIT = Path(__file__).with_name("init.sh")
BUILD_TIMEOUT = 900.0
LZ4 = b"\x02\x21\x4c\x18"
"""The magic of lz4's legacy format, as lz4(1) and the kernel call it."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """A kernel that is ready to be booted."""

    directory: Path

    @property
    def vmlinux(self) -> Path:
        """The kernel as an ELF file: to unpack itself under emulation would take it seconds."""
        return self.directory / "vmlinux"

    @property
    def initrd(self) -> Path:
        """What mounts the disks."""
        return self.directory / "initrd"

    @property
    def layer(self) -> Path:
        """A tree with the kernel's modules, to be laid over a root file system."""
        return self.directory / "layer"


def kernel() -> Kernel:
    """The kernel of this recipe, made on first use."""
    shelf = host.cache() / "kernel"
    shelf.mkdir(parents=True, exist_ok=True)
    made = shelf / key()
    with locked(shelf / "lock"):
        if not made.is_dir():
            _build(made)
        os.utime(made)
        host.prune(shelf)
    return Kernel(made)


def key() -> str:
    """Name of the cache entry: another recipe, or another way to build, is another kernel."""
    recipe = "\n".join((SUITE, *RECIPE, INIT.read_text(), Path(__file__).read_text()))
    return f"{SUITE}-{hashlib.sha256(recipe.encode()).hexdigest()[:16]}"


def _build(made: Path) -> None:
    host.progress("fetching the VMs' kernel (some seconds, once)")
    for leftover in made.parent.glob("new-*"):
        shutil.rmtree(leftover)
    with tempfile.TemporaryDirectory(prefix="new-", dir=made.parent) as scratch:
        packages, fresh = Path(scratch) / "packages", Path(scratch) / "kernel"
        host.call(["mmdebstrap", *RECIPE, SUITE, packages], timeout=BUILD_TIMEOUT)
        modules = fresh / "layer/usr/lib/modules"
        modules.parent.mkdir(parents=True)
        (fresh / "layer").chmod(0o755)  # it becomes a node's root directory
        (version,) = [path.name for path in (packages / "lib/modules").iterdir()]
        host.call(["chroot", packages, "depmod", version], timeout=120)
        (fresh / "initrd").write_bytes(_initrd(packages, version))
        (packages / "vmlinux.lz4").write_bytes(payload((packages / f"boot/vmlinuz-{version}").read_bytes()))
        host.call(["chroot", packages, "lz4", "-qd", "/vmlinux.lz4", "/vmlinux"])
        (packages / "vmlinux").rename(fresh / "vmlinux")
        (packages / "lib/modules").rename(modules)
        fresh.rename(made)


def payload(image: bytes) -> bytes:
    """The packed ELF file inside a bzImage (Documentation/arch/x86/boot.rst, protocol 2.08 and later).

    Raises LabError when it is no bzImage, or one that is not packed with lz4, as Debian's cloud kernel is.
    """
    if image[0x202:0x206] != b"HdrS":
        raise host.LabError("the kernel package holds no bzImage")
    setup_sectors = image[0x1F1] or 4
    offset, length = struct.unpack_from("<II", image, 0x248)
    start = (setup_sectors + 1) * 512 + offset
    packed = image[start : start + length - 4]  # the last four bytes are the length of what is packed
    if not packed.startswith(LZ4):
        raise host.LabError(f"the kernel is packed in a way this harness does not know: {packed[:6]!r}")
    return packed


def _initrd(packages: Path, version: str) -> bytes:
    """Pack busybox, the script and the modules that the disks need, in the order in which they load."""
    root = packages / "initrd"
    for name in ("bin", "modules", "dev", "proc", "disks", "root"):
        (root / name).mkdir(parents=True)
    shutil.copy(packages / "bin/busybox", root / "bin/busybox")
    shutil.copy(INIT, root / "init")
    (root / "init").chmod(0o755)
    modules = packages / "lib/modules" / version
    wanted = _load_order((modules / "modules.dep").read_text())
    for path in wanted:
        shutil.copy(modules / path, root / "modules")
    (root / "modules/order").write_text("".join(f"{Path(path).name}\n" for path in wanted))
    pack = "cd /initrd && /bin/busybox find . | /bin/busybox cpio -o -H newc -R 0:0 > /initrd.cpio"
    host.call(["chroot", packages, "/bin/busybox", "sh", "-c", pack])
    return (packages / "initrd.cpio").read_bytes()


def _load_order(dependencies: str) -> list[str]:
    """Paths of INITRD_MODULES and of what they need, what is needed first (modules.dep(5))."""
    needs = {path: rest.split() for path, rest in re.findall(r"^(\S+):(.*)$", dependencies, re.MULTILINE)}
    order: dict[str, None] = {}
    for wanted in INITRD_MODULES:
        for path, others in needs.items():
            if Path(path).name == f"{wanted}.ko":
                # modules.dep lists all that a module needs, the deepest last.
                order.update(dict.fromkeys([*reversed(others), path]))
    return list(order)
