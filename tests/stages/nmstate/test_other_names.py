"""Which names a node file is used with, and what its profiles do, where NICs have other names."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from fakes import BOOT_ID, FakeClock, FakeFiles, FakeKernel, FakeProfiles
from nodenet.core.boot.outcome import Facts, Waiting
from nodenet.core.change.way_back import Network
from nodenet.core.history.entry import Entry, Kind, Result
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.node_file.content import parse
from nodenet.core.node_file.find import NodeFile, read
from nodenet.stages.apply.history import History
from nodenet.stages.nmstate.job import Job
from nodenet.stages.nmstate.links import OtherNames

ONE, TWO = "52:54:00:00:00:01", "52:54:00:00:00:02"
FILE = read("w.yml", b"interfaces:\n- name: eth0\n  type: ethernet\n")
NEW = FILE.text.replace("eth0", '"enp1"')
PROFILE = Profile("u", "eth0", "802-3-ethernet", "eth0")


@dataclass
class Rig:
    """A node whose file has worked with eth0; its NIC is called enp1 now."""

    now: tuple[Link, ...] = (Link(2, "enp1", mac=ONE),)
    names: dict[str, str] = field(default_factory=dict)
    profiles: FakeProfiles = field(default_factory=FakeProfiles)
    files: FakeFiles = field(default_factory=FakeFiles)
    clock: FakeClock = field(default_factory=FakeClock)
    result: Result = Result.COMMITTED

    def __post_init__(self) -> None:
        self.knows()
        network = Network(("eth0",), active={self.names.get("eth0", "eth0"): "u"})
        said = (FILE.name, FILE.text, FILE.digest, "w", BOOT_ID, 0.0)
        kept = Entry(Kind.NODE_FILE, self.result, *said, network=network, macs={"eth0": ONE}, names=self.names)
        History(self.files).add(kept)
        self.other = OtherNames(FakeKernel(Snapshot(links=self.now)), self.profiles, self.files, self.clock)

    def knows(self, state: str = "activated", link: str = "eth0") -> None:
        """Let NetworkManager have the NICs in *state*, and the profile name *link*."""
        profile = Profile(PROFILE.uuid, PROFILE.name, PROFILE.kind, link)
        states = {each.name: state for each in self.now}
        self.profiles.found = Inventory((), (profile,), states=states)

    async def followed(self, file: NodeFile = FILE) -> Job | Waiting:
        return await self.other.followed(
            Job(file, parse(file), Facts(hostname="w"), 0.0, retry_refused=False, who="boot")
        )


async def test_a_file_is_used_with_the_new_name_when_its_profile_has_followed() -> None:
    rig = Rig()
    assert isinstance(await rig.followed(), Waiting)
    assert rig.profiles.done == [("set", "u", {"connection": {"interface-name": "enp1"}}), ("activate", "u", "enp1")]
    rig.knows(link="enp1")
    job = await rig.followed()
    assert isinstance(job, Job)
    assert (job.named.text, job.named.digest, job.file) == (NEW, FILE.digest, FILE)
    assert job.wish.links.awaited == {"enp1"}
    assert job.applied.renamed == (("eth0", "enp1", ONE),)
    problem = rig.other.problem(job)
    assert problem is not None
    assert problem.message is Message.LINK_RENAMED
    assert problem.remedy.startswith("Write into w.yml below `name: eth0` in line 2: ")


async def test_a_name_that_udev_may_still_change_is_waited_for() -> None:
    """Until NetworkManager has the NIC; not for ever, since a profile or a file may leave it unmanaged."""
    rig = Rig()
    rig.knows("unmanaged")
    waiting = await rig.followed()
    assert isinstance(waiting, Waiting)
    assert waiting.reason == "NetworkManager to have enp1, unless udev gives another name"
    assert rig.profiles.done == []
    rig.clock.now += 20
    await rig.followed()
    assert rig.profiles.done[-1] == ("activate", "u", "enp1")


async def test_a_nic_with_its_name_of_the_file_again_has_its_profile_again() -> None:
    rig = Rig((Link(2, "eth0", mac=ONE), Link(3, "enp1", mac=TWO)), names={"eth0": "enp1"})
    rig.knows(link="enp1")
    assert isinstance(await rig.followed(), Waiting)
    assert rig.profiles.done[-1] == ("activate", "u", "eth0")
    rig.knows()
    job = await rig.followed()
    assert isinstance(job, Job)
    assert (job.named, job.renamed, rig.other.problem(job)) == (FILE, (), None)


async def test_a_file_that_was_refused_and_one_whose_nic_was_replaced_follow_nothing() -> None:
    for rig in (Rig(result=Result.REFUSED), Rig((Link(2, "eth0", mac=TWO),)), Rig((Link(2, "eth0", mac=ONE),))):
        job = await rig.followed()
        assert isinstance(job, Job)
        assert (job.named, rig.profiles.done) == (FILE, [])


def edited(old: str, new: str) -> NodeFile:
    """Return the file after an edit."""
    return read(FILE.name, FILE.text.replace(old, new).encode())


@pytest.mark.parametrize(
    ("old", "new", "follows"),
    [
        ("interfaces:", "# a remark\ninterfaces:", True),
        ("  type: ethernet\n", "  type: ethernet\n  mtu: 1400\n", True),
        ("eth0", "enp1", False),
        ("  type: ethernet\n", f"  type: ethernet\n  identifier: mac-address\n  mac-address: {ONE}\n", False),
        (
            "  type: ethernet\n",
            "  type: ethernet\n  ipv4: {enabled: true, address: [{ip: 192.0.2.7, prefix-length: 24}]}\n",
            False,
        ),
    ],
    ids=["remark", "mtu", "name of now", "by MAC", "other address"],
)
async def test_an_edited_file_means_the_same_nics_while_they_have_the_same_addresses(
    old: str, new: str, *, follows: bool
) -> None:
    """A remark moved the node IP to another NIC once two NICs had exchanged their names."""
    rig = Rig()
    rig.knows(link="enp1")
    job = await rig.followed(edited(old, new))
    assert isinstance(job, Job)
    assert job.renamed == ((("eth0", "enp1", ONE),) if follows else ())
