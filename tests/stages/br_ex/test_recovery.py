"""Does the network from before br-ex come back where br-ex keeps the node from its address?"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from structlog.testing import capture_logs

from br_ex_rig import FLAG, MAC, NODE_IP, Rig
from fakes import FakeProfiles
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.outcome import Done, Facts, Failed, Outcome, Waiting
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.history.entry import Kind, Result
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.network_manager.profiles import Profile
from nodenet.core.network_manager.state import ManagerState
from nodenet.core.node_ip.select import Selection
from nodenet.stages.apply.history import History
from nodenet.stages.apply.records import BRIDGE, BRIDGE_INTENT, CHANGE
from nodenet.stages.br_ex.recovery import LOST_SECONDS
from nodenet.stages.br_ex.stage import GIVEN_UP
from virtual_time import VirtualLoop


def attempt(rig: Rig, facts: Facts, seconds: float) -> Outcome:
    """Look at the bridge again, as the loop does after READY; the waits of the stage take no time."""
    rig.clock.now += seconds
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(rig.look(facts))


def without_open_vswitch() -> tuple[Rig, Facts]:
    """Return a ready node whose Open vSwitch and br-ex address are gone, and its facts."""
    rig = Rig()
    made = attempt(rig, Facts(selection=Selection(rig.node_ips, "eth0")), 1.0)
    assert isinstance(made, Done)
    assert FLAG in rig.files.content
    rig.kernel.now = Snapshot()
    rig.ovsdb.dead = Unavailable("Open vSwitch's database cannot be reached")
    return rig, made.facts


def test_a_ready_node_that_open_vswitch_keeps_from_its_address_gets_its_plain_network_back() -> None:
    """NetworkManager, started again, takes the address from a bridge whose Open vSwitch does not work."""
    rig, facts = without_open_vswitch()
    assert isinstance(attempt(rig, facts, 0.0), Done)
    assert rig.record.originals
    outcome = attempt(rig, facts, LOST_SECONDS)
    assert isinstance(outcome, Failed)
    assert outcome.problem.cause == GIVEN_UP
    assert (outcome.facts.bridge, outcome.facts.uplink) == (None, None)
    assert outcome.facts.selection == Selection(rig.node_ips, "eth0")
    assert FLAG not in rig.files.content
    assert not rig.record.originals
    rig.ovsdb.dead = None
    rig.place("eth0")
    made = attempt(rig, outcome.facts, 2.0)
    assert isinstance(made, Done)
    assert made.detail.endswith("as it was")  # looked at as a whole: what was made is not remembered


def test_the_history_says_why_br_ex_was_given_up() -> None:
    rig, facts = without_open_vswitch()
    attempt(rig, facts, 0.0)
    attempt(rig, facts, LOST_SECONDS)
    newest = History(rig.files).newest()
    assert newest is not None
    assert (newest.kind, newest.result, newest.who) == (Kind.BRIDGE_REMOVAL, Result.COMMITTED, "nodenetd")
    assert newest.cause.startswith("Open vSwitch does not work")


def test_a_ready_node_that_has_its_address_keeps_br_ex_whatever_open_vswitch_does() -> None:
    """What the kernel forwards goes on without ovs-vswitchd."""
    rig, facts = without_open_vswitch()
    rig.place("br-ex")
    for _ in range(3):
        outcome = attempt(rig, facts, LOST_SECONDS)
        assert isinstance(outcome, Done)
        assert outcome.facts.bridge == "br-ex"


class Live(FakeProfiles):
    """NetworkManager that carries out what it is asked for; the *fatal* kind of order ends nodenetd."""

    fatal = ""

    def _do(self, *order: Any) -> None:
        super()._do(*order)
        if order[0] == self.fatal:
            raise asyncio.CancelledError

    async def delete(self, uuid: str) -> bool:
        known = await super().delete(uuid)
        self.found = replace(self.found, profiles=tuple(each for each in self.found.profiles if each.uuid != uuid))
        return known

    async def give_back(self, kept: KeptProfile) -> None:
        await super().give_back(kept)
        others = tuple(each for each in self.found.profiles if each.uuid != kept.uuid)
        mine = Profile(kept.uuid, kept.name, kept.kind, kept.link or "", settings=kept.settings)
        self.found = replace(self.found, profiles=(*others, mine))

    async def activate(self, uuid: str, link: str) -> None:
        await super().activate(uuid, link)
        profile = next(each for each in self.found.profiles if each.uuid == uuid)
        devices = (replace(each, profile=profile) if each.link == link else each for each in self.found.devices)
        self.found = replace(self.found, devices=tuple(devices), settled=self.found.settled | {link})

    @property
    def uses(self) -> dict[str, str]:
        """Link → UUID of the profile in use."""
        return {each.link: each.profile.uuid for each in self.found.devices if each.profile}


def renamed(profiles: Live | None = None, **parts: Any) -> tuple[Rig, Live]:
    """Return a node whose uplink has another name, in a boot before NetworkManager is ready."""
    profiles = profiles or Live()
    rig = Rig(profiles=profiles, **parts)
    rig.rename_uplink()
    rig.manager.status = ManagerState.READY
    return rig, profiles


@pytest.mark.parametrize("ovs", [True, False])
async def test_an_uplink_with_another_name_gets_its_network_back(*, ovs: bool) -> None:
    """NetworkManager does not become ready by itself: DHCP waits on a bridge without an uplink (R26)."""
    rig, live = renamed()
    rig.ovsdb.up = ovs
    assert await rig.recovery.first() is None
    assert live.uses == {"ens7": "u-eth0"}
    assert [each.uuid for each in live.found.profiles] == ["u-eth0"]
    assert rig.ovsdb.removed == (["br-ex"] if ovs else [])
    assert (rig.record.uplinks, rig.record.macs, rig.record.originals) == ({"br-ex": "ens7"}, {"ens7": MAC}, {})
    assert str(CHANGE) not in rig.files.content
    newest = History(rig.files).newest()
    assert newest is not None
    assert newest.cause == "eth0, the uplink of a bridge, is called ens7 now (same MAC)"


async def test_a_link_that_is_only_late_is_not_taken_for_renamed() -> None:
    """No other NIC has its MAC (R26)."""
    rig, live = renamed()
    live.found = replace(live.found, devices=live.found.devices[1:])
    assert await rig.recovery.first() is None
    assert live.done == []


@pytest.mark.parametrize("fatal", ["delete", "give_back", "activate"])
async def test_a_kill_while_the_network_is_restored_is_made_up_for(fatal: str) -> None:
    """The open change knows the network from before br-ex from before the first order on (R26)."""
    rig, live = renamed()
    live.fatal = fatal
    with pytest.raises(asyncio.CancelledError):
        await rig.recovery.first()
    live.fatal = ""
    found = live.found
    next_process = Rig(profiles=live, files=rig.files)
    next_process.kernel.now, live.found = rig.kernel.now, found
    assert await next_process.recovery.first() is None
    assert live.uses == {"ens7": "u-eth0"}
    assert [each.uuid for each in live.found.profiles] == ["u-eth0"]
    assert (next_process.record.uplinks, next_process.record.originals) == ({"br-ex": "ens7"}, {})
    assert str(CHANGE) not in rig.files.content


async def test_networkmanager_that_does_not_answer_is_asked_again_and_that_is_logged_once() -> None:
    """While NetworkManager starts, its answers may take longer than a call may (R26)."""
    rig, live = renamed()
    live.broken = Unavailable("NetworkManager does not answer within 5 s")
    with capture_logs() as logs:
        for _ in range(3):
            assert isinstance(await rig.recovery.first(), Waiting)
        live.broken = None
        assert await rig.recovery.first() is None
    said = [each for each in logs if each.get("message") is Message.BRIDGE_MENDED]
    assert len([each for each in said if "is called ens7 now" in each["event"]]) == 1
    assert live.uses == {"ens7": "u-eth0"}


async def test_a_full_disk_does_not_keep_the_network_from_coming_back() -> None:
    """What was done is remembered, and written once the disk has space."""
    rig, live = renamed()
    rig.files.broken = PublishFailed("/var/lib/nodenet/bridge.json: No space left on device", remedy="Free space")
    for _ in range(2):
        assert await rig.recovery.first() is None
    assert [order for order in live.done if order[0] == "activate"] == [("activate", "u-eth0", "ens7")]
    rig.files.broken = None
    assert rig.store.pay() is None
    assert (rig.record.uplinks, rig.record.originals) == ({"br-ex": "ens7"}, {})


async def test_a_keyfile_that_cannot_be_written_does_not_end_the_restoring() -> None:
    """NetworkManager has the settings; the journal names the file."""
    rig, live = renamed()
    file = "/etc/NetworkManager/system-connections/eth0.nmconnection"
    kept = replace(rig.record.originals["eth0"], path=file, in_memory=False, keyfile="# rack 7\n")
    rig.files.content[str(BRIDGE)] = bridge_record.render(replace(rig.record, originals={"eth0": kept}))
    rig.files.bad[file] = PublishFailed(f"{file} cannot be written: Read-only file system", remedy="Remount it")
    with capture_logs() as logs:
        assert await rig.recovery.first() is None
    assert [each["remedy"] for each in logs if file in each["event"]] == ["Remount it"]
    assert live.uses == {"ens7": "u-eth0"}


async def test_a_record_that_cannot_be_read_ends_no_stage() -> None:
    rig, live = renamed()
    rig.files.bad[str(BRIDGE)] = PublishFailed(f"{BRIDGE} cannot be read: Is a directory")
    assert await rig.recovery.first() is None
    assert live.done == []


HUNG = Unavailable("ovs-vswitchd does not carry out what the database says")


def of_next_boot(*, hung: bool) -> Rig:
    """Return a node whose br-ex has no address yet, in a boot after the one that made it."""
    rig = Rig(profiles=Live())
    rig.place("br-ex")
    uplink = rig.uplink_profile
    kept = KeptProfile(uplink.uuid, uplink.name, "", in_memory=True, settings={})
    record = BridgeRecord({"br-ex": "eth0"}, {"eth0": MAC}, (str(NODE_IP),), {"eth0": kept}, (uplink.uuid,))
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    rig.kernel.now = Snapshot()
    rig.ovsdb.dead = HUNG if hung else None
    return rig


async def is_kept(rig: Rig, seconds: float) -> bool:
    """Let the loop ask each second; return whether the bridge is to stay."""
    for _ in range(int(seconds)):
        assert await rig.recovery.first() is None
        rig.clock.now += 1
    return bool(rig.record.originals)


async def test_the_plain_network_is_restored_where_the_switch_hangs() -> None:
    """Without that the node has no network until Open vSwitch works."""
    rig = of_next_boot(hung=True)
    assert await is_kept(rig, LOST_SECONDS)
    assert rig.ovsdb.proofs == 0
    with capture_logs() as logs:
        assert not await is_kept(rig, 1)
        assert not await is_kept(rig, 2 * LOST_SECONDS)
    why = "Open vSwitch does not work, and the node has been without its address for 60 s"
    assert [each["event"] for each in logs].count(f"{why}. The network from before br-ex is restored") == 1
    assert rig.ovsdb.removed == ["br-ex"]


async def test_a_bridge_that_only_waits_for_its_address_is_kept() -> None:
    """Its DHCP server may be slow. Open vSwitch is asked once a minute: each question is a write to its database."""
    rig = of_next_boot(hung=False)
    assert await is_kept(rig, 3 * LOST_SECONDS + 5)
    assert rig.ovsdb.proofs == 3


async def test_a_bridge_whose_last_apply_was_rolled_back_is_given_up() -> None:
    """An interrupted apply had left profiles that give no link an address: the rollback went back to these."""
    rig = of_next_boot(hung=False)
    rig.files.content[str(BRIDGE_INTENT)] = intent.render(Intent("d", Phase.ROLLED_BACK, "a boot", 5.0))
    assert await is_kept(rig, LOST_SECONDS)
    assert not await is_kept(rig, 1)
    assert rig.ovsdb.proofs == 0


async def test_the_time_begins_again_with_the_address() -> None:
    rig = of_next_boot(hung=True)
    assert await is_kept(rig, LOST_SECONDS - 1)
    rig.place("br-ex")
    assert await is_kept(rig, 1)
    rig.kernel.now = Snapshot()
    assert await is_kept(rig, LOST_SECONDS)


async def test_networkmanager_is_waited_for_before_the_plain_network_is_restored() -> None:
    rig = of_next_boot(hung=True)
    assert await is_kept(rig, LOST_SECONDS)
    rig.manager.status = ManagerState.SILENT
    assert isinstance(await rig.recovery.first(), Waiting)
    rig.manager.status = ManagerState.READY
    assert await rig.recovery.first() is None
    assert str(CHANGE) not in rig.files.content


@pytest.mark.parametrize("has_bridge", [False, True])
async def test_an_uplink_whose_bridge_has_lost_its_profiles_gets_its_own_back(*, has_bridge: bool) -> None:
    """NetworkManager would never bring it up, and there would be no node IP for ever."""
    rig = Rig("stale-port-without-link", profiles=Live())
    rig.kernel.now = Snapshot()
    kept = KeptProfile(rig.uplink_profile.uuid, "as it was", "", in_memory=True, settings={})
    record = BridgeRecord({"br-ex": "eth0"}, node_ips=(str(NODE_IP),), originals={"eth0": kept}, present=("u1",))
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    if not has_bridge:
        left = tuple(profile for profile in rig.known if not profile.kind.startswith("ovs"))
        rig.profiles.found = replace(rig.profiles.found, profiles=left)
    assert await rig.recovery.first() is None
    assert bool(rig.record.originals) is has_bridge
    names = {each.name for each in rig.profiles.found.profiles if each.uuid == kept.uuid}
    assert (names == {"as it was"}) is not has_bridge
