"""What does a node find that was killed while it published? Run by test_publication.py with a directory to work in.

A child publishes through the real file system and is killed before the n-th line of `edge/files/disk.py` that it
would have run; what it leaves is judged, and then what the next start makes of it. Then n+1, until
a child lives to the end.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable
from ipaddress import ip_address, ip_network
from itertools import count
from pathlib import Path, PurePath
from types import FrameType
from typing import Any

from fakes import BOOT_ID, FakeClock, FakeKernel, FakeManager, FakeProfiles
from nodenet.core.boot.outcome import Done, Facts
from nodenet.core.boot.stage_state import Request
from nodenet.core.ip import Family
from nodenet.core.kernel.snapshot import Address, Link, NextHop, Route, Snapshot
from nodenet.core.node_ip.last_published import SELECTION
from nodenet.core.node_ip.policy import Policy
from nodenet.core.node_ip.policy_from_settings import PolicyReading
from nodenet.core.node_ip.published_files import CRIO_DROP_IN, KUBELET_DROP_IN, PRIMARY, RUN
from nodenet.edge.files import disk as files
from nodenet.stages.apply.network_manager import NetworkManagerStarter
from nodenet.stages.node_ip.publish import RELOAD_OWED
from nodenet.stages.node_ip.stage import NodeipStage, Waits

PUBLISHED = (KUBELET_DROP_IN, CRIO_DROP_IN, PRIMARY, RUN / "ipv4", RUN / "ipv6", RUN / "remote-worker")
OLD = ("192.0.2.5", "2001:db8::5")
NEW = ("198.51.100.7",)
Content = dict[PurePath, bytes | None]


class Disk:
    """The real file system below a directory, by `edge/files/disk.py`; and systemd, which notes what it read there."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def at(self, path: PurePath) -> Path:
        return self.root / path.relative_to("/")

    def write(self, path: PurePath, content: bytes, mode: int = 0o644) -> bool:
        return files.write(self.at(path), content, mode)

    def remove(self, path: PurePath) -> bool:
        return files.remove(self.at(path))

    def rename(self, path: PurePath, target: PurePath) -> None:
        files.rename(self.at(path), self.at(target))

    def sync(self, directory: PurePath) -> None:
        files.sync(self.at(directory))

    def read(self, path: PurePath) -> bytes | None:
        return files.read(self.at(path))

    def leads_to(self, path: PurePath) -> None:  # noqa: ARG002
        return None

    def listing(self, directory: PurePath) -> tuple[str, ...]:
        return files.listing(self.at(directory))

    def read_node_file(self, directory: PurePath, name: str) -> bytes:
        raise NotImplementedError

    async def reload(self) -> None:
        (self.root / "systemd-has-read").write_bytes(self.read(KUBELET_DROP_IN) or b"")

    async def any_runs(self, units: object) -> bool:  # noqa: ARG002
        return False

    async def environment(self, unit: str) -> None:
        """Return that there is no such unit."""

    async def service(self, name: str) -> None:
        """Return that systemd does not answer."""

    async def start_failed(self, name: str) -> None:
        """Not used here."""

    def published(self) -> Content:
        return {path: self.read(path) for path in PUBLISHED}


def publish(disk: Disk, addresses: tuple[str, ...]) -> None:
    """Publish *addresses* as the daemon does at its start."""
    found = tuple(Address(ip_address(text), 64 if ":" in text else 24, "eth0") for text in addresses)
    routes = tuple(Route(ip_network(text), (NextHop("eth0", None),)) for text in ("0.0.0.0/0", "::/0"))
    host = Snapshot((Link(2, "eth0"),), found, routes)
    families = tuple(Family.IPV6 if ":" in text else Family.IPV4 for text in addresses)
    wishes = PolicyReading(Policy(families=families, platform="baremetal"))
    clock = FakeClock()
    presence = NetworkManagerStarter(FakeManager(), disk, clock)
    stage = NodeipStage(
        FakeKernel(host), disk, disk, clock, presence, Waits(clock, FakeProfiles()), lambda: wishes, BOOT_ID
    )
    outcome = asyncio.run(stage.attempt(Facts(), Request(reselect=True)))
    assert isinstance(outcome, Done), outcome
    assert not outcome.problem, outcome


def killed_before(line: int) -> Callable[[FrameType, str, object], Any]:
    """Return what `sys.settrace` takes to kill this process before the *line*-th line of edge/files/disk.py."""
    left = line

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal left
        if frame.f_code.co_filename != files.__file__:
            return None
        if event == "line":
            left -= 1
            if left < 0:
                os.kill(os.getpid(), signal.SIGKILL)
        return trace

    return trace


def dies(disk: Disk, line: int) -> bool:
    """Publish in a child that is killed before that line; tell whether it was."""
    if not (child := os.fork()):
        sys.settrace(killed_before(line))
        publish(disk, NEW)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) != 0


def main(directory: Path) -> None:
    """Kill at every line, judge, repair, judge."""
    template = Disk(directory / "template")
    publish(template, OLD)
    old = template.published()
    whole = Disk(directory / "whole")
    publish(whole, NEW)
    new = whole.published()
    seen: set[str] = set()
    for line in count():
        disk = Disk(directory / "node")
        shutil.copytree(template.root, disk.root)
        killed = dies(disk, line)
        left = disk.published()
        for path, content in left.items():
            assert content in (old[path], new[path]), f"line {line}: {path} has {content!r}"
        record = disk.read(SELECTION)
        assert record in (template.read(SELECTION), whole.read(SELECTION)), f"line {line}: {record!r}"
        seen.add("old" if left == old else "new" if left == new else "between")
        publish(disk, NEW)
        assert disk.published() == new, f"after a kill before line {line}"
        assert disk.read(RELOAD_OWED) is None
        assert (disk.root / "systemd-has-read").read_bytes() == new[KUBELET_DROP_IN]
        shutil.rmtree(disk.root)
        if not killed:
            sys.stdout.write(f"{line} {' '.join(sorted(seen))}\n")
            return


if __name__ == "__main__":
    main(Path(sys.argv[1]))
