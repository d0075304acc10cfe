"""How does a VM get power?

QEMU emulates the whole machine, processor included: no /dev/kvm, which a build machine has not, or has and
emulates in its turn. One `Qemu` is one power-on; the VM may reboot inside it as often as it likes.
"""

import contextlib
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness import host
from harness import namespaces as ns
from vm.harness.channel import Channel
from vm.harness.kernel import Kernel
from vm.harness.qmp import Qmp

PACKAGES = {
    "qemu-system-x86_64": "qemu-system-x86",
    "qemu-img": "qemu-utils",
    "mke2fs": "e2fsprogs",
    "mmdebstrap": "mmdebstrap",
    "ping": "iputils-ping",
}
"""Command the harness calls beyond the lab's, and the Debian package that brings it."""
MACHINE = (
    *("-nodefaults", "-no-user-config", "-display", "none", "-machine", "q35"),
    *("-accel", "tcg,thread=multi", "-cpu", "Nehalem", "-smp", "2", "-m", "1024"),
)
MASKED = (
    *("dev-hugepages.mount", "dev-mqueue.mount", "sys-fs-fuse-connections.mount", "sys-kernel-config.mount"),
    *("sys-kernel-debug.mount", "sys-kernel-tracing.mount", "modprobe@configfs.service", "modprobe@drm.service"),
    *("modprobe@efi_pstore.service", "modprobe@fuse.service", "systemd-binfmt.service", "ldconfig.service"),
    *("getty.target", "serial-getty@ttyS0.service", "systemd-udev-load-credentials.service"),
)
"""What a node in a rack starts and no test asks for: a third of the boot, under emulation."""
CMDLINE = " ".join(
    (
        "console=ttyS0 quiet panic=-1 mitigations=off systemd.show_status=0 net.ifnames=0",
        *(f"systemd.mask={unit}" for unit in MASKED),
    )
)
MACS = ("00:16:3e:99:00:00", "00:16:3e:99:00:01", "00:16:3e:99:00:02")
"""eth0, eth1, eth2: every VM has these three, with the cables out until they are plugged in.

Of a maker's range, as a NIC's are: for a bridge without a MAC of its own Open vSwitch passes over local ones.
"""
POLITE_SECONDS = 0.2


@dataclass(frozen=True, slots=True)
class Power:
    """What a VM needs to boot."""

    directory: Path
    """Sockets and the console's log are put here."""
    netns: str
    group: Path
    kernel: Kernel
    disks: tuple[Path, ...]
    """The lowest layer first; the last one is written."""
    memory: Path | None = None
    """A frozen machine to continue from, instead of a boot."""


class Qemu:
    """A virtual machine's process, from power on to power off."""

    def __init__(self, power: Power) -> None:
        self._power = power
        for name in ("qmp", "agent"):
            (power.directory / name).unlink(missing_ok=True)
        argv = ["ip", "netns", "exec", power.netns, "nice", *command(power)]
        self._log = power.directory / "qemu.log"
        self._process = ns.start_in_cgroup(power.group, argv, output=self._log)
        self._guarded_wait("qmp")
        self.qmp = Qmp(power.directory / "qmp")
        self.channel = Channel(power.directory / "agent")
        if power.memory is not None:
            host.eventually(self._arrived, "the frozen VM to be loaded", timeout=60, pause=0.02)
            self.qmp.order("cont")

    @property
    def alive(self) -> bool:
        """False once the process has ended."""
        return self._process.poll() is None

    def set_link(self, number: int, *, up: bool) -> None:
        """Put the cable of a NIC in or pull it out."""
        self.qmp.order("set_link", name=f"net{number}", up=up)

    def freeze(self, path: Path) -> None:
        """Stop the machine and write its memory and devices to a file; it can only be cut afterwards."""
        self.qmp.order("stop")
        self.qmp.order("migrate-set-parameters", **{"max-bandwidth": 1 << 40})
        self.qmp.order("migrate", uri=f"exec:cat > {path}")
        host.eventually(self._left, "the VM to be written", timeout=120, pause=0.1)

    def cut(self) -> None:
        """Cut the power."""
        self.channel.close()
        with contextlib.suppress(OSError):
            self.qmp.close()
        ns.end(self._process)
        ns.kill_cgroup(self._power.group)

    def _arrived(self) -> bool:
        self._alive_or_raise()
        state = str(self.qmp.order("query-status")["status"])
        return state != "inmigrate"

    def _left(self) -> bool:
        status = str(self.qmp.order("query-migrate").get("status"))
        if status == "failed":
            raise host.LabError(f"QEMU could not write the VM:\n{self._said()}")
        return status == "completed"

    def _guarded_wait(self, name: str) -> None:
        def there() -> bool:
            self._alive_or_raise()
            return (self._power.directory / name).exists() and (self._power.directory / "agent").exists()

        host.eventually(there, "QEMU to start", timeout=30, pause=0.02)

    def _alive_or_raise(self) -> None:
        if not self.alive:
            raise host.LabError(f"QEMU ended:\n{self._said()}")

    def _said(self) -> str:
        return host.tail(self._log.read_text(errors="replace"))


def obstacle() -> str | None:
    """Return why no VM can run on a machine where a lab can; None if it can."""
    if platform.machine() != "x86_64":
        return "the VMs' kernel is made for x86_64 machines only"
    missing = host.missing_packages(PACKAGES)
    if missing and "apt-get" in host.missing_packages({"apt-get": "apt-get"}):
        return f"missing commands of {', '.join(missing)}, and no apt-get to install them with"
    return None


def version() -> str:
    """QEMU's version: another one may not read what this one froze."""
    return subprocess.run(["qemu-system-x86_64", "--version"], capture_output=True, text=True, check=True).stdout


def command(power: Power) -> list[str | Path]:
    """QEMU's command line."""
    argv: list[str | Path] = ["qemu-system-x86_64", *MACHINE]
    argv += ["-kernel", power.kernel.vmlinux, "-initrd", power.kernel.initrd]
    argv += ["-append", f"{CMDLINE} lab.disks={len(power.disks)}"]
    for number, disk in enumerate(power.disks):
        kind = "qcow2" if disk.suffix == ".qcow2" else "raw"
        mode = "off" if number == len(power.disks) - 1 else "on"
        argv += ["-drive", f"if=none,id=disk{number},file={disk},format={kind},read-only={mode},cache=unsafe"]
        argv += ["-device", f"virtio-blk-pci,drive=disk{number}"]
    for number, mac in enumerate(MACS):
        argv += ["-netdev", f"tap,id=tap{number},ifname=tap{number},script=no,downscript=no,vhost=off"]
        argv += [
            "-device",
            f"virtio-net-pci,id=net{number},netdev=tap{number},mac={mac},speed=1000,duplex=full,romfile=",
        ]
    argv += ["-device", "virtio-serial-pci", "-device", "virtio-rng-pci"]
    argv += ["-chardev", f"socket,id=agent,path={power.directory / 'agent'},server=on,wait=off"]
    argv += ["-device", "virtserialport,chardev=agent,name=lab"]
    argv += ["-serial", f"file:{power.directory / 'console.log'}"]
    argv += ["-qmp", f"unix:{power.directory / 'qmp'},server=on,wait=off"]
    return argv if power.memory is None else [*argv, "-incoming", f"exec:cat {power.memory}"]
