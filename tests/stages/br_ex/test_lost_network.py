"""Is br-ex given up where Open vSwitch keeps the node from its address?"""

from __future__ import annotations

from structlog.testing import capture_logs

from br_ex_rig import MAC, NODE_IP, Rig
from nodenet.core.apply import intent
from nodenet.core.apply.intent import Intent, Phase
from nodenet.core.boot.facts import Facts
from nodenet.core.boot.outcome import Done, Outcome, Waiting
from nodenet.core.boot.request import NOTHING, Request
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.record import BridgeRecord
from nodenet.core.errors import Unavailable
from nodenet.core.kernel.snapshot import Snapshot
from nodenet.core.messages import Message
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.network_manager.profile_backup import KeptProfile
from nodenet.stages.apply.records import BRIDGE, BRIDGE_INTENT
from nodenet.stages.br_ex.recover_first import LOST_SECONDS


class Chooser:
    """The stage that chooses the node IP."""

    async def attempt(self, facts: Facts, request: Request = NOTHING) -> Outcome:  # noqa: ARG002
        return Done("chosen", facts, Message.NODE_IP_SELECTED)


HUNG = Unavailable("ovs-vswitchd does not carry out what the database says")


def of_next_boot(*, hung: bool) -> Rig:
    """Return a node whose br-ex has no address yet, in a boot after the one that made it."""
    rig = Rig()
    rig.place("br-ex")
    uplink = rig.uplink_profile
    kept = KeptProfile(uplink.uuid, uplink.name, "", in_memory=True, settings={})
    record = BridgeRecord({"br-ex": "eth0"}, {"eth0": MAC}, (str(NODE_IP),), {"eth0": kept}, (uplink.uuid,))
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    rig.kernel.now = Snapshot()
    rig.ovsdb.dead = HUNG if hung else None
    rig.recover._stage = Chooser()
    return rig


async def is_kept(rig: Rig, seconds: float) -> bool:
    """Let the stage that chooses the node IP be attempted each second; return whether the bridge is to stay."""
    for _ in range(int(seconds)):
        assert isinstance(await rig.recover.attempt(Facts()), Done)
        rig.clock.now += 1
    return bool(rig.record.originals)


async def test_the_plain_network_is_restored_where_the_switch_hangs() -> None:
    """Without that the node has no network until Open vSwitch works."""
    rig = of_next_boot(hung=True)
    rig.manager.status = ManagerState.STARTING  # a bridge that does not come up can keep it so
    assert await is_kept(rig, LOST_SECONDS)
    assert rig.ovsdb.proofs == 0
    with capture_logs() as logs:
        assert not await is_kept(rig, 1)
        assert not await is_kept(rig, 2 * LOST_SECONDS)
    why = "Open vSwitch does not work, and the node has been without its address for 60 s"
    assert [entry["event"] for entry in logs] == [f"{why}. The network from before br-ex is restored"]
    assert rig.ovsdb.removed == ["br-ex"]


async def test_a_bridge_that_only_waits_for_its_address_is_kept() -> None:
    """Its DHCP server may be slow. Open vSwitch is asked once a minute: each question is a write to its database."""
    rig = of_next_boot(hung=False)
    assert await is_kept(rig, 3 * LOST_SECONDS + 5)
    assert rig.ovsdb.proofs == 3


async def test_a_bridge_whose_last_apply_was_rolled_back_is_given_up() -> None:
    """An interrupted apply had left profiles that give no link an address: the rollback went back to these."""
    rig = of_next_boot(hung=False)
    failed = Intent("d", Phase.ROLLED_BACK, "a boot", 5.0)
    rig.files.content[str(BRIDGE_INTENT)] = intent.render(failed)
    assert await is_kept(rig, LOST_SECONDS)
    with capture_logs() as logs:
        assert not await is_kept(rig, 1)
    why = "br-ex could not be made, and the node has been without its address for 60 s"
    assert [entry["event"] for entry in logs] == [f"{why}. The network from before br-ex is restored"]
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
    assert isinstance(await rig.recover.attempt(Facts()), Waiting)
    assert rig.record.originals
