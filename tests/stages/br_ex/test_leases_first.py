"""Are leases of an earlier boot settled before a node IP is chosen?"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from ipaddress import ip_address
from pathlib import PurePosixPath

import pytest
from structlog.testing import capture_logs

from br_ex_rig import NODE_IP, Rig
from fakes import BOOT_ID, FakeKernel
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.outcome import Done, Facts, Outcome, Problem, Waiting
from nodenet.core.boot.stage_state import NOTHING, Request
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.lease import Moment, StaticLease
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import Address, Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.network_manager.state import PAUSES, ManagerState, Service
from nodenet.stages.apply.records import BRIDGE, BRIDGE_INTENT
from nodenet.stages.br_ex.recovery import CONFIRM_SECONDS, LeasesFirst

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
) -> tuple[Rig, Chooser, LeasesFirst]:
    """Return a node whose br-ex came up from its profile, with the address that is static there."""
    rig = Rig(server=server, kernel=kernel or FakeKernel())
    rig.place("br-ex")
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    chooser = Chooser(rig)
    rig.nodeip._stage = chooser
    return rig, chooser, rig.nodeip


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
    assert waiting.reason == "the leases of br-ex: NetworkManager is not on the bus"
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
    assert [problem(outcome) for outcome in outcomes] == [None, None]
    cause = "No DHCP server has confirmed 10.88.0.113 in this boot: used until the lease ends"
    assert [entry["event"] for entry in logs] == [cause]
    rig.files.broken = None
    assert rig.store.pay() is None
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
    assert [problem(outcome) for outcome in outcomes] == [None, None]


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
