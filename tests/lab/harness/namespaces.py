"""How do nodes and LANs get their own network, and how is everything removed again?

Everything that a lab makes has the lab's name: network namespaces `nodenet-ID-*`, one cgroup `nodenet-lab-ID`, mounts
below its state directory. The name is enough to remove all of it, even after the lab's process was killed.
"""

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from harness import host

NETNS = Path("/run/netns")
DETECTION_MS = 200
"""How long a NIC waits for the answer of a neighbour that has its address already; the kernel's own value is 1000."""


def ip(netns: str, *words: str) -> str:
    """Run an `ip` command inside a network namespace."""
    return host.call(["ip", "-n", netns, *words])


def inside(netns: str, *words: str) -> str:
    """Run any command inside a network namespace."""
    return host.call(["ip", "netns", "exec", netns, *words])


def make_netns(name: str) -> None:
    """Make a network namespace with its loopback link up."""
    host.call(["ip", "netns", "add", name])
    ip(name, "link", "set", "lo", "up")


def hasten_ipv6(netns: str, links: Sequence[str]) -> None:
    """Shorten what a node only waits for: the kernel's random delays, and duplicate address detection on its NICs.

    Detection still takes place. A link that the node makes takes the kernel's second for it.
    """
    delays = [f"/proc/sys/net/ipv6/conf/{link}/router_solicitation_delay" for link in ("all", "default", *links)]
    detections = [f"/proc/sys/net/ipv6/neigh/{link}/retrans_time_ms" for link in links]
    orders = [*(f"echo 0 > {name}" for name in delays), *(f"echo {DETECTION_MS} > {name}" for name in detections)]
    inside(netns, "/bin/sh", "-ec", "\n".join(orders))


def remove_netns(name: str) -> None:
    """Remove a network namespace and the links in it; absence is fine."""
    if (NETNS / name).exists():
        host.call(["ip", "netns", "del", name])


def start_in_cgroup(
    group: Path, argv: Sequence[str | Path], *, output: Path, env: dict[str, str] | None = None
) -> subprocess.Popen[bytes]:
    """Start a program inside a cgroup, where every process that it starts can be found."""
    group.mkdir(parents=True, exist_ok=True)
    enter = 'echo 0 > "$0"/cgroup.procs && exec "$@"'
    with output.open("ab") as log:
        return subprocess.Popen(
            ["/bin/sh", "-c", enter, group, *argv],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env={**os.environ, **(env or {})},
            start_new_session=True,
        )


def kill_cgroup(group: Path, *, timeout: float = 10) -> None:
    """Kill all processes of a cgroup at once and remove the cgroup."""
    if not group.is_dir():
        return
    (group / "cgroup.kill").write_text("1")
    host.eventually(lambda: _emptied(group), f"the processes in {group} to die", timeout=timeout)


def end(process: subprocess.Popen[bytes], *, timeout: float = 5) -> None:
    """End a process that we started: by SIGTERM, after `timeout` seconds by SIGKILL."""
    process.terminate()
    try:
        process.wait(timeout)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def signal_process(pid: int, number: int) -> None:
    """Send a signal to a process that may have ended already."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def leader(nspawn: int) -> int | None:
    """Return the host's pid of the process that is pid 1 in the node; None until it runs."""
    try:
        children = Path(f"/proc/{nspawn}/task/{nspawn}/children").read_text().split()
        for pid in children:
            if _namespace_pid(int(pid)) == 1:
                return int(pid)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return None


def unmount_below(directory: Path) -> None:
    """Unmount everything below a directory, the newest mount first."""
    table = Path("/proc/self/mountinfo").read_text().splitlines()
    points = [line.split()[4] for line in table]
    for point in reversed(points):
        if point.startswith(f"{directory}/"):
            host.call(["umount", "--lazy", point])


def dismantle(directory: Path) -> None:
    """Remove everything that the lab with this state directory made."""
    name = directory.name
    kill_cgroup(host.cgroups() / f"nodenet-lab-{name}")
    for netns in NETNS.glob(f"nodenet-{name}-*"):
        remove_netns(netns.name)
    unmount_below(directory)
    for machine in Path("/run/systemd/nspawn").glob(f"*/nodenet-{name}-*"):
        if machine.is_dir():
            machine.rmdir()
    shutil.rmtree(directory)


def _namespace_pid(pid: int) -> int:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("NSpid:"):
            numbers = line.split()[1:]
            return int(numbers[-1]) if len(numbers) > 1 else 0
    return 0


def _emptied(group: Path) -> bool:
    """Remove the cgroup from its leaves up; a group with a dying process in it refuses."""
    try:
        for leaf in sorted((path for path in group.rglob("*") if path.is_dir()), reverse=True):
            leaf.rmdir()
        group.rmdir()
    except OSError:
        return False
    return True
