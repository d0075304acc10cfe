"""Are addresses that move within a host in use at once, and is everything checked again afterwards?"""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from br_ex_rig import Rig
from fakes import FakeDnsManager, FakeFiles, FakeNmstate, FakeSysctls
from nodenet.core.boot.outcome import Again, Done
from nodenet.core.errors import PublishFailed
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.stages.br_ex.duplicate_checks import NO_PROBE, PROBE_OWED, DuplicateChecks
from nodenet.stages.br_ex.later_looks import CAUSES, MAX_LOOK_SECONDS

PROBE_OFF = (
    "# Written by nodenet while it moves addresses between these links; it removes the file afterwards.\n"
    "[connection-nodenet-no-probe]\n"
    "match-device=interface-name:br-ex,interface-name:eth0\n"
    "ipv4.dad-timeout=0\n"
)
FULL = PublishFailed("No space left on device", remedy="Free space")


async def test_duplicate_address_detection_is_off_only_while_addresses_move() -> None:
    """They are on this host; everything is as usual afterwards."""
    usual = {"net/ipv6/conf/accept_dad": "1"}
    rig = Rig("dual-stack-dhcp-and-ra", sysctls=FakeSysctls({"default": dict(usual), "br-ex": dict(usual)}))
    seen: list[str | None] = []
    rig.nmstate.during_apply = lambda: seen.append(rig.sysctls.read("default", *usual))
    await rig.attempt()
    assert seen[0] == "0"
    assert rig.sysctls.values["default"] == rig.sysctls.values["br-ex"] == usual


async def test_duplicate_address_detection_comes_back_after_a_kill_in_the_middle() -> None:
    """What else appears on the node, a pod's link for one, must check its addresses."""
    usual = {"net/ipv6/conf/accept_dad": "1"}
    rig = Rig("dual-stack-dhcp-and-ra", sysctls=FakeSysctls({"default": dict(usual)}))
    left: dict[str, bytes] = {}
    rig.nmstate.during_apply = lambda: left.update(rig.files.content)
    await rig.attempt()
    killed = Rig("standing-ours", files=rig.files, sysctls=FakeSysctls({"default": dict.fromkeys(usual, "0")}))
    killed.files.content.update(left)
    await killed.attempt()
    assert killed.sysctls.values["default"] == usual
    await killed.attempt()
    assert killed.sysctls.writes.count(("default", usual)) == 1


async def test_network_manager_probes_for_conflicts_only_when_no_address_moves() -> None:
    """The probe takes longer than everything else in the silence of a static link (R68)."""
    rig = Rig()
    seen: list[tuple[Any, int]] = []

    def look() -> None:
        seen.append((rig.files.content.get(str(NO_PROBE)), rig.dns.read))
        rig.place("br-ex")

    rig.nmstate.during_apply = look
    await rig.attempt()
    assert seen[0] == (PROBE_OFF.encode(), 1)
    assert (str(NO_PROBE) in rig.files.content, rig.dns.read) == (False, 2)


async def test_the_probe_comes_back_after_a_failed_apply() -> None:
    """A rollback moves the addresses as well; what is configured later is probed for."""
    rig = Rig()
    rig.nmstate.fails.append(NmstateFailure(FailureKind.VERIFICATION, "eth0 differs"))
    await rig.attempt()
    assert (str(NO_PROBE) in rig.files.content, rig.dns.read) == (False, 2)


async def test_the_probe_comes_back_after_a_kill_in_the_middle() -> None:
    """Once: the second attempt of the restarted daemon finds nothing to do."""
    killed = Rig("standing-ours", nmstate=FakeNmstate())
    killed.files.content[str(NO_PROBE)] = PROBE_OFF.encode()
    await killed.attempt()
    await killed.attempt()
    assert (str(NO_PROBE) in killed.files.content, killed.dns.read) == (False, 1)


async def test_a_network_manager_that_does_not_answer_is_asked_again() -> None:
    """Its configuration would stay without the probe until it is started again."""
    files, manager = FakeFiles(), FakeDnsManager()
    async with DuplicateChecks(files, FakeSysctls(), manager).without_probe(["eth0"]):
        manager.busy = "no answer within 5 s"
    restarted = DuplicateChecks(files, FakeSysctls(), manager)  # or a reload, which builds the stages anew
    await restarted.restore(())
    manager.busy = None
    await restarted.restore(())
    await restarted.restore(())
    assert manager.read == 4


async def test_a_bridge_is_looked_at_again_soon_while_network_manager_has_not_answered() -> None:
    """Until then it gives addresses without its probe."""
    rig = Rig()

    def fall_silent() -> None:
        rig.place("br-ex")
        rig.dns.busy = "no answer within 5 s"

    rig.nmstate.during_apply = fall_silent
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.again == Again(CAUSES, MAX_LOOK_SECONDS)
    rig.dns.busy = None
    outcome = await rig.attempt()
    assert isinstance(outcome, Done)
    assert outcome.again != Again(CAUSES, MAX_LOOK_SECONDS)
    assert str(PROBE_OWED) not in rig.files.content


async def test_a_kill_between_the_file_and_the_answer_is_made_up_for() -> None:
    """The file is gone, and NetworkManager has not read that."""

    class Killed(FakeDnsManager):
        async def read_configuration(self) -> str | None:
            if await super().read_configuration() is None and self.read == 2:
                raise asyncio.CancelledError
            return None

    files, manager = FakeFiles(), Killed()
    with pytest.raises(asyncio.CancelledError):
        async with DuplicateChecks(files, FakeSysctls(), manager).without_probe(["eth0"]):
            pass
    assert (str(NO_PROBE) in files.content, manager.read) == (False, 2)
    restarted = DuplicateChecks(files, FakeSysctls(), manager)
    await restarted.restore(())
    await restarted.restore(())
    assert (files.content, manager.read) == ({}, 3)


async def test_a_stop_before_the_move_leaves_no_file() -> None:
    """Nothing else would switch the probe on again until nodenetd is started."""

    class Stopped(FakeDnsManager):
        async def read_configuration(self) -> str | None:
            if await super().read_configuration() is None and self.read == 1:
                raise asyncio.CancelledError
            return None

    files, manager = FakeFiles(), Stopped()
    checks = DuplicateChecks(files, FakeSysctls(), manager)
    with pytest.raises(asyncio.CancelledError):
        async with checks.without_probe(["eth0"]):
            pass
    assert (str(NO_PROBE) in files.content, manager.read) == (False, 2)


async def test_a_file_that_cannot_be_written_costs_time_and_nothing_else() -> None:
    """The bridge is made with the probe."""
    rig = Rig(files=FakeFiles(bad={str(NO_PROBE): FULL}))
    checks = DuplicateChecks(rig.files, rig.sysctls, rig.dns)
    entered = False
    async with checks.without_probe(["eth0"]):
        entered = True
    assert (entered, rig.dns.read, rig.files.content) == (True, 0, {})


async def test_a_file_that_cannot_be_removed_is_removed_later() -> None:
    """An apply that succeeded stays a success."""
    rig = Rig()

    def fill() -> None:
        rig.place("br-ex")
        rig.files.bad[str(NO_PROBE)] = FULL

    rig.nmstate.during_apply = fill
    assert isinstance(await rig.attempt(), Done)
    rig.files.bad.clear()
    await rig.attempt()
    assert str(NO_PROBE) not in rig.files.content


async def test_a_name_that_means_something_in_a_list_of_devices_is_left_out() -> None:
    """`~` and `=` begin patterns, `,` and `;` separate; the kernel takes them all in a name."""
    files, manager = FakeFiles(), FakeDnsManager()
    checks = DuplicateChecks(files, FakeSysctls(), manager)
    async with checks.without_probe(["~eth", "eth0,eth1", "a;b", "br-ex"]):
        assert b"\nmatch-device=interface-name:br-ex\n" in files.content[str(NO_PROBE)]
    async with checks.without_probe(["=x"]):
        assert str(NO_PROBE) not in files.content
