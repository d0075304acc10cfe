"""What is a node in the lab, and what can a test do with it?

A `Node` is a disk, some NICs and, while it runs, a `Machine`. `Lab.node()` makes one.
"""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from harness import applies, host
from harness import namespaces as ns
from harness.disk import Disk
from harness.lan import Lan
from harness.machine import POWER_OFF, REBOOT, Boot, Machine
from harness.shell import Shell


@dataclass(frozen=True, slots=True)
class Nic:
    """One network card: the link's name in the node, its MAC, and the LAN of its cable."""

    link: str
    mac: str
    lan: Lan
    port: str
    """The cable's other end, on the LAN's bridge."""

    @classmethod
    def of_node(cls, node: int, lans: Sequence[Lan]) -> list[Self]:
        """eth0, eth1 …, each on its LAN; the MACs follow from the node's number in the lab."""
        return [
            cls(f"eth{index}", f"52:54:00:88:{node:02x}:{index:02x}", lan, f"n{node}-{index}")
            for index, lan in enumerate(lans)
        ]


class Node(Shell):
    """A machine with a disk, NICs and a power switch."""

    def __init__(self, lab: str, name: str, disk: Disk, nics: Sequence[Nic], hostname: str | None) -> None:
        self.name = name
        self.hostname = hostname
        self.nics = tuple(nics)
        self.netns = f"nodenet-{lab}-{name}"
        self.console_log = disk.scratch / "console.log"
        self._group = host.cgroups() / f"nodenet-lab-{lab}" / f"node-{name}"
        self._disk = disk
        self._disk.furnish(hostname)
        self._machine: Machine | None = None

    def path(self, name: str) -> Path:
        """Where this machine finds the node's file; /run and /tmp need a node that is on.

        An absolute symbolic link at the end would point into *this* machine: use `run()` for those.
        """
        if name.startswith(("/run/", "/tmp/", "/proc/", "/sys/", "/dev/")):  # noqa: S108 -- the node's, not ours
            found = self._on().file(name)
            if found is None:
                raise self._failure(f"{name}: node {self.name} is off")
            return found
        return self._disk.path(name)

    def write(self, name: str, text: str | bytes, mode: int = 0o644) -> Path:
        """Write a file on the disk, whether the node is on or off; existing ones are replaced by rename."""
        return self._disk.write(name, text, mode)

    def enable(self, *units: str) -> None:
        """Enable units of a node that is off (`systemctl --root`)."""
        self._disk.enable(*units)

    def delay_unit(self, unit: str, seconds: int) -> None:
        """Delay a service's start by some seconds, from the next boot on; 0 removes the delay."""
        name = f"/etc/systemd/system/{unit}.d/10-lab-delay.conf"
        if seconds:
            timeout = f"TimeoutStartSec={seconds + 90}"
            self.write(name, f"[Service]\n{timeout}\nExecStartPre=/bin/sleep {seconds}\n")
        else:
            self.path(name).unlink(missing_ok=True)

    @property
    def is_on(self) -> bool:
        """True while the node's pid 1 runs."""
        return self._machine is not None and self._machine.alive

    def boot(self, *, timeout: float = 30) -> None:
        """Boot the node; return when pid 1 accepts requests, long before the boot has finished."""
        if self.is_on:
            raise host.LabError(f"node {self.name} is already on")
        self._wire()
        # Without a name of its own a node starts as any other does: as localhost.
        kernel_name = self.hostname or "localhost"
        boot = Boot(self.netns, kernel_name, self._disk.root, self.netns, self._group, self.console_log)
        self._machine = Machine(boot)
        self._guard(lambda: self._on().wait_for_systemd(timeout))

    def off(self, *, timeout: float = 30) -> None:
        """Power off as an administrator does: units are stopped, the disk stays."""
        self._shut(POWER_OFF, timeout)

    def reboot(self, *, timeout: float = 30) -> None:
        """Reboot as `systemctl reboot` does; returns as `boot()` does."""
        self._shut(REBOOT, timeout)
        self.boot(timeout=timeout)

    def power_cut(self) -> None:
        """Cut the power: every process is killed, the disk stays as it is at that moment."""
        if self._machine is not None:
            self._machine.cut()
        self._machine = None
        self._unwire()

    def remove(self) -> None:
        """Remove the node with its disk."""
        self.power_cut()
        self._disk.remove()

    def run(
        self, command: Sequence[str] | str, *, check: bool = True, timeout: float = 30, stdin: str = ""
    ) -> subprocess.CompletedProcess[str]:
        """Run a command as root in the node (a string: by /bin/sh) and return its result.

        Raises LabError, with the console's and the journal's end, if it takes longer or (with `check`) fails.
        """
        words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        with applies.recorded(self, words):
            return self._run(words, check=check, timeout=timeout * self.patience, stdin=stdin)

    def _run(
        self, words: Sequence[str], *, check: bool, timeout: float, stdin: str
    ) -> subprocess.CompletedProcess[str]:
        try:
            done = subprocess.run(
                self._on().enter(*words),
                input=stdin,
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                timeout=timeout,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            raise self._failure(f"{words}: still running after {timeout:g} s") from late
        if check and done.returncode != 0:
            raise self._failure(f"{words}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done

    def enter_argv(self, *words: str, term: str = "dumb") -> list[str]:
        """The command line that runs something in the node, for an interactive `subprocess`."""
        return self._on().enter(*words, term=term)

    def console(self) -> str:
        """Return what the node has written to its console in all boots."""
        return self.console_log.read_text(errors="replace") if self.console_log.exists() else ""

    def mac(self, link: str = "eth0") -> str:
        """The permanent MAC of a link, the same in every boot."""
        return self._nic(link).mac

    def set_carrier(self, link: str, *, up: bool) -> None:
        """Take the carrier from a cable, or give it back."""
        nic = self._nic(link)
        nic.lan.set_carrier(nic.port, up=up)

    def _journal_text(self, select: str) -> str:
        read = ["journalctl", "--output=short-monotonic", "--no-pager", select]
        try:
            if self.is_on:
                return host.call(self.enter_argv(*read))
            return host.call([*read, f"--directory={self._disk.path('/var/log/journal')}"])
        except host.LabError as error:
            return f"(no journal: {error})\n"

    def _on(self) -> Machine:
        if self._machine is None:
            raise host.LabError(f"node {self.name} is off")
        return self._machine

    def _nic(self, link: str) -> Nic:
        return next(nic for nic in self.nics if nic.link == link)

    def _shut(self, number: int, timeout: float) -> None:
        machine = self._on()
        machine.ask(number)
        if not machine.wait_off(timeout):
            raise self._failure(f"node {self.name} did not go off within {timeout:g} s")
        self._machine = None
        self._unwire()

    def _wire(self) -> None:
        # A tap left behind by a dead Open vSwitch would hold up NetworkManager, hence a fresh namespace.
        self._unwire()
        ns.make_netns(self.netns)
        for nic in self.nics:
            nic.lan.plug(nic.port, self.netns, nic.link, nic.mac)
        ns.hasten_ipv6(self.netns, [nic.link for nic in self.nics])

    def _unwire(self) -> None:
        # The kernel empties a namespace some time after its removal; the cables must be gone before.
        for nic in self.nics:
            nic.lan.unplug(nic.port)
        ns.remove_netns(self.netns)
