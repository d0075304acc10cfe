"""Does a node get back to its plain uplink?"""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import PurePosixPath

import pytest
from structlog.testing import capture_logs

from br_ex_cases import CASES, facts_of
from br_ex_rig import FLAG, LEASE, Rig
from fakes import FakeNmstate, FakeProfiles
from nodenet.core.boot.outcome import Done, Facts, Failed, Skipped, Waiting
from nodenet.core.br_ex import record as bridge_record
from nodenet.core.br_ex.record import BridgeRecord, ProfileSettings
from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.history.entry import Kind, Result
from nodenet.core.messages import Message
from nodenet.core.network_manager.objects import KeptProfile
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.node_ip.select import Selection
from nodenet.stages.apply.history import History
from nodenet.stages.apply.records import BRIDGE
from nodenet.stages.br_ex.stage import PATIENCE_SECONDS


async def bridge_of_ours() -> Rig:
    """Return a node whose br-ex nodenetd made; its removal puts the addresses back on eth0."""
    rig = Rig()
    await rig.attempt()
    made = Rig("standing-ours", files=rig.files)
    made.place("br-ex")
    made.nmstate.during_apply = lambda: made.place("eth0")
    return made


async def test_removal_gives_the_profile_back_and_lasts_for_the_boot() -> None:
    """In one transaction; a reload does not bring it back, an order does."""
    made = await bridge_of_ours()
    outcome = await made.attempt(remove_bridge=True)
    assert isinstance(outcome, Skipped)
    assert outcome.message is Message.CHANGE_UNDONE
    assert outcome.facts.bridge is None
    assert [order[0] for order in made.profiles.done if order[0] != "keep"] == ["give_back"]
    assert FLAG not in made.files.content
    again = Rig(files=made.files)
    assert isinstance(await again.attempt(), Skipped)
    assert isinstance(await again.attempt(retry_refused=True, by_name=True), Done)


async def test_the_history_has_what_became_of_the_bridge_and_who_asked_for_it() -> None:
    """The entry of the node file in force stays; a removal of nothing, and a second look, are no changes."""
    made = await bridge_of_ours()
    history = History(made.files)
    await made.attempt(remove_bridge=True, who="bridge remove (uid 0)")
    await made.attempt(remove_bridge=True)
    failure = NmstateFailure(FailureKind.VERIFICATION, "br-ex is not there")
    nmstate = FakeNmstate({"interfaces": [{"name": "br-ex"}]}, fails=[failure])
    await Rig(files=made.files, nmstate=nmstate).attempt(by_name=True, who="bridge make (uid 0)")
    assert [(each.kind, each.result, each.who, each.cause) for each in history.all()] == [
        (Kind.BRIDGE, Result.REFUSED, "bridge make (uid 0)", "br-ex is not there"),
        (Kind.BRIDGE_REMOVAL, Result.COMMITTED, "bridge remove (uid 0)", ""),
        (Kind.BRIDGE, Result.COMMITTED, "boot", ""),
    ]
    assert history.in_force() is None


async def test_an_uplink_that_is_no_port_at_the_moment_gets_its_profile_back_too() -> None:
    """NetworkManager had ended in the making of br-ex: the profile was for a port of a bridge that was removed."""
    made = await bridge_of_ours()
    held = made.ovsdb.held[0]
    made.ovsdb.held = (replace(held, ports=tuple(port for port in held.ports if port.name != "eth0")),)
    freed = replace(made.profiles.found, states={"eth0": "disconnected"})
    made.nmstate.during_apply = lambda: setattr(made.profiles, "found", freed)
    await made.attempt(remove_bridge=True)
    assert [order[0] for order in made.profiles.done if order[0] != "keep"] == ["give_back", "connect"]


async def test_a_removal_is_on_the_disk_before_its_record() -> None:
    """A power cut brought the keyfiles back, which no record had any more: a node without network, for ever."""
    made = await bridge_of_ours()
    made.files.writes.clear()
    await made.attempt(remove_bridge=True)
    assert made.files.writes.index(f"sync {KEYFILES}") < made.files.writes.index(str(BRIDGE))


async def test_a_flag_that_stays_is_removed_at_the_next_attempt() -> None:
    """The bridge is gone by then: the status does not go on to report it."""
    made = await bridge_of_ours()
    made.files.bad[FLAG] = PublishFailed(f"{FLAG} cannot be removed: Read-only file system", remedy="Remount it")
    assert isinstance(await made.attempt(remove_bridge=True), Failed)
    del made.files.bad[FLAG]
    made.clock.now += 30
    facts = Facts(bridge="br-ex", uplink="eth0", selection=Selection(made.node_ips, "br-ex"))
    outcome = await made.stage.attempt(facts)
    assert isinstance(outcome, Skipped)
    assert (outcome.facts.bridge, outcome.facts.uplink) == (None, None)
    assert outcome.facts.selection == Selection(made.node_ips, "eth0")
    assert FLAG not in made.files.content


async def test_the_old_script_s_bridge_goes_from_the_links_upwards_and_its_uplink_comes_up_again() -> None:
    """A link that NetworkManager leaves without a profile is given one: nobody else would."""
    rig = Rig("standing-old-script")
    rig.place("br-ex")
    await rig.attempt()
    rig.profiles.found = replace(rig.profiles.found, states={"eth0": "disconnected"})
    rig.profiles.on_connect = lambda: rig.place("eth0")
    outcome = await rig.attempt(remove_bridge=True)
    assert isinstance(outcome, Skipped)
    kinds = {profile.uuid: profile.kind for profile in rig.known}
    orders = [order for order in rig.profiles.done if order[0] in ("delete", "connect")]
    deleted = [kinds[order[1]] for order in orders[:-1]]
    assert deleted == ["ovs-interface", "802-3-ethernet", "ovs-port", "ovs-port", "ovs-bridge"]
    assert orders[-1] == ("connect", "eth0")


class SlowProfiles(FakeProfiles):
    """A deletion takes a turn of the loop."""

    async def delete(self, uuid: str) -> bool:
        await asyncio.sleep(0)
        return await super().delete(uuid)


async def test_a_stop_does_not_leave_an_uplink_of_the_old_script_s_bridge_without_a_profile() -> None:
    """No checkpoint would bring the bridge back (R5)."""
    rig = Rig("standing-old-script", profiles=SlowProfiles())
    rig.place("br-ex")
    await rig.attempt()
    rig.profiles.found = replace(rig.profiles.found, states={"eth0": "disconnected (its profile was removed)"})
    task = asyncio.ensure_future(rig.attempt(remove_bridge=True))
    while not any(order[0] == "delete" for order in rig.profiles.done):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert [order[0] for order in rig.profiles.done][-6:] == ["delete"] * 5 + ["connect"]


async def test_the_record_of_br_ex_outlives_a_br_ex1_that_no_file_asks_for_any_more() -> None:
    """Its static lease would be forgotten, and the profile that its uplink gets back one day (R28)."""
    rig = Rig("stale-extra-bridge-not-wanted", server=None)
    kept = KeptProfile("u-1", "as it was", "", in_memory=True, settings={})
    finish: ProfileSettings = {"br-ex": {"ipv4": {"address-data": []}}, "br-ex1": {"ipv4": {"address-data": []}}}
    uplinks = {"br-ex": "eth0", "br-ex1": "eth1"}
    record = BridgeRecord(uplinks, originals={"eth0": kept, "eth1": kept}, finish=finish, leases={"br-ex": LEASE})
    rig.files.content[str(BRIDGE)] = bridge_record.render(record)
    facts = facts_of(CASES / rig.case)
    assert await rig.remover.remove(rig.nmstate, facts, record, ("br-ex1",)) == ("br-ex1",)
    assert (list(rig.record.finish or ()), list(rig.record.originals)) == (["br-ex"], ["eth0"])
    assert rig.record.leases == {"br-ex": LEASE}


async def test_nothing_is_removed_while_open_vswitch_does_not_work() -> None:
    """It would not let the uplink go, and without its database the uplink is not known: the node had no network."""
    cause, remedy = "Open vSwitch's database cannot be reached", "Look at `systemctl status ovsdb-server`"
    ours, old = await bridge_of_ours(), Rig("standing-old-script")
    old.place("br-ex")
    await old.attempt()
    for rig in (ours, old):
        rig.ovsdb.up, rig.ovsdb.dead = False, Unavailable(cause, remedy=remedy)
        before = list(rig.profiles.done)
        waiting = await rig.attempt(remove_bridge=True)
        assert isinstance(waiting, Waiting)
        assert waiting.reason == f"br-ex cannot be removed without Open vSwitch: {cause}"
        rig.clock.now += PATIENCE_SECONDS
        failed = await rig.attempt(remove_bridge=True)
        assert isinstance(failed, Failed)
        assert (failed.problem.cause, failed.problem.remedy) == (waiting.reason, remedy)
        assert rig.profiles.done == before
        assert FLAG in rig.files.content
    assert ours.nmstate.applied == []


async def test_there_may_be_nothing_to_remove() -> None:
    """The order is answered once the stages are over: br-ex must not be made by a later attempt before that."""
    rig = Rig()
    outcome = await rig.attempt(remove_bridge=True)
    assert isinstance(outcome, Skipped)
    assert outcome.reason == "there is no br-ex to remove"
    again = Rig(files=rig.files)
    assert isinstance(await again.attempt(), Skipped)
    assert isinstance(await again.attempt(by_name=True), Done)


async def test_rows_of_a_failed_apply_are_not_taken_for_none_while_nobody_can_read_them() -> None:
    """The database went away before the rollback: the removal was answered, and br-ex was there when it came back."""
    rig = Rig()
    rig.nmstate.fails.append(NmstateFailure(FailureKind.VERIFICATION, "libnmstate failed"))
    assert isinstance(await rig.attempt(), Failed)
    rig.ovsdb.up = False
    waiting = await rig.attempt(remove_bridge=True)
    assert isinstance(waiting, Waiting)
    assert waiting.reason == "br-ex cannot be removed without Open vSwitch: Open vSwitch's database cannot be reached"
    rig.ovsdb.up = True
    assert isinstance(await rig.attempt(remove_bridge=True), Skipped)


async def test_a_keyfile_that_cannot_be_written_does_not_undo_the_removal() -> None:
    """The profile has its settings; what could not be written is logged with the remedy."""
    made = await bridge_of_ours()
    file = PurePosixPath("/etc/NetworkManager/system-connections/eth0.nmconnection")
    (link, kept), *_ = made.record.originals.items()
    kept = replace(kept, path=str(file), in_memory=False, keyfile="# rack 7\n")
    made.files.content[str(BRIDGE)] = bridge_record.render(replace(made.record, originals={link: kept}))
    made.files.bad[str(file)] = PublishFailed(f"{file} cannot be written: Read-only file system", remedy="Remount it")
    with capture_logs() as logs:
        outcome = await made.attempt(remove_bridge=True)
    assert isinstance(outcome, Skipped)
    assert outcome.reason == "br-ex removed as requested"
    (logged,) = [entry for entry in logs if entry.get("remedy") == "Remount it"]
    assert logged["event"] == (
        f"{file} cannot be written: Read-only file system; NetworkManager has its settings, but not its comments"
    )


async def test_the_link_that_took_the_place_gets_its_profile_and_the_first_one_does_not() -> None:
    """Also where nodenetd ended before the record named the new link: two links with one address would follow."""
    rig = Rig("standing-ours-taken-over", nmstate=FakeNmstate())
    kept = {link: KeptProfile(f"u-{link}", link, "", in_memory=True, settings={}) for link in ("eth0", "eth1")}
    for record, back in (
        (BridgeRecord({"br-ex": "eth1"}, originals={"eth1": kept["eth1"]}), [kept["eth1"]]),
        (BridgeRecord({"br-ex": "eth0"}, originals={"eth0": kept["eth0"]}), []),
    ):
        rig.files.content[str(BRIDGE)] = bridge_record.render(record)
        rig.place("br-ex")
        rig.nmstate.during_apply = lambda: rig.place("eth1")
        rig.profiles.done.clear()
        assert isinstance(await rig.attempt(remove_bridge=True), Skipped)
        assert [order[1] for order in rig.profiles.done if order[0] == "give_back"] == back
