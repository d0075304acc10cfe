"""How long a boot waits for a link that its node file names."""

from __future__ import annotations

from dataclasses import dataclass, field

from fakes import FakeClock, FakeFiles, FakeKernel, FakeSystemd
from nodenet.core.boot.outcome import Facts, Topic, Waiting
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import read
from nodenet.stages.nmstate.job import Job
from nodenet.stages.nmstate.links import MissingLinks

FILE = read("worker-0.yml", b"interfaces:\n- name: eth9\n  type: ethernet\n")
BY_MAC = b"interfaces: [{name: uplink, type: ethernet, identifier: mac-address, mac-address: '02:00:00:00:00:AA'}]\n"
GONE = NmstateFailure(FailureKind.INVALID, "Interface eth9 does not exist")
REASON = "the link eth9 of worker-0.yml, which udev may still bring; this host has eth0 (1 Gbit/s, carrier)"


@dataclass
class Rig:
    """Missing links over fakes, and one file."""

    kernel: FakeKernel = field(default_factory=lambda: FakeKernel(Snapshot(links=(Link(2, "eth0"),))))
    files: FakeFiles = field(default_factory=lambda: FakeFiles({"/sys/class/net/eth0/speed": b"1000\n"}))
    systemd: FakeSystemd = field(default_factory=FakeSystemd)
    clock: FakeClock = field(default_factory=FakeClock)

    def __post_init__(self) -> None:
        self.missing = MissingLinks(self.kernel, self.files, self.systemd, self.clock)

    def job(self, *, ordered: bool = False) -> Job:
        return Job(FILE, parse(FILE), Facts(), self.clock.now, retry_refused=ordered, who="boot")

    async def awaited(self, *, ordered: bool = False) -> Waiting | None:
        return await self.missing.awaited(self.job(ordered=ordered), GONE)


async def test_a_link_is_waited_for_with_one_reason_for_twenty_seconds() -> None:
    rig = Rig()
    assert await rig.awaited() == Waiting(REASON, frozenset({Topic.KERNEL}), 20.0)
    rig.clock.now += 5
    assert rig.missing.still(rig.job()) == Waiting(REASON, frozenset({Topic.KERNEL}), 15.0)
    assert await rig.awaited() == Waiting(REASON, frozenset({Topic.KERNEL}), 15.0)
    rig.clock.now += 15
    assert rig.missing.still(rig.job()) is None
    assert await rig.awaited() is None
    assert await rig.awaited() is None  # never again in this run


async def test_a_link_that_appears_ends_the_wait() -> None:
    """Libnmstate is asked again. A name beside its own counts."""
    rig = Rig()
    await rig.awaited()
    rig.kernel.now = Snapshot(links=(Link(7, "enp9s0", ("eth9",)),))
    assert rig.missing.still(rig.job()) is None
    assert await rig.awaited() is None


async def test_a_nic_that_its_mac_address_identifies_is_waited_for() -> None:
    rig = Rig()
    file = read("worker-0.yml", BY_MAC)
    job = Job(file, parse(file), Facts(), rig.clock.now, retry_refused=False, who="boot")
    gone = NmstateFailure(FailureKind.INVALID, "no interface is holding the MAC address 02:00:00:00:00:AA")
    waiting = await rig.missing.awaited(job, gone)
    assert waiting is not None
    assert waiting.reason.startswith("the link 02:00:00:00:00:aa of worker-0.yml, which udev may still bring")
    assert rig.missing.still(job) == waiting
    rig.kernel.now = Snapshot(links=(Link(7, "enp9s0", mac="02:00:00:00:00:aa"),))
    assert rig.missing.still(job) is None
    assert await rig.missing.awaited(job, gone) is None


async def test_who_asks_for_the_file_gets_the_answer_at_once() -> None:
    rig = Rig()
    assert await rig.awaited(ordered=True) is None
    assert await rig.awaited() is None
    began = Rig()
    await began.awaited()
    assert began.missing.still(began.job(ordered=True)) is None
    assert await began.awaited(ordered=True) is None
    assert began.missing.still(began.job()) is None


async def test_a_nodenetd_that_is_started_again_beside_kubelet_does_not_wait() -> None:
    rig = Rig(systemd=FakeSystemd(running={"kubelet.service"}))
    assert await rig.awaited() is None


async def test_nothing_is_known_to_be_missing_while_the_kernel_does_not_answer() -> None:
    rig = Rig(kernel=FakeKernel(broken=Unavailable("the kernel does not answer")))
    assert await rig.awaited() is None
    assert rig.missing.still(rig.job()) is None


async def test_a_refusal_names_the_links_that_there_are() -> None:
    """Not one for another reason."""
    rig = Rig()
    assert rig.missing.explained(rig.job(), GONE).cause == f"{GONE.cause}; this host has eth0 (1 Gbit/s, carrier)"
    other = NmstateFailure(FailureKind.INVALID, "unknown key mtuu")
    assert rig.missing.explained(rig.job(), other) is other
    rig.files.bad = {"/sys/class/net/eth0/speed": PublishFailed("Invalid argument")}
    assert rig.missing.explained(rig.job(), GONE).cause.endswith("this host has eth0 (carrier)")
