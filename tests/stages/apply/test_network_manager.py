"""NetworkManager's presence: asked of systemd where it is absent, started where systemd has given it up."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fakes import FakeClock, FakeManager, FakeSystemd
from nodenet.core.network_manager.state import PAUSES, ManagerState, Service
from nodenet.stages.apply.network_manager import START_SECONDS, NetworkManagerStarter

FAILED = Service(active_state="failed", result="start-limit-hit")


def presence(
    stands: Service | None, state: ManagerState = ManagerState.ABSENT
) -> tuple[NetworkManagerStarter, FakeSystemd, FakeClock]:
    systemd, clock = FakeSystemd(stands=stands), FakeClock()
    return NetworkManagerStarter(FakeManager(state), systemd, clock), systemd, clock


@pytest.mark.parametrize("state", [state for state in ManagerState if state is not ManagerState.ABSENT])
async def test_on_the_bus_or_without_one_systemd_is_not_asked(state: ManagerState) -> None:
    """Its unit may say what it likes."""
    made, systemd, clock = presence(FAILED, state)
    for _ in range(3):
        clock.now += 1000
        assert await made.look() == (state, state.value)
    assert systemd.started == 0


async def test_a_start_that_lasts_too_long_may_be_without_end() -> None:
    """All stages know since when: one after the other, each with a time of its own, would keep a node dark for long."""
    manager, clock = FakeManager(ManagerState.STARTING), FakeClock()
    made = NetworkManagerStarter(manager, FakeSystemd(), clock)
    for seconds, endless in ((0.0, False), (START_SECONDS - 1.0, False), (1.0, True)):
        clock.now += seconds
        await made.look()
        assert made.starts_endlessly is endless
    for state in (ManagerState.READY, ManagerState.STARTING):  # another start is another
        manager.status = state
        await made.look()
        assert not made.starts_endlessly


async def test_what_systemd_has_given_up_is_started_a_few_times() -> None:
    """Each time only after it has been given up for a while; then the way out is told."""
    made, systemd, clock = presence(FAILED)
    for number, pause in enumerate(PAUSES):
        await made.look()
        clock.now += pause - 0.1
        assert (await made.look())[1].endswith("nodenetd starts it again")
        assert systemd.started == number
        clock.now += 0.2
        await made.look()
        assert systemd.started == number + 1
    for _ in range(5):
        clock.now += 1000
        assert "reset-failed" in (await made.look())[1]
    assert systemd.started == len(PAUSES)


LEFT_ALONE = [None, Service(), Service("masked"), Service("masked", "failed"), replace(FAILED, result="signal")]


@pytest.mark.parametrize("stands", LEFT_ALONE)
async def test_what_somebody_stopped_or_masked_is_left_alone(stands: Service | None) -> None:
    """Nodenetd does not fight an administrator."""
    made, systemd, clock = presence(stands)
    for _ in range(5):
        await made.look()
        clock.now += 1000
    assert systemd.started == 0


async def test_a_failure_between_systemd_s_own_starts_does_not_count() -> None:
    """The time runs anew with each failure."""
    made, systemd, clock = presence(FAILED)
    for stands in (FAILED, replace(FAILED, active_state="activating")) * 3:
        systemd.stands = stands
        await made.look()
        clock.now += PAUSES[0] - 1
    assert systemd.started == 0


async def test_it_may_come_between_the_two_questions() -> None:
    """Then it has not lost the bus."""

    class Coming(FakeManager):
        async def state(self) -> ManagerState:
            now, self.status = self.status, ManagerState.STARTING
            return now

    made = NetworkManagerStarter(
        Coming(ManagerState.ABSENT), FakeSystemd(stands=Service(active_state="active")), FakeClock()
    )
    assert (await made.look())[0] is ManagerState.STARTING
