"""Need a node file wait for the end of NetworkManager's start?"""

from __future__ import annotations

from fakes import FakeClock, FakeManager, FakeProfiles
from nodenet.core.apply.early import GRACE_SECONDS, START_SECONDS
from nodenet.core.errors import Unavailable
from nodenet.core.network_manager.availability import ManagerState
from nodenet.core.network_manager.objects import Inventory
from nodenet.core.node_file.links import Links
from nodenet.stages.nmstate.early import EarlyStart

NIC = Links(frozenset({"eth0"}))


def started() -> tuple[EarlyStart, FakeManager, FakeProfiles, FakeClock]:
    """Return one whose NetworkManager is starting, and has decided what eth0 is."""
    manager, clock = FakeManager(ManagerState.STARTING), FakeClock()
    profiles = FakeProfiles(Inventory(settled=frozenset({"eth0"})))
    return EarlyStart(manager, profiles, clock), manager, profiles, clock


async def test_a_start_of_the_usual_length_is_waited_for() -> None:
    """And NetworkManager is not asked for its devices."""
    early, _, profiles, clock = started()
    profiles.broken = AssertionError  # type: ignore[assignment]
    assert not await early.allows("d", NIC)
    clock.now += GRACE_SECONDS / 2
    assert not await early.allows("d", NIC)
    assert early.pause(9.0) == GRACE_SECONDS / 2


async def test_a_long_start_is_not_waited_for_where_the_links_are_decided() -> None:
    """A file that failed meanwhile waits for its end all the same."""
    early, _, profiles, clock = started()
    await early.allows("d", NIC)
    clock.now += GRACE_SECONDS
    assert await early.allows("d", NIC)
    assert not await early.allows("d", Links(frozenset({"eth1"})))
    assert early.failed("d")
    assert not early.failed("d"), "it is logged once"
    assert not await early.allows("d", NIC)
    assert await early.allows("another", NIC)
    profiles.broken = Unavailable("NetworkManager is not on the bus")
    assert not await early.allows("another", NIC)


async def test_a_file_that_is_applied_is_compared_whatever_its_links_wait_for() -> None:
    """After three seconds too; NetworkManager is not asked for its devices."""
    early, manager, profiles, clock = started()
    profiles.broken = AssertionError  # type: ignore[assignment]
    assert not await early.allows("d", Links(frozenset({"eth1"})), applied=True)
    clock.now += GRACE_SECONDS
    assert await early.allows("d", Links(frozenset({"eth1"})), applied=True)
    manager.status = ManagerState.READY
    assert not await early.allows("d", NIC, applied=True)


async def test_after_the_start_nothing_is_early() -> None:
    """The usual pause is kept, and another start has its own three seconds."""
    early, manager, _, clock = started()
    await early.allows("d", NIC)
    clock.now += GRACE_SECONDS
    manager.status = ManagerState.READY
    assert not await early.allows("d", NIC)
    assert early.pause(9.0) == 9.0
    manager.status = ManagerState.STARTING
    assert not await early.allows("d", NIC)


async def test_a_start_that_may_never_end_is_not_waited_for() -> None:
    """A DHCP client on a bridge whose uplink is gone keeps NetworkManager starting, and kubelet waiting."""
    early, manager, _, clock = started()
    await early.allows("d", Links(frozenset({"gone0"})))
    assert not early.is_endless
    clock.now += START_SECONDS
    assert not await early.allows("d", Links(frozenset({"gone0"})))
    assert early.is_endless
    assert not await early.allows("d", NIC, applied=True), "it is refused or applied, as after a start"
    manager.status = ManagerState.READY
    await early.allows("d", NIC)
    assert not early.is_endless
