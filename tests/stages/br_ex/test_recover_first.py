"""Is the network repaired before a node IP is chosen?"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import PurePosixPath
from typing import Any

import pytest
from structlog.testing import capture_logs

from br_ex_rig import MAC, NODE_IP, Rig
from fakes import BOOT_ID, FakeKernel, FakeProfiles
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Outcome, Problem, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.lease import Moment, StaticLease
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address, Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import PAUSES, ManagerState, Service
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.profile_backup import KeptProfile
from nodenet.stages.apply.records import BRIDGE, BRIDGE_INTENT
from nodenet.stages.br_ex.duplicate_checks import PROBE_OWED
from nodenet.stages.br_ex.recover_first import CONFIRM_SECONDS, RecoverFirst

LAST_BOOT = Moment("the last boot", 50.0, 1_700_000_000.0)
LEASED = BridgeRecord(
    {"br-ex": "eth0"},
    node_ips=(str(NODE_IP),),
    finish={"br-ex": {"ipv4": {"address-data": []}}},
    leases={"br-ex": StaticLease(str(NODE_IP), LAST_BOOT, 3600.0)},
)


@dataclass
class Chooser:
    """The stage that chooses the node IP; *saw*: what had been changed by then."""

    rig: Rig
    saw: list[list[str]] = field(default_factory=list)
    meanwhile: Callable[[], None] = lambda: None

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:
        assert request is NOTHING
        self.meanwhile()
        self.saw.append([order[0] for order in self.rig.profiles.done])
        return Done("chosen", facts, Message.NODE_IP_SELECTED)


class NonLocalBind(FakeKernel):
    """A kernel with `ip_nonlocal_bind`."""

    def can_bind(self, address: IPAddress, link_index: int) -> bool:  # noqa: ARG002
        return True


def of_next_boot(
    record: BridgeRecord, server: IPAddress | None = None, kernel: FakeKernel | None = None
) -> tuple[Rig, Chooser, RecoverFirst]:
    """Return a node whose br-ex came up from its profile, with the address that is static there."""
    rig = Rig(server=server, kernel=kernel or FakeKernel())
    rig.place("br-ex")
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    chooser = Chooser(rig)
    rig.recover._stage = chooser
    return rig, chooser, rig.recover


async def test_a_lease_that_ended_while_the_power_was_off_is_gone_before_the_choice() -> None:
    """A week later the server may have given the address to another host (R3)."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.clock.now += 7 * 86400
    await stage.attempt(Facts())
    assert chooser.saw == [["set", "reapply"]]
    assert (rig.record.finish, rig.record.leases) == (None, {})


@dataclass
class LateKernel(FakeKernel):
    """A kernel that has lost its addresses when it is first looked at after *reapplied* is true."""

    reapplied: Callable[[], bool] = lambda: False
    looks: int = 0

    def snapshot(self) -> Snapshot:
        if self.reapplied():
            self.looks, self.now = self.looks + 1, Snapshot()
        return super().snapshot()


async def test_an_address_whose_lease_ended_has_left_the_bridge_before_the_choice() -> None:
    """NetworkManager answers a reapply before it has removed the address (R3)."""
    kernel = LateKernel()
    rig, chooser, stage = of_next_boot(LEASED, kernel=kernel)
    kernel.reapplied = lambda: ("reapply", "br-ex") in rig.profiles.done
    rig.clock.now += 7 * 86400
    await stage.attempt(Facts())
    assert (len(chooser.saw), kernel.looks > 0, kernel.now) == (1, True, Snapshot())


ON_BRIDGE = Snapshot(addresses=(Address(NODE_IP, 24, "br-ex"),))


async def test_a_clock_that_is_behind_proves_nothing() -> None:
    """The battery of the clock is empty: 1970 is no reason to use the address (R3, R4)."""
    future = replace(LEASED.leases["br-ex"], noted=replace(LAST_BOOT, unix=1_800_000_000.0))
    rig, chooser, stage = of_next_boot(replace(LEASED, leases={"br-ex": future}))
    await stage.attempt(Facts())
    assert (chooser.saw, rig.record.leases) == ([["set", "reapply"]], {})


async def test_a_lease_that_is_valid_still_is_waited_for_and_then_known_as_unconfirmed() -> None:
    """RFC 2131 section 3.7. What the clock does later in this boot changes nothing (R3, R4)."""
    rig, chooser, stage = of_next_boot(LEASED)
    waiting = await stage.attempt(Facts())
    assert isinstance(waiting, Waiting)
    assert waiting.reason == "no DHCP server has confirmed 10.88.0.113 in this boot yet"
    rig.clock.now += CONFIRM_SECONDS
    await stage.attempt(Facts())
    assert chooser.saw == [[]]
    assert rig.record.leases["br-ex"].noted.boot_id == BOOT_ID
    await stage.attempt(Facts())
    assert len(chooser.saw) == 2


async def test_a_server_that_confirms_ends_the_wait() -> None:
    """The static copy goes before the choice: DHCP has the address by itself (R3)."""
    rig, chooser, stage = of_next_boot(LEASED, NODE_IP)
    await stage.attempt(Facts())
    assert (chooser.saw, rig.record.leases) == ([["set", "reapply"]], {})


async def test_profiles_that_networkmanager_has_not_read_yet_are_waited_for() -> None:
    """What cannot be changed is not noted as changed (R3)."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.clock.now += 7 * 86400
    rig.profiles.found = Inventory()
    rig.manager.status = ManagerState.STARTING
    waiting = await stage.attempt(Facts())
    assert isinstance(waiting, Waiting)
    assert "NetworkManager has no profile of br-ex yet" in waiting.reason
    assert (chooser.saw, rig.record) == ([], LEASED)


@pytest.mark.parametrize("ovs", [True, False])
async def test_an_uplink_with_another_name_gets_its_network_back(*, ovs: bool) -> None:
    """NetworkManager does not become ready by itself: DHCP waits on a bridge without an uplink (R26)."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.ovsdb.up = ovs
    rig.rename_uplink()
    await stage.attempt(Facts())
    orders = [order[:2] for order in rig.profiles.done]
    assert orders == [("delete", "u-port"), ("give_back", rig.profiles.done[1][1]), ("activate", "u-eth0")]
    assert rig.profiles.done[-1] == ("activate", "u-eth0", "ens7")
    assert rig.ovsdb.removed == (["br-ex"] if ovs else [])
    assert (rig.record.uplinks, rig.record.macs, rig.record.originals) == ({"br-ex": "ens7"}, {"ens7": MAC}, {})
    assert len(chooser.saw) == 1
    # Where the database was away, it has the bridge still: "there is no br-ex to remove" would be wrong.
    assert (str(BRIDGE_INTENT) in rig.files.content) is not ovs


async def test_a_link_that_is_only_late_is_not_taken_for_renamed() -> None:
    """No other NIC has its MAC (R26)."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.rename_uplink()
    rig.profiles.found = replace(rig.profiles.found, devices=rig.profiles.found.devices[1:])
    await stage.attempt(Facts())
    assert (rig.profiles.done, len(chooser.saw)) == ([], 1)


async def test_no_bridge_is_made_while_the_node_ip_can_only_be_bound() -> None:
    """The plan would not have it (R22)."""
    rig = Rig(kernel=NonLocalBind())
    rig.kernel.now = Snapshot()
    outcome = await rig.attempt()
    assert isinstance(outcome, Waiting)
    assert outcome.reason == "the node IP 10.88.0.113 is not on this node at the moment"
    assert rig.nmstate.applied == []


async def test_without_networkmanager_the_choice_waits() -> None:
    """Nothing can be restored then."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.profiles.broken = Unavailable("NetworkManager is not on the bus")
    waiting = await stage.attempt(Facts())
    assert isinstance(waiting, Waiting)
    assert waiting.reason == "restoring the network from before br-ex: NetworkManager is not on the bus"
    assert chooser.saw == []


async def test_a_networkmanager_that_has_failed_is_started_for_what_is_to_be_restored() -> None:
    """No other stage asks for it before: without a node file nmstate is skipped (R8)."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.manager.crash()
    rig.profiles.broken = Unavailable("NetworkManager is not on the bus")
    rig.systemd.stands = Service("loaded", "failed", "", "start-limit-hit")
    for _ in range(2):
        waiting = await stage.attempt(Facts())
        assert isinstance(waiting, Waiting)
        assert waiting.reason.startswith("NetworkManager has failed: start-limit-hit")
        rig.clock.now += PAUSES[0]
    assert (rig.systemd.started, chooser.saw) == (1, [])


FULL = PublishFailed("/var/lib/nodenet/bridge.json cannot be written: No space left on device", remedy="Free space")
ALL_THE_SAME = Problem(
    Message.PUBLISH_FAILED, f"{FULL.cause}; the node IP is selected without that record", "Free space"
)


def problem(outcome: Outcome) -> Problem | None:
    assert isinstance(outcome, Done), outcome
    return outcome.problem


async def test_a_full_disk_does_not_keep_the_node_ip_from_being_selected() -> None:
    """A lease that no server confirms is used although that cannot be noted, and each sentence is logged once."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.files.broken = FULL
    assert isinstance(await stage.attempt(Facts()), Waiting)
    rig.clock.now += CONFIRM_SECONDS
    with capture_logs() as logs:
        outcomes = [await stage.attempt(Facts()), await stage.attempt(Facts())]
    assert chooser.saw == [[], []]
    assert [problem(outcome) for outcome in outcomes] == [ALL_THE_SAME, ALL_THE_SAME]
    cause = "No DHCP server has confirmed 10.88.0.113 in this boot: used until the lease ends"
    assert [entry["event"] for entry in logs] == [cause]
    rig.files.broken = None
    await stage.attempt(Facts())
    assert rig.record.leases["br-ex"].noted.boot_id == BOOT_ID


async def test_a_lease_that_ended_is_removed_once_on_a_full_disk() -> None:
    """The record cannot say that it is gone: the next attempt does not apply the same profile again."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.files.broken = FULL
    rig.clock.now += 7 * 86400
    found, rig.profiles.found, rig.manager.status = rig.profiles.found, Inventory(), ManagerState.STARTING
    assert isinstance(await stage.attempt(Facts()), Waiting)
    rig.profiles.found, rig.manager.status = found, ManagerState.READY
    outcomes = [await stage.attempt(Facts()), await stage.attempt(Facts())]
    assert chooser.saw == [["set", "reapply"]] * 2
    assert [problem(outcome) for outcome in outcomes] == [ALL_THE_SAME, ALL_THE_SAME]


async def test_an_uplink_with_another_name_gets_its_network_back_on_a_full_disk() -> None:
    """The new name cannot be noted; the profile is activated once all the same."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.rename_uplink()
    rig.files.broken = FULL
    await stage.attempt(Facts())
    await stage.attempt(Facts())
    activated = [order for order in rig.profiles.done if order[0] == "activate"]
    assert (activated, len(chooser.saw)) == ([("activate", "u-eth0", "ens7")], 2)


async def test_a_keyfile_that_cannot_be_written_does_not_end_the_restoring() -> None:
    """The uplink's profile is activated and the node IP selected; the status names the file."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.rename_uplink()
    file = "/etc/NetworkManager/system-connections/eth0.nmconnection"
    kept = replace(rig.record.originals["eth0"], path=file, in_memory=False, keyfile="# rack 7\n")
    rig.files.content[str(BRIDGE)] = bridge_record.render(replace(rig.record, originals={"eth0": kept}))
    rig.files.bad[file] = PublishFailed(f"{file} cannot be written: Read-only file system", remedy="Remount it")
    cause = f"{file} cannot be written: Read-only file system; NetworkManager has its settings, but not its comments"
    for _ in range(2):
        found = problem(await stage.attempt(Facts()))
        assert found == Problem(Message.PUBLISH_FAILED, cause, "Remount it")
    assert [order for order in rig.profiles.done if order[0] == "activate"] == [("activate", "u-eth0", "ens7")]
    assert len(chooser.saw) == 2


@pytest.mark.parametrize("path", [BRIDGE, BRIDGE_INTENT])
async def test_a_record_that_cannot_be_read_does_not_keep_the_node_ip_from_being_selected(path: PurePosixPath) -> None:
    """It is a problem of the node, with the path and the remedy."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.files.bad[str(path)] = PublishFailed(f"{path} cannot be read: Is a directory", remedy="Remove it")
    cause = f"{path} cannot be read: Is a directory; the node IP is selected without that record"
    assert problem(await stage.attempt(Facts())) == Problem(Message.PUBLISH_FAILED, cause, "Remove it")
    assert chooser.saw == [[]]


async def test_what_is_wrong_with_a_lease_is_logged_once_however_often_the_node_ip_is_selected() -> None:
    """A node IP that cannot be published is selected again and again."""
    noted = replace(LEASED.leases["br-ex"], noted=Moment(BOOT_ID, 100.0, 1_700_000_100.0))
    rig, _, stage = of_next_boot(replace(LEASED, leases={"br-ex": noted}))
    rig.server = ip_address("10.88.0.77")
    rig.place("br-ex")
    with capture_logs() as logs:
        for _ in range(3):
            await stage.attempt(Facts())
    cause = "The DHCP server gives br-ex 10.88.0.77; the node keeps 10.88.0.113 until its lease ends"
    assert [entry["event"] for entry in logs] == [cause]


async def test_a_lease_of_a_bridge_that_was_not_made_is_not_waited_for() -> None:
    """The apply was rolled back, so the uplink asks for the lease by itself: no second is lost, nothing is logged."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.files.content[str(BRIDGE_INTENT)] = intent.render(Intent("d", Phase.ROLLED_BACK, "the last boot", 5.0))
    rig.place("eth0")
    with capture_logs() as logs:
        await stage.attempt(Facts())
    assert (chooser.saw, rig.record, logs) == ([[]], LEASED, [])


async def test_a_lease_of_a_bridge_that_could_not_be_repaired_is_settled_all_the_same() -> None:
    """The apply that was to repair it was rolled back: the bridge from before has the static copy (R3)."""
    rig, chooser, stage = of_next_boot(LEASED)
    rig.files.content[str(BRIDGE_INTENT)] = intent.render(Intent("d", Phase.ROLLED_BACK, "the last boot", 5.0))
    rig.clock.now += 7 * 86400
    await stage.attempt(Facts())
    assert chooser.saw == [["set", "reapply"]]


class SlowProfiles(FakeProfiles):
    """Each order takes a turn of the loop."""

    async def delete(self, uuid: str) -> bool:
        await asyncio.sleep(0)
        return await super().delete(uuid)

    async def give_back(self, kept: KeptProfile) -> None:
        await asyncio.sleep(0)
        await super().give_back(kept)

    async def activate(self, uuid: str, link: str) -> None:
        await asyncio.sleep(0)
        await super().activate(uuid, link)


async def test_a_stop_does_not_leave_the_network_half_restored() -> None:
    """The bridge is gone by then, and the uplink would have no profile until the next start of nodenetd (R5)."""
    profiles = SlowProfiles()
    rig = Rig(profiles=profiles)
    rig.rename_uplink()
    rig.recover._stage = Chooser(rig)
    task = asyncio.ensure_future(rig.recover.attempt(Facts()))
    while not profiles.done:
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [order[0] for order in profiles.done] == ["delete", "give_back", "activate"]


class Interrupted(FakeProfiles):
    """The *fatal* kind of order ends nodenetd."""

    fatal = ""

    def _do(self, *order: Any) -> None:
        super()._do(*order)
        if order[0] == self.fatal:
            raise asyncio.CancelledError


@pytest.mark.parametrize("fatal", ["delete", "give_back", "activate"])
async def test_a_kill_while_a_renamed_uplink_is_restored_is_made_up_for(fatal: str) -> None:
    """The record has the old name until all is done; then the network is restored again, and whole (R26)."""
    profiles = Interrupted()
    rig = Rig(profiles=profiles)
    rig.rename_uplink()
    profiles.fatal = fatal
    with pytest.raises(asyncio.CancelledError):
        await rig.follow.attempt(Facts())
    killed = Rig(files=rig.files)
    killed.rename_uplink()
    killed.files.content.update(rig.files.content)
    if fatal == "activate":  # its profile has the new name by then
        uplink, *_ = killed.profiles.found.profiles
        killed.profiles.found = replace(killed.profiles.found, profiles=(replace(uplink, link="ens7"),))
    killed.recover._stage = Chooser(killed)
    await killed.recover.attempt(Facts())
    assert killed.profiles.done[-1] == ("activate", "u-eth0", "ens7")
    assert (killed.record.uplinks, killed.record.originals) == ({"br-ex": "ens7"}, {})
    assert str(BRIDGE_INTENT) not in killed.files.content


async def test_what_networkmanager_does_not_answer_is_asked_again_and_logged_once() -> None:
    """While NetworkManager starts, its answers may take longer than a call may (R26)."""
    rig = Rig()
    rig.rename_uplink()
    rig.recover._stage = Chooser(rig)
    broken = Refusing()
    broken.found = rig.profiles.found
    rig.repairer._profiles = broken
    with capture_logs() as logs:
        for _ in range(3):
            assert isinstance(await rig.recover.attempt(Facts()), Waiting)
    assert len(logs) == 1
    rig.repairer._profiles = rig.profiles
    await rig.recover.attempt(Facts())
    assert rig.profiles.done[-1] == ("activate", "u-eth0", "ens7")


class Refusing(FakeProfiles):
    """No profile can be deleted at the moment."""

    async def delete(self, uuid: str) -> bool:  # noqa: ARG002
        raise Unavailable("NetworkManager does not answer within 5 s")


async def test_networkmanager_probes_again_also_where_br_ex_is_not_made_any_more() -> None:
    """A kill in the middle of an apply, then `configure-ovs = "skip"`: no other stage restores it."""
    rig, chooser, stage = of_next_boot(LEASED, NODE_IP)
    rig.files.content[str(PROBE_OWED)] = b""
    await stage.attempt(Facts())
    assert (rig.dns.read, str(PROBE_OWED) in rig.files.content, len(chooser.saw)) == (1, False, 1)
