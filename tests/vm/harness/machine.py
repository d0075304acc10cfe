"""What is a VM, and what can be done to it? `thaw()` makes one.

It answers as a lab node does (`harness.Shell`), with a kernel of its own below: bonds, VLANs, VRFs, Open vSwitch's
kernel datapath and a true reboot.
"""

import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from harness import Lab, Lan, Shell, host
from harness import namespaces as ns
from vm.harness.qemu import MACS, Power, Qemu

LINKS = tuple(f"eth{number}" for number in range(len(MACS)))
BOOT_SECONDS = 180.0


class Vm(Shell):
    """A virtual machine with three NICs; number N of a lab, so that its cables have names of their own."""

    patience = 4
    pause = 1.0

    def __init__(self, lab: Lab, name: str) -> None:
        self.name = name
        self.directory = lab.state / name
        self.directory.mkdir()
        self.netns = f"nodenet-{lab.state.name}-{name}"
        self.group = host.cgroups() / f"nodenet-lab-{lab.state.name}" / f"vm-{name}"
        self._number = lab.own(name, self)
        self._power: Power | None = None
        self._qemu: Qemu | None = None
        self._boot_id = ""
        self._cables: dict[str, Lan] = {}
        self._wire()

    @property
    def is_on(self) -> bool:
        """True while its QEMU runs."""
        return self._qemu is not None and self._qemu.alive

    def boot(self, power: Power | None = None) -> None:
        """Boot it; return when it accepts requests. Without `power`: a cold boot from the disks it had before."""
        if power is None:
            power = replace(self._power_known(), memory=None)
        self._power = power
        self._qemu = Qemu(power)
        if power.memory is None:
            for link in LINKS:
                self._qemu.set_link(LINKS.index(link), up=link in self._cables)
            self._guard(self._hear)
        else:
            self._boot_id = self.run(["cat", "/proc/sys/kernel/random/boot_id"]).stdout.strip()
            clock = host.call(["date", "+%s.%N"]).strip()
            self.run(["date", f"--set=@{clock}"])  # it stood still while the VM was frozen

    def freeze(self, path: Path) -> None:
        """Write memory and devices to a file and switch it off; the disk belongs to that state."""
        self.run("sync; echo 3 > /proc/sys/vm/drop_caches", timeout=120)
        self._on().freeze(path)
        self.power_cut()

    def plug(self, link: str, lan: Lan) -> None:
        """Connect a NIC to a LAN."""
        port = self._port(link)
        # The far end of this cable stands for a switch: it has an address that no node has.
        far = f"52:54:00:98:{self._number:02x}:{LINKS.index(link):02x}"
        lan.plug(port, self.netns, f"cable{LINKS.index(link)}", far)
        # Two legs of a bond must not hear each other's broadcasts.
        ns.ip(lan.netns, "link", "set", port, "type", "bridge_slave", "isolated", "on")
        ns.ip(self.netns, "link", "set", f"cable{LINKS.index(link)}", "master", f"bridge{LINKS.index(link)}", "up")
        self._cables[link] = lan
        self.set_carrier(link, up=True)

    def set_carrier(self, link: str, *, up: bool) -> None:
        """Take the carrier from a cable, or give it back."""
        self._on().set_link(LINKS.index(link), up=up)

    def run(
        self, command: Sequence[str] | str, *, check: bool = True, timeout: float = 30, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as root in the VM, as `Node.run` does."""
        words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        patient = timeout * self.patience
        try:
            answer = self._on().channel.ask(words, stdin, patient)
        except host.LabError as error:
            raise self._failure(f"{words}: {error}") from error
        if answer["code"] is None:
            raise self._failure(f"{words}: still running after {patient:g} s")
        if check and answer["code"] != 0:
            raise self._failure(f"{words}: exit code {answer['code']}\n{answer['out']}{answer['err']}")
        return subprocess.CompletedProcess(words, answer["code"], answer["out"], answer["err"])

    def write(self, name: str, text: str, mode: int = 0o644) -> None:
        """Write a file while the VM is on; an existing one is replaced by rename."""
        path, fresh = shlex.quote(name), shlex.quote(f"{name}.lab")
        make = f"mkdir -p $(dirname {path}) && cat > {fresh} && chmod {mode:o} {fresh} && mv {fresh} {path}"
        self.run(make, stdin=text)

    def reboot(self, *, timeout: float = BOOT_SECONDS) -> None:
        """Reboot as `systemctl reboot` does, with the kernel; return when it accepts requests."""
        self.run("sync")
        self._on().channel.tell(["systemctl", "reboot"])  # the agent may be gone before it can answer
        self._guard(lambda: self._hear(timeout))

    def panic(self, *, timeout: float = BOOT_SECONDS) -> None:
        """Let the kernel panic; it boots again at once (panic=-1). Return when the VM accepts requests."""
        self._on().channel.tell(["/bin/sh", "-c", "echo c > /proc/sysrq-trigger"])
        self._guard(lambda: self._hear(timeout))

    def power_cut(self) -> None:
        """Cut the power: what the kernel had not written yet is lost."""
        if self._qemu is not None:
            self._qemu.cut()
        self._qemu = None

    def mac(self, link: str = "eth0") -> str:
        """The permanent MAC of a link, the same in every VM."""
        return MACS[LINKS.index(link)]

    def console(self) -> str:
        """What the VM wrote to its console since it was switched on."""
        log = self.directory / "console.log"
        return log.read_text(errors="replace") if log.exists() else ""

    def remove(self) -> None:
        """Remove it with its cables; the lab removes its directory."""
        self.power_cut()
        for link, lan in self._cables.items():
            lan.unplug(self._port(link))
        self._cables.clear()
        ns.remove_netns(self.netns)
        ns.kill_cgroup(self.group)
        host.call(["rm", "-r", self.directory])

    def _hear(self, timeout: float = BOOT_SECONDS) -> None:
        def another() -> str | None:
            heard = self._on().channel.wait_for_hello(timeout)
            return heard if heard != self._boot_id else None

        self._boot_id = host.eventually(another, "the VM to boot", timeout=timeout)

    def _journal_text(self, select: str) -> str:
        read = ["journalctl", "--output=short-monotonic", "--no-pager", select]
        try:
            answer = self._on().channel.ask(read, "", 60)
        except (host.LabError, OSError) as error:
            return f"(no journal: {error})\n"
        return str(answer["out"])

    def _on(self) -> Qemu:
        if self._qemu is None:
            raise host.LabError(f"VM {self.name} is off")
        return self._qemu

    def _power_known(self) -> Power:
        if self._power is None:
            raise host.LabError(f"VM {self.name} has no disks yet")
        return self._power

    def _port(self, link: str) -> str:
        return f"v{self._number}-{LINKS.index(link)}"

    def _wire(self) -> None:
        """Make a namespace with a tap for each NIC, and a bridge that takes its cable."""
        ns.make_netns(self.netns)
        ns.inside(self.netns, "sysctl", "-qw", "net.ipv6.conf.default.disable_ipv6=1")
        for number in range(len(MACS)):
            ns.ip(self.netns, "link", "add", f"bridge{number}", "type", "bridge", "mcast_snooping", "0")
            ns.ip(self.netns, "tuntap", "add", f"tap{number}", "mode", "tap")
            ns.ip(self.netns, "link", "set", f"tap{number}", "master", f"bridge{number}", "up")
            ns.ip(self.netns, "link", "set", f"bridge{number}", "up")
