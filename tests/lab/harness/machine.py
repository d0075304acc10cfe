"""How does a node boot?

systemd-nspawn boots the disk with real systemd as pid 1, in its own cgroup and network namespace. A `Machine` is one
boot; the next boot is another `Machine`.
"""

import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness import host
from harness import namespaces as ns

CAPABILITIES = "CAP_NET_ADMIN,CAP_IPC_LOCK,CAP_SYS_RESOURCE"
NAMESPACES = ("--mount", "--uts", "--ipc", "--net", "--pid", "--cgroup", "--root", "--wd")
POWER_OFF = signal.SIGRTMIN + 4
REBOOT = signal.SIGRTMIN + 5
ENVIRONMENT = {
    "SYSTEMD_NSPAWN_UNIFIED_HIERARCHY": "1",
    "SYSTEMD_NSPAWN_API_VFS_WRITABLE": "network",
}
NODE_ENVIRONMENT = ("PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "HOME=/root")


@dataclass(frozen=True, slots=True)
class Boot:
    """What a machine needs to boot."""

    machine: str
    """Unique on this host; not visible in the node."""
    hostname: str
    """The kernel's host name before systemd runs."""
    root: Path
    netns: str
    group: Path
    console: Path


class Machine:
    """A node's processes, from boot to power off."""

    def __init__(self, boot: Boot) -> None:
        self._group = boot.group
        self._nspawn = ns.start_in_cgroup(boot.group, _command(boot), output=boot.console, env=ENVIRONMENT)

    @property
    def leader(self) -> int | None:
        """Host's pid of the node's pid 1, once it runs."""
        return ns.leader(self._nspawn.pid)

    @property
    def alive(self) -> bool:
        """False after a power off, also by the node itself."""
        return self._nspawn.poll() is None

    def file(self, name: str) -> Path | None:
        """A file as the running node sees it, its /run and /tmp included."""
        leader = self.leader
        return None if leader is None else Path(f"/proc/{leader}/root") / name.lstrip("/")

    def wait_for_systemd(self, timeout: float) -> None:
        """Block until pid 1 accepts requests."""

        def listening() -> bool:
            if not self.alive:
                raise host.LabError("the node went off while it booted")
            socket = self.file("/run/systemd/private")
            return socket is not None and socket.exists()

        host.eventually(listening, "systemd in the node", timeout=timeout, pause=0.02)

    def enter(self, *words: str, term: str = "dumb") -> list[str]:
        """The command line that runs a command in the node, for `subprocess`."""
        leader = self.leader
        if leader is None:
            raise host.LabError("the node is off")
        join = ["nsenter", f"--target={leader}", *NAMESPACES]
        return [*join, "--", "/usr/bin/env", "-i", *NODE_ENVIRONMENT, f"TERM={term}", *words]

    def ask(self, number: int) -> None:
        """Send one of systemd's signals to pid 1."""
        leader = self.leader
        if leader is not None:
            ns.signal_process(leader, number)

    def wait_off(self, timeout: float) -> bool:
        """Block until the node is off; False when it is still on."""
        try:
            self._nspawn.wait(timeout)
        except subprocess.TimeoutExpired:
            return False
        ns.kill_cgroup(self._group)
        return True

    def cut(self) -> None:
        """Cut the power: SIGKILL for every process of the node."""
        leader = self.leader
        if leader is not None:
            ns.signal_process(leader, signal.SIGKILL)
        if not self.wait_off(5):
            ns.kill_cgroup(self._group)
            self._nspawn.wait()


def _command(boot: Boot) -> list[str]:
    return [
        *("systemd-nspawn", "--quiet", "--boot", "--register=no", "--keep-unit", "--console=pipe"),
        *(f"--directory={boot.root}", f"--machine={boot.machine}", f"--hostname={boot.hostname}"),
        *(f"--network-namespace-path=/run/netns/{boot.netns}", f"--capability={CAPABILITIES}"),
        *("--resolv-conf=off", "--timezone=off", "--link-journal=no"),
    ]
