"""Which changes get an entry of the history."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from structlog.testing import capture_logs

from fakes import BOOT_ID, FakeClock, FakeFiles, FakeKernel, FakeNmstate, FakeProfiles
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.history.entry import PREFIX, Kind, Result
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Device, Profile
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import read
from nodenet.stages.apply.history import History, Recorder, Story, path_of
from nodenet.stages.apply.network_before import ProfileKeeper

FILE = read("w.yml", b"interfaces:\n- name: eth0\n  type: ethernet\n")
OTHER = read("w.yml", b"interfaces:\n- name: eth1\n  type: ethernet\n")
MAC, OTHER_MAC = "52:54:00:00:00:01", "52:54:00:00:00:02"
PROFILE = Profile("u", "Wired connection 1", "802-3-ethernet", "eth0", on_disk=False, generated=True)
DONE = Story(Kind.NODE_FILE, "w", "the boot", "eth0's gateway")


@dataclass
class Rig:
    files: FakeFiles = field(default_factory=FakeFiles)
    profiles: FakeProfiles = field(default_factory=FakeProfiles)

    def __post_init__(self) -> None:
        device = Device("eth0", "ethernet", profile=PROFILE)
        self.profiles.found = Inventory((device,), (PROFILE,))
        keeper = ProfileKeeper(self.profiles, self.files)
        self.history = History(self.files)
        self.kernel = FakeKernel(Snapshot(links=(Link(2, "eth0", mac=MAC), Link(3, "eth1", mac=OTHER_MAC))))
        self.recorder = Recorder(keeper, self.history, FakeClock(), BOOT_ID, "s", self.kernel)

    async def committed(self, file: object = FILE, story: Story = DONE) -> None:
        await self.recorder.committed(file, parse(file), story, FakeNmstate())  # type: ignore[arg-type]


async def test_a_committed_file_has_its_network_in_the_history() -> None:
    """Also the profiles that NetworkManager made by itself: a later file may change each."""
    rig = Rig()
    await rig.committed(OTHER)
    found = rig.history.newest()
    assert found is not None
    assert (found.kind, found.result, found.who, found.probes) == (
        Kind.NODE_FILE,
        Result.COMMITTED,
        "the boot",
        "eth0's gateway",
    )
    assert (found.name, found.digest, found.settings, found.good) == ("w.yml", OTHER.digest, "s", False)
    assert found.network is not None
    assert (found.network.links, found.network.active) == (("eth1",), {"eth0": "u"})
    assert [each.uuid for each in found.network.profiles] == ["u"]


async def test_a_second_run_adds_no_entry() -> None:
    rig = Rig()
    await rig.committed()
    rig.files.writes.clear()
    await rig.committed()
    rig.recorder.refused(OTHER, replace(DONE, cause="no"))
    await rig.committed()
    rig.recorder.refused(OTHER, replace(DONE, cause="no"))
    assert rig.files.writes == [str(path_of(2))]


async def test_a_file_that_takes_the_place_of_another_one_has_its_own_name() -> None:
    rig = Rig()
    await rig.committed()
    await rig.committed(OTHER)
    await rig.committed(replace(FILE, name=PREFIX + FILE.name), replace(DONE, kind=Kind.GOING_BACK))
    found = rig.history.newest()
    assert found is not None
    assert (found.number, found.name, found.kind) == (3, "w.yml", Kind.GOING_BACK)


async def test_a_confirmed_trial_is_good_at_once() -> None:
    rig = Rig()
    await rig.committed(story=replace(DONE, kind=Kind.TRIAL, good=True))
    assert rig.history.good("w").entry == rig.history.newest()
    assert rig.history.good("w").entry is not None


async def test_what_fails_here_fails_nothing_and_is_said() -> None:
    rig = Rig()
    with capture_logs() as logs:
        rig.files.bad = {str(path_of(1)): PublishFailed("No space left on device")}
        await rig.committed()
        rig.recorder.refused(OTHER, DONE)
        rig.files.bad, rig.profiles.broken = {}, Unavailable("NetworkManager does not answer")
        await rig.committed()
    assert [line["event"] for line in logs] == [
        "The history has no entry of w.yml: No space left on device",
        "The history has no entry of w.yml: No space left on device",
        "The history has no entry of w.yml: NetworkManager does not answer",
    ]
    assert rig.history.numbers() == []


async def test_the_history_knows_the_nics_of_a_file_that_is_in_force() -> None:
    """A NIC that was replaced is noted; one with another name makes another entry, with the network by that name."""
    rig = Rig()
    await rig.committed()
    first = rig.history.of_file(FILE.digest, "w")
    assert first is not None
    assert (first.number, first.macs, first.names) == (1, {"eth0": MAC}, {})
    rig.kernel.now = Snapshot(links=(Link(2, "eth0", mac=OTHER_MAC),))
    await rig.committed()
    assert rig.history.of_file(FILE.digest, "w") == first  # a second run in one boot writes nothing
    rig.recorder = replace(rig.recorder, boot_id="c" * 32)
    await rig.committed()
    rig.kernel.now = Snapshot()
    await rig.committed()  # a NIC that is gone is not forgotten
    assert rig.history.of_file(FILE.digest, "w") == replace(first, macs={"eth0": OTHER_MAC})
    rig.kernel.now = Snapshot(links=(Link(2, "eth1", mac=OTHER_MAC),))
    renamed = (("eth0", "eth1", OTHER_MAC),)
    await rig.recorder.committed(FILE, parse(OTHER), replace(DONE, renamed=renamed), FakeNmstate())
    last = rig.history.of_file(FILE.digest, "w")
    assert last is not None
    assert (last.number, last.macs, last.names) == (2, {"eth0": OTHER_MAC}, {"eth0": "eth1"})
    assert rig.history.of_file(FILE.digest, "another") is None
