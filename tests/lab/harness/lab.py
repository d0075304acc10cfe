"""Who owns what a test made, and removes it?

A `Lab` has a state directory with a lock that its process holds. Closing the lab removes everything. The next lab
removes a lab whose process was killed: its lock is free. Several labs can run at the same time.
"""

import contextlib
import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import IO, Protocol, Self

from harness import host
from harness import namespaces as ns
from harness.disk import Disk
from harness.lan import Dhcp, Lan
from harness.node import Nic, Node
from harness.rootfs import DEFAULT, Suite, rootfs
from harness.stubs import UNITS, Flavour

STATE = Path("/run/nodenet-lab")
SAME_AS_NAME = "="


class Machine(Protocol):
    """A node of any kind, as a lab needs it."""

    def keep(self, directory: Path) -> None:
        """Save its logs."""

    def remove(self) -> None:
        """Remove it with everything that belongs to it."""


class Lab:
    """LANs and nodes that are removed together; a context manager."""

    def __init__(self) -> None:
        host.ensure_packages()
        host.make_room()
        self.rootfs = rootfs()
        STATE.mkdir(exist_ok=True)
        with (STATE / ".lock").open("w") as everyone:
            fcntl.flock(everyone, fcntl.LOCK_EX)
            _sweep()
            self.state, self._lock = _claim()
        self.lans: dict[str, Lan] = {}
        self.nodes: dict[str, Machine] = {}
        self._numbers = 0

    def lan(self, name: str = "lan", *, dhcp: Dhcp | None = None, serve: bool = True) -> Lan:
        """Make a LAN; number 0 is 10.88.0.0/24, the next 10.88.1.0/24. `serve=False`: no dnsmasq yet."""
        made = Lan(self.state, name, len(self.lans))
        self.lans[name] = made
        if serve:
            made.start_dhcp(dhcp)
        return made

    def node(  # noqa: PLR0913 -- a node has that many properties, all but its name by keyword
        self,
        name: str = "worker-0",
        *,
        nics: Sequence[Lan],
        hostname: str | None = SAME_AS_NAME,
        layers: Sequence[Path] = (),
        flavour: Flavour | None = None,
        files: Mapping[str, str | bytes] | None = None,
        enable: Sequence[str] = (),
        suite: Suite = DEFAULT,
    ) -> Node:
        """Define a node that is off: NICs eth0, eth1 … on the LANs given, layers over the root (later wins).

        `hostname=None`: no /etc/hostname, the node starts as localhost and may learn a name.
        `flavour` adds the kubelet and CRI-O stubs; `enable` names further units; `suite` is what the node boots.
        """
        self._numbers += 1
        stubs = flavour.layers if flavour else ()
        disk = Disk(self.state / name, rootfs(suite), [*stubs, *layers])
        own_name = name if hostname == SAME_AS_NAME else hostname
        made = Node(self.state.name, name, disk, Nic.of_node(self._numbers, nics), own_name)
        self.nodes[name] = made
        for path, text in (files or {}).items():
            made.write(path, text)
        units = [*enable, *(UNITS if flavour else ())]
        if units:
            made.enable(*units)
        return made

    def own(self, name: str, machine: Machine) -> int:
        """Own a machine that other code made; return its number in this lab."""
        self._numbers += 1
        self.nodes[name] = machine
        return self._numbers

    def keep(self, directory: Path) -> None:
        """Save the logs of all nodes and LANs, to explain a failure."""
        directory.mkdir(parents=True, exist_ok=True)
        for node in self.nodes.values():
            node.keep(directory)
        for lan in self.lans.values():
            (directory / f"{lan.name}.dnsmasq.log").write_text(lan.log())

    def clear(self) -> None:
        """Remove all nodes and LANs; the lab can be used again."""
        for node in self.nodes.values():
            node.remove()
        for lan in self.lans.values():
            lan.remove()
        self.nodes.clear()
        self.lans.clear()
        self._numbers = 0

    def close(self) -> None:
        """Remove everything."""
        self.clear()
        ns.dismantle(self.state)
        self._lock.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _claim() -> tuple[Path, IO[str]]:
    """Make a new state directory and hold its lock."""
    for number in range(100):
        state = STATE / (f"{os.getpid()}" if number == 0 else f"{os.getpid()}.{number}")
        with contextlib.suppress(FileExistsError):
            state.mkdir()
            lock = (state / "lock").open("w")
            fcntl.flock(lock, fcntl.LOCK_EX)
            return state, lock
    raise host.LabError(f"this process has too many labs in {STATE}")


def _sweep() -> None:
    """Remove the labs whose process is gone."""
    for state in _labs():
        with (state / "lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            host.progress(f"removing what the killed lab {state.name} left behind")
            ns.dismantle(state)


def _labs() -> Iterator[Path]:
    for path in sorted(STATE.iterdir()):
        if path.is_dir():
            yield path
