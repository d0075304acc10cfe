"""What is left behind by a keepalived that dies, with the real program in namespaces of the test's own."""

from __future__ import annotations

import asyncio
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Collection, Iterator
from concurrent.futures import Future
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Self

import pytest

from edge.namespace import Namespace
from nodenet.core.errors import Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address
from nodenet.edge.hosted_services.processes import Processes
from nodenet.edge.hosted_services.vip_addresses import VipAddresses
from nodenet.hosted.vip_guard import VipGuard, Vips

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("keepalived") or not shutil.which("nsenter"),
    reason="keepalived in a network namespace needs root and the program",
)
VIP = ip_address("192.0.2.2")
UNIT = "nodenet-keepalived.service"
CONFIGURATION = """\
global_defs {{
    router_id one
}}
vrrp_instance one {{
    state BACKUP
    interface eth0
    virtual_router_id 14
    priority 40
    advert_int 0.1
    version 3
    virtual_ipaddress {{
        192.0.2.2/24 label vip
    }}
    track_file {{
        weight
    }}
}}
track_file weight {{
    file "{weight}"
    weight 1
}}
"""


class Speaker:
    """A real keepalived in a namespace, and its group as the kernel would list it."""

    def __init__(self, directory: Path) -> None:
        self.host = Namespace()
        self.host.ip("link add eth0 type veth peer name far0", "link set far0 up")
        self.host.ip("address add 192.0.2.11/24 dev eth0", "link set eth0 up")
        self.weight = directory / "weight"
        self.weight.write_text("0\n")
        self._configuration = directory / "keepalived.conf"
        self._configuration.write_text(CONFIGURATION.format(weight=self.weight))
        self._directory = directory
        self.tree = directory / "tree"
        self._members = self.tree / "system.slice" / UNIT / "cgroup.procs"
        self._members.parent.mkdir(parents=True)
        self._members.write_text("")
        self._program: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        command = [*self.host._prefix, "keepalived", "-n", "-l", "-f", str(self._configuration)]
        command += [f"-{option}{self._directory}/{option}.pid" for option in "pr"]
        with (self._directory / "log").open("ab") as log:
            self._program = subprocess.Popen(command, stdout=log, stderr=log)
        wait_for(lambda: len(self.pids) == 2)
        self._members.write_text("".join(f"{pid}\n" for pid in self.pids))

    @property
    def pids(self) -> list[int]:
        assert self._program is not None
        children = Path(f"/proc/{self._program.pid}/task/{self._program.pid}/children").read_text().split()
        return [self._program.pid, *map(int, children)]

    def kill(self, pids: list[int]) -> None:
        """Kill at one moment: a child whose parent dies first gets SIGTERM from the kernel, and resigns by itself."""
        for wanted in (signal.SIGSTOP, signal.SIGKILL):
            for pid in reversed(pids):
                os.kill(pid, wanted)
        if self._program is not None and self._program.pid in pids:
            self._program.wait()  # as pid 1 does

    @property
    def holds(self) -> bool:
        return "192.0.2.2" in str(self.host.ip_json("address show dev eth0"))

    def close(self) -> None:
        if self._program is not None:
            if self._program.poll() is None:
                for pid in self.pids:  # a test that failed may have left it stopped
                    os.kill(pid, signal.SIGCONT)
            self._program.terminate()
            self._program.wait()
        self.host.close()


def wait_for(look: Callable[[], object], seconds: float = 20) -> None:
    """Return when *look* is true."""
    began = time.monotonic()
    while not look():
        assert time.monotonic() - began < seconds, "waited without result"
        time.sleep(0.005)


@pytest.fixture
def speaker(tmp_path: Path) -> Iterator[Speaker]:
    made = Speaker(tmp_path)
    yield made
    made.close()


class Deaf(VipAddresses):
    """The kernel does not list its addresses at the first question."""

    def __init__(self) -> None:
        self.asked = 0

    def present(self, wanted: Collection[IPAddress]) -> tuple[Address, ...]:
        self.asked += 1
        if self.asked == 1:
            raise Unavailable("The kernel's addresses cannot be read")
        return super().present(wanted)


class Running:
    """A guard inside the namespace."""

    def __init__(
        self,
        speaker: Speaker,
        removable: Callable[[], Collection[IPAddress]],
        addresses: VipAddresses | None = None,
    ) -> None:
        self.resigned: list[Collection[IPAddress]] = []
        self.overdue: set[IPAddress] = set()
        self.hung = 0
        self._stop = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._guard = VipGuard(
            Processes(UNIT, speaker.tree),
            addresses or VipAddresses(),
            Vips(removable, lambda: self.overdue),
            self.resigned.append,
            self._note_hung,
        )
        self._done: Future[None] = speaker.host.start(lambda: asyncio.run(self._run()))

    def _note_hung(self) -> None:
        self.hung += 1

    async def _run(self) -> None:
        self._loop = asyncio.get_running_loop()
        task = asyncio.create_task(self._guard.run())
        await self._stop.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        wait_for(lambda: self._loop)
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._stop.set)
        self._done.result(10)


@pytest.mark.parametrize("which", ["all", "child"])
def test_the_vip_is_gone_after_a_kill(speaker: Speaker, which: str) -> None:
    """Of the whole program, and of the process that speaks VRRP, which its parent starts again.

    How long it takes is measured by tools/bench/hosted.py.
    """
    speaker.start()
    wait_for(lambda: speaker.holds)
    with Running(speaker, lambda: {VIP}) as guard:
        time.sleep(0.6)
        assert speaker.holds, "a guard changes nothing that is right"
        parent, *children = speaker.pids
        if which == "child":
            os.kill(
                parent, signal.SIGSTOP
            )  # the child that it starts may remove the VIP before the guard sees anything
        speaker.kill([parent, *children] if which == "all" else children)
        wait_for(lambda: not speaker.holds, 5)
        wait_for(lambda: guard.resigned, 5)
        if which == "child":
            os.kill(parent, signal.SIGCONT)
    assert guard.resigned == [{VIP}], "the peers are notified once"


def test_a_keepalived_that_ends_by_itself_has_resigned_itself(speaker: Speaker) -> None:
    """A second notice would let the peers elect once more."""
    speaker.start()
    wait_for(lambda: speaker.holds)
    with Running(speaker, lambda: {VIP}) as guard:
        time.sleep(0.6)
        os.kill(speaker.pids[0], signal.SIGTERM)
        wait_for(lambda: not speaker.holds, 5)
        time.sleep(0.6)
    assert guard.resigned == []


def test_a_keepalived_that_hangs_loses_the_vip_that_it_has_to_give_up(speaker: Speaker) -> None:
    """It reads no number any more: the VIP had two holders for as long as it hung."""
    speaker.start()
    wait_for(lambda: speaker.holds)
    for pid in speaker.pids:
        os.kill(pid, signal.SIGSTOP)
    speaker.weight.write_text("-254\n")
    with Running(speaker, lambda: {VIP}) as guard:
        time.sleep(1.2)
        assert speaker.holds
        assert guard.hung == 0
        guard.overdue = {VIP}
        wait_for(lambda: not speaker.holds)
        wait_for(lambda: guard.hung)
        time.sleep(1.2)
    assert (guard.hung, guard.resigned) == (1, [])


def test_a_keepalived_that_hangs_is_reported_once_for_all_its_vips(speaker: Speaker) -> None:
    """Each of them ordered a restart, and the second one ended the keepalived that had been started for the first."""
    speaker.start()
    wait_for(lambda: speaker.holds)
    for pid in speaker.pids:
        os.kill(pid, signal.SIGSTOP)
    other = ip_address("192.0.2.3")

    def is_off(vip: IPAddress) -> bool:
        return f"'{vip}'" not in str(speaker.host.ip_json("address show dev eth0"))

    with Running(speaker, lambda: {VIP, other}) as guard:
        for vip in (VIP, other):
            speaker.host.ip(f"address replace {vip}/24 dev eth0")
            guard.overdue = {vip}
            wait_for(partial(is_off, vip))
        time.sleep(0.1)
    assert guard.hung == 1


def test_a_vip_of_an_earlier_life_is_removed_at_start(speaker: Speaker) -> None:
    speaker.host.ip("address add 192.0.2.2/24 dev eth0")
    with Running(speaker, lambda: {VIP}):
        wait_for(lambda: not speaker.holds, 5)


def test_a_kernel_that_does_not_answer_once_ends_no_guard(speaker: Speaker) -> None:
    """The guard was started again after a pause of up to a minute."""
    speaker.host.ip("address add 192.0.2.2/24 dev eth0")
    deaf = Deaf()
    with Running(speaker, lambda: {VIP}, deaf):
        wait_for(lambda: not speaker.holds, 5)
    assert deaf.asked >= 2


def test_an_address_of_another_stack_stays(speaker: Speaker) -> None:
    speaker.host.ip("address add 192.0.2.2/24 dev eth0")
    with Running(speaker, set):
        time.sleep(1.2)
    assert speaker.holds
