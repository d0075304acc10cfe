"""The open change: what is kept of the network before it, and how that network comes back."""

from __future__ import annotations

import asyncio
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from fakes import BOOT_ID, FakeFiles, FakeKernel, FakeManager, FakeProfiles, stage_edges
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.change.record import Change, What
from nodenet.core.change.way_back import Network
from nodenet.core.errors import OrderRefused, PublishFailed, Unavailable
from nodenet.core.kernel.snapshot import Link, Snapshot
from nodenet.core.network_manager.objects import Inventory, KeptProfile
from nodenet.core.network_manager.profiles import KEYFILES, Device, Profile
from nodenet.core.network_manager.state import Checkpoint, ManagerState
from nodenet.core.node_file.content import Desired
from nodenet.core.node_file.links import Links
from nodenet.stages.apply.changes import PATIENCE_SECONDS, Changes
from nodenet.stages.apply.network_before import ProfileKeeper, network_of_file
from nodenet.stages.apply.records import CHANGE, INTENT

ETH0 = Profile("u-0", "eth0", "802-3-ethernet", "eth0", path="/etc/eth0", settings={"ipv4": {"method": "auto"}})
LO = Profile("u-lo", "lo", "loopback", "lo", on_disk=False, generated=True)
CHANGED = replace(ETH0, settings={"ipv4": {"method": "manual"}})
NEW = Profile("u-1", "dummy0", "dummy", "dummy0", path="/etc/dummy0")
WISH = Desired(empty=False, links=Links(frozenset({"eth0"}), frozenset({"dummy0"})))
GOOD = Intent("e" * 64, Phase.GOOD, BOOT_ID, 1.0, in_force="e" * 64)
DURING = Intent("d" * 64, Phase.APPLYING, BOOT_ID, 90.0, in_force="e" * 64, checkpoint="/cp/1", created=95.0)


def inventory(*profiles: Profile) -> Inventory:
    """Return what NetworkManager has, with the first profile on eth0."""
    return Inventory((Device("eth0", "ethernet", profile=profiles[0]),), (*profiles, LO), settled=frozenset({"eth0"}))


@dataclass
class Rig:
    """A node whose last apply was good."""

    profiles: FakeProfiles = field(default_factory=lambda: FakeProfiles(inventory(ETH0)))
    manager: FakeManager = field(default_factory=FakeManager)
    files: FakeFiles = field(default_factory=lambda: FakeFiles({str(INTENT): intent.render(GOOD)}))
    what: What = What.TRIAL
    kernel: FakeKernel = field(default_factory=FakeKernel)

    def __post_init__(self) -> None:
        edges = stage_edges(files=self.files, manager=self.manager, profiles=self.profiles, kernel=self.kernel)
        self.changes, self.keeper = Changes(edges), ProfileKeeper(self.profiles, self.files)

    async def tried(self, wish: Desired = WISH) -> Network:
        """Open a change; return the network before it."""
        network = await network_of_file(self.keeper, wish)
        self.changes.begin(Change(self.what, "new.yml", DURING, network))
        return network

    async def restore(self) -> None:
        change = self.changes.open
        assert change is not None
        await self.changes.undo(change, 100.0)

    @property
    def is_open(self) -> bool:
        return self.changes.open is not None

    @property
    def intent(self) -> Intent | None:
        return self.changes.result(INTENT)


async def test_every_profile_is_kept_but_those_that_network_manager_makes_by_itself() -> None:
    rig = Rig()
    kept = await rig.tried()
    assert kept.links == ("dummy0", "eth0")
    assert [each.uuid for each in kept.profiles] == ["u-0"]
    assert kept.active == {"eth0": "u-0"}


async def test_the_profile_that_network_manager_made_for_a_link_of_the_file_is_kept_too() -> None:
    """It makes none again once the link has had another one: the node was without network after a power cut."""
    rig = Rig(FakeProfiles(inventory(replace(ETH0, on_disk=False, generated=True))))
    assert [each.uuid for each in (await rig.tried()).profiles] == ["u-0"]
    rig.profiles.found = inventory(replace(ETH0, uuid="u-1"))
    await rig.restore()
    assert [(order[0], getattr(order[1], "uuid", order[1])) for order in rig.profiles.done] == [
        ("delete", "u-1"),
        ("give_back", "u-0"),
        ("activate", "u-0"),
    ]


async def test_the_network_comes_back_of_a_nic_that_the_file_identifies_by_its_mac_address() -> None:
    """The file names no link, so the one that NetworkManager made its profile for may be any; libnmstate's has none."""
    rig = Rig(FakeProfiles(inventory(replace(ETH0, on_disk=False, generated=True))))
    wish = Desired(empty=False, links=Links(frozenset({"uplink"}), profiles=frozenset({"uplink"}), by_key=True))
    kept = await rig.tried(wish)
    assert ([each.uuid for each in kept.profiles], kept.names) == (["u-0"], ("uplink",))
    rig.profiles.found = inventory(replace(ETH0, uuid="u-1", name="uplink", link=""))
    await rig.restore()
    assert [(order[0], getattr(order[1], "uuid", order[1])) for order in rig.profiles.done] == [
        ("delete", "u-1"),
        ("give_back", "u-0"),
        ("activate", "u-0"),
    ]


async def test_the_link_with_the_mac_address_of_the_file_is_one_of_its_links() -> None:
    """Libnmstate makes "eth0-port" below a bridge; a port of a bond has the MAC of the bond, and so has the bridge."""
    mac = "52:54:00:00:00:01"
    nics = (Device("eth0", "ethernet", "02:00:00:00:00:09", mac), Device("eth1", "ethernet", mac, "52:54:00:00:00:02"))
    rig = Rig(FakeProfiles(Inventory((*nics, Device("br-ex", "ovs-interface", mac)))))
    links = Links(frozenset({"uplink"}), profiles=frozenset({"uplink"}), by_key=True, macs={"uplink": mac})
    assert (await rig.tried(Desired(empty=False, links=links))).links == ("eth0", "uplink")


async def test_a_checkpoint_that_is_still_there_is_enough() -> None:
    """Nodenetd was killed: NetworkManager puts everything back, and the record says what it said before."""
    rig = Rig()
    await rig.tried()
    rig.manager.pending = [Checkpoint("/cp/1", 95.0), Checkpoint("/cp/2", 96.0)]
    await rig.restore()
    assert rig.manager.rolled_back == ["/cp/1"]
    assert rig.profiles.done == []
    assert rig.intent == GOOD
    assert not rig.is_open


async def test_profiles_come_back_where_network_manager_has_forgotten_the_checkpoint() -> None:
    """It was started again, or the power was cut; the stage compares the network with the node file then."""
    rig = Rig()
    await rig.tried()
    rig.profiles.found = inventory(CHANGED, NEW)
    await rig.restore()
    assert [(order[0], getattr(order[1], "uuid", order[1])) for order in rig.profiles.done] == [
        ("delete", "u-1"),
        ("give_back", "u-0"),
        ("activate", "u-0"),
    ]
    assert rig.intent == GOOD
    assert not rig.is_open


async def test_profiles_that_came_back_survive_a_power_cut_before_the_change_is_closed() -> None:
    """NetworkManager does not sync what it adds or deletes, and no other record has the profiles."""
    rig = Rig()
    await rig.tried()
    rig.profiles.found = inventory(CHANGED, NEW)
    rig.files.bad[str(KEYFILES)] = PublishFailed(f"{KEYFILES} cannot be synced: Input/output error")
    await rig.restore()
    assert (rig.is_open, str(CHANGE) in rig.files.content) == (False, True), "a power cut leads to the undo again"
    rig.files.bad.clear()
    assert rig.changes.edges.store.pay() is None
    assert str(CHANGE) not in rig.files.content


async def test_an_undone_apply_of_a_node_file_was_interrupted_and_a_trial_leaves_the_last_result() -> None:
    rig = Rig(what=What.NODE_FILE)
    await rig.tried()
    await rig.restore()
    assert rig.intent == replace(DURING, phase=Phase.ROLLED_BACK)
    rig = Rig(files=FakeFiles())
    await rig.tried()
    await rig.restore()
    assert rig.intent is None


async def test_a_change_that_begins_while_one_is_open_leads_back_to_the_network_before_that() -> None:
    """The present one is what the interrupted change has left."""
    rig = Rig()
    before = await rig.tried()
    rig.profiles.found = inventory(CHANGED, NEW)
    await rig.tried()
    assert rig.changes.open is not None
    assert rig.changes.open.before == before


async def test_a_link_that_cannot_be_activated_holds_nothing_else_up() -> None:
    """NetworkManager refuses a link without a carrier; the trial would never be over, and be undone weeks later."""
    rig = Rig()
    await rig.tried()
    rig.profiles.found = replace(inventory(CHANGED), states={"eth0": "unavailable (no carrier)"})

    async def refused(uuid: str, link: str) -> None:
        raise Unavailable(f"NetworkManager refuses ActivateConnection: {uuid} is not available on {link}")

    rig.profiles.__dict__["activate"] = refused
    with capture_logs() as logged:
        await rig.restore()
    why = "NetworkManager refuses ActivateConnection: u-0 is not available on eth0"
    assert [entry["event"] for entry in logged] == [
        f"eth0 gets none of the profiles from before the trial of new.yml: {why}",
        "Put the profiles from before the trial of new.yml back",
    ]
    assert rig.intent == GOOD
    assert not rig.is_open


@pytest.mark.parametrize("carrier", [False, True])
async def test_a_link_without_a_carrier_that_was_a_port_holds_nothing_up_either(carrier: bool) -> None:  # noqa: FBT001
    """It is disconnected and not unavailable: the undo of a swap to it waited a minute for what could not be."""
    rig = Rig(kernel=FakeKernel(Snapshot((Link(2, "eth0", carrier=carrier),))))
    await rig.tried()
    rig.profiles.found = replace(inventory(CHANGED), states={"eth0": "disconnected"})

    async def refused(uuid: str, link: str) -> None:
        raise OrderRefused(f"NetworkManager refuses ActivateConnection: {uuid} is not available on {link}")

    rig.profiles.__dict__["activate"] = refused
    with pytest.raises(OrderRefused) if carrier else nullcontext():
        await rig.restore()
    assert rig.is_open is carrier


@pytest.mark.parametrize("states", [{"eth0": "activated"}, {"eth0": "disconnected"}, {}], ids=str)
async def test_a_network_manager_that_hangs_before_the_activation_is_asked_again(states: dict[str, str]) -> None:
    """It was taken for a link without a carrier once it answered: the network from before was forgotten."""
    rig = Rig()
    await rig.tried()
    rig.profiles.found = replace(inventory(CHANGED), states=states)

    async def hung(uuid: str, link: str) -> None:
        raise Unavailable(f"NetworkManager does not answer to activate {uuid} on {link}")

    rig.profiles.__dict__["activate"] = hung
    with pytest.raises(Unavailable, match="does not answer"):
        await rig.restore()
    assert rig.is_open


async def test_a_network_manager_that_dies_before_the_activation_is_asked_again() -> None:
    rig = Rig()
    await rig.tried()
    rig.profiles.found = inventory(CHANGED)

    async def died(uuid: str, link: str) -> None:
        rig.profiles.broken = Unavailable(f"NetworkManager is not on the bus to activate {uuid} on {link}")
        raise rig.profiles.broken

    rig.profiles.__dict__["activate"] = died
    with pytest.raises(Unavailable):
        await rig.restore()
    assert rig.is_open


class Exchanged(FakeProfiles):
    """NetworkManager refuses the *order* for eth1, whose NIC was exchanged."""

    order = "activate"

    def _do(self, *order: Any) -> None:
        super()._do(*order)
        if order[0] == self.order and "eth1" in (order[-1], getattr(order[-1], "name", "")):
            raise OrderRefused("NetworkManager refuses ActivateConnection: its MAC address is another one")


@pytest.mark.parametrize(
    ("order", "done"),
    [
        ("activate", ["give_back", "give_back", "activate", "activate"]),
        ("give_back", ["give_back", "give_back", "activate"]),
    ],
)
async def test_a_profile_that_network_manager_refuses_holds_no_other_one_up(order: str, done: list[str]) -> None:
    """The uplink behind it stayed without a network for a minute, and then the file was applied to what was left."""
    profiles = [replace(ETH0, uuid=f"u-{name}", name=name, link=name) for name in ("eth1", "eth0")]
    devices = tuple(Device(each.link, "ethernet", profile=each) for each in profiles)
    rig = Rig(Exchanged(Inventory(devices, tuple(profiles))))
    rig.profiles.__dict__["order"] = order
    await rig.tried(replace(WISH, links=Links(frozenset({"eth0", "eth1"}))))
    changed = tuple(replace(each, settings=CHANGED.settings) for each in profiles)
    rig.profiles.found = Inventory(devices, changed, settled=frozenset({"eth0"}))
    with pytest.raises(OrderRefused):
        await rig.restore()
    assert [each[0] for each in rig.profiles.done] == done
    assert rig.profiles.done[-1] == ("activate", "u-eth0", "eth0")
    assert rig.is_open, "it is asked again"
    rig.profiles.found = Inventory(devices, tuple(profiles), settled=frozenset({"eth0"}))
    rig.profiles.done.clear()
    with pytest.raises(OrderRefused) if order == "activate" else nullcontext():
        await rig.restore()
    assert rig.profiles.done == [("activate", "u-eth1", "eth1")], "what is back is left alone"


async def test_a_link_that_is_back_is_left_alone_where_network_manager_hangs_on_another_one() -> None:
    """Each try took the lease of the uplink away again."""
    profiles = tuple(replace(ETH0, uuid=f"u-{name}", name=name, link=name) for name in ("eth0", "eth1"))
    devices = tuple(Device(each.link, "ethernet", profile=each) for each in profiles)
    rig = Rig(FakeProfiles(Inventory(devices, profiles)))
    await rig.tried(replace(WISH, links=Links(frozenset({"eth0", "eth1"}))))
    changed = tuple(replace(each, settings=CHANGED.settings) for each in profiles)
    rig.profiles.found = Inventory(devices, changed)
    begun: list[str] = []

    async def hung(uuid: str, link: str) -> None:
        begun.append(link)
        if link == "eth1":
            raise Unavailable(f"NetworkManager does not answer to activate {uuid} on {link}")

    rig.profiles.__dict__["activate"] = hung
    for _ in range(2):
        with pytest.raises(Unavailable):
            await rig.restore()
        rig.profiles.found = Inventory(devices, profiles, settled=frozenset({"eth0"}))
    assert begun == ["eth0", "eth1", "eth1"]


async def test_a_link_that_is_gone_stays_owed_while_another_one_is_refused() -> None:
    """Its driver is loaded later."""
    profiles = tuple(replace(ETH0, uuid=f"u-{name}", name=name, link=name) for name in ("eth1", "eth2"))
    devices = tuple(Device(each.link, "ethernet", profile=each) for each in profiles)
    rig = Rig(Exchanged(Inventory(devices, profiles)))
    await rig.tried(replace(WISH, links=Links(frozenset({"eth1", "eth2"}))))
    change = rig.changes.open
    assert change is not None
    rig.changes.save(replace(change, before=replace(change.before, due={"eth2": "u-eth2"})))
    rig.profiles.found = Inventory(devices[:1], (replace(profiles[0], settings=CHANGED.settings), profiles[1]))
    with pytest.raises(OrderRefused):
        await rig.restore()
    change = rig.changes.open
    assert change is not None
    assert change.before.due == {"eth1": "u-eth1", "eth2": "u-eth2"}


async def test_a_link_that_was_not_in_use_is_disconnected_before_its_profile_comes_back() -> None:
    """A kill between the two leaves the profile to be given back, and the link is not in use then."""
    idle = replace(ETH0, settings={"connection": {"autoconnect": ["variant", "b", ["plain", False]]}})
    rig = Rig(FakeProfiles(Inventory((Device("eth0", "ethernet"),), (idle,))))
    await rig.tried()
    rig.profiles.found = inventory(CHANGED)
    await rig.restore()
    assert [order[0] for order in rig.profiles.done] == ["disconnect", "give_back"]


class Interrupted(FakeProfiles):
    """Profiles that have their settings once these are given back; the first activation is *lost*."""

    lost = True

    async def give_back(self, kept: KeptProfile) -> None:
        await super().give_back(kept)
        self.found = inventory(replace(ETH0, settings=kept.settings))

    async def activate(self, uuid: str, link: str) -> None:
        if self.lost:
            self.lost = False
            raise asyncio.CancelledError
        await super().activate(uuid, link)


async def test_a_profile_is_activated_also_where_nodenetd_ended_before_that() -> None:
    """It had its settings again, and its link the network of the file: new settings alone do not change a link."""
    rig = Rig(Interrupted(inventory(ETH0)))
    await rig.tried()
    rig.profiles.found = inventory(CHANGED)
    with pytest.raises(asyncio.CancelledError):
        await rig.restore()
    rig.profiles.done.clear()
    await rig.restore()
    assert rig.profiles.done == [("activate", "u-0", "eth0")]
    assert not rig.is_open


async def test_a_full_disk_keeps_no_profile_from_coming_back() -> None:
    """It does not take the note of what is to be activated."""
    rig = Rig()
    await rig.tried()
    rig.profiles.found = inventory(CHANGED)
    rig.files.broken = PublishFailed("No space left on device")
    await rig.restore()
    assert [order[0] for order in rig.profiles.done] == ["give_back", "activate"]


async def test_what_could_not_be_restored_is_not_forgotten() -> None:
    rig = Rig()
    await rig.tried()
    rig.profiles.found = inventory(CHANGED)
    rig.profiles.broken = Unavailable("NetworkManager refuses Update2")
    with pytest.raises(Unavailable):
        await rig.restore()
    assert rig.is_open


async def test_the_links_have_their_profiles_again_before_the_record_is_gone() -> None:
    """The stage nmstate would take them for changed, and apply its file over a port of br-ex."""
    rig = Rig()
    await rig.tried()
    rig.profiles.found = replace(inventory(CHANGED), settled=frozenset())
    asyncio.get_running_loop().call_later(0.5, setattr, rig.profiles, "found", inventory(CHANGED))
    restoring = asyncio.ensure_future(rig.restore())
    await asyncio.sleep(0.25)
    assert rig.is_open
    await restoring
    assert not rig.is_open


async def test_the_start_of_network_manager_is_waited_for() -> None:
    rig = Rig(manager=FakeManager(status=ManagerState.STARTING))
    asyncio.get_running_loop().call_later(0.3, setattr, rig.manager, "status", ManagerState.READY)
    began = asyncio.get_running_loop().time()
    await rig.changes.started()
    assert 0.3 <= asyncio.get_running_loop().time() - began < PATIENCE_SECONDS
