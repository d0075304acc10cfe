"""Which requests came to the loop from outside, and how are the callers answered?"""

from __future__ import annotations

import asyncio

import pytest

from fakes import FakePulse
from nodenet.core.boot.outcome import Topic
from nodenet.core.boot.stage_state import EDIT, RELOAD, TRIAL
from nodenet.core.errors import Busy, Unavailable
from nodenet.core.since import until_common
from nodenet.core.stage_name import StageName
from nodenet.loop.requests import STOP_SECONDS, Order, Requests, WatchdogLoop
from virtual_time import VirtualClock


async def test_two_callers_of_one_order_get_one_answer() -> None:
    requests = Requests()
    callers = [asyncio.ensure_future(requests.ask(Order.RELOAD, "caller")) for _ in range(2)]
    await asyncio.sleep(0)
    assert requests.pending
    assert requests.take(Order.RELOAD, answer_by=10.0) is not None
    assert not requests.pending
    assert requests.take(Order.RELOAD, answer_by=10.0) is None
    requests.answer(Order.RELOAD, None)
    assert await asyncio.gather(*callers) == [None, None]


@pytest.mark.parametrize("given", [(EDIT, RELOAD), (RELOAD, EDIT), (EDIT, TRIAL)])
def test_an_edit_at_the_same_time_hides_no_order(given: tuple[str, str]) -> None:
    """Under kubelet an edit is no order, and the reload or the confirmed trial is."""
    requests = Requests()
    for who in given:
        requests.note(Order.RELOAD, who)
    taken = requests.take(Order.RELOAD, answer_by=10.0)
    assert taken is not None
    assert taken.who != EDIT


async def test_a_later_order_is_not_answered_with_the_earlier_one() -> None:
    requests = Requests()
    first = asyncio.ensure_future(requests.ask(Order.RELOAD, "caller"))
    await asyncio.sleep(0)
    taken = requests.take(Order.RELOAD, answer_by=10.0)
    second = asyncio.ensure_future(requests.ask(Order.RELOAD, "caller"))
    await asyncio.sleep(0)
    requests.take(Order.RELOAD, answer_by=20.0)
    requests.answer(Order.RELOAD, None, only=taken)
    await first
    assert not second.done()
    requests.answer(Order.RELOAD, Busy("later"))
    with pytest.raises(Busy):
        await second


async def test_who_has_waited_long_enough_is_answered() -> None:
    requests = Requests()
    caller = asyncio.ensure_future(requests.ask(Order.RESELECT, "caller"))
    await asyncio.sleep(0)
    requests.take(Order.RESELECT, answer_by=10.0)
    requests.answer_late(10.0, Busy("waits"))
    assert not caller.done()
    requests.answer_late(10.1, Busy("waits"))
    with pytest.raises(Busy):
        await caller


async def test_at_the_end_everybody_is_answered_and_who_has_gone_is_no_error() -> None:
    requests = Requests()
    callers = [asyncio.ensure_future(requests.ask(order, "caller")) for order in Order]
    await asyncio.sleep(0)
    callers[0].cancel()
    await asyncio.sleep(0)
    requests.answer_all(Busy("nodenetd ends"))
    found = await asyncio.gather(*callers, return_exceptions=True)
    assert [type(each) for each in found] == [asyncio.CancelledError, Busy, Busy]


def made() -> tuple[WatchdogLoop, Requests, FakePulse]:
    requests, pulse = Requests(), FakePulse()
    return WatchdogLoop(requests, pulse, VirtualClock(), lambda: True), requests, pulse


async def slow(seconds: float) -> str:
    await asyncio.sleep(seconds)
    return "done"


async def test_work_has_its_result() -> None:
    loop, _, _ = made()
    assert await loop.beat_during(slow(100.0)) == "done"


async def test_something_is_looked_at_with_each_beat_during_the_work() -> None:
    loop, _, pulse = made()
    looks: list[int] = []
    await loop.beat_during(slow(100.0), each=lambda: looks.append(len(pulse.beats)))
    assert looks == list(range(1, len(pulse.beats) + 1))
    assert looks


async def test_a_stop_cancels_the_work() -> None:
    loop, requests, _ = made()
    task = asyncio.ensure_future(loop.beat_during(slow(1000.0)))
    await asyncio.sleep(1.0)
    requests.stop = True
    requests.wakened.set()
    assert await task is None


async def test_a_stop_waits_for_a_rollback_and_extends_the_stop_timeout() -> None:
    """The rollback of an apply may take longer than TimeoutStopSec=; what hangs in it is left to systemd."""
    loop, requests, pulse = made()

    async def rolled_back(seconds: float) -> str:
        try:
            return await slow(1000.0)
        finally:
            await asyncio.sleep(seconds)

    for seconds, extended in ((90.0, 90.0), (500.0, STOP_SECONDS)):
        requests.stop = False
        task = asyncio.ensure_future(loop.beat_during(rolled_back(seconds)))
        await asyncio.sleep(1.0)
        pulse.beats.clear()
        requests.stop = True
        requests.wakened.set()
        began = VirtualClock().boottime()
        assert await task is None
        assert VirtualClock().boottime() - began == pytest.approx(seconds, abs=0.1)
        assert set(pulse.beats) == {True}
        assert len(pulse.beats) == pytest.approx(extended / pulse.seconds, abs=3)


async def test_work_that_cancels_itself_is_an_error_and_not_the_end_of_the_loop() -> None:
    """R23."""
    loop, _, _ = made()

    async def cancelled() -> None:
        raise asyncio.CancelledError

    with pytest.raises(Unavailable, match="cancelled from within"):
        await loop.beat_during(cancelled())


async def test_a_sleep_ends_with_its_time_an_event_or_a_request() -> None:
    loop, requests, _ = made()
    clock = VirtualClock()
    began = clock.boottime()
    await loop.sleep(frozenset({Topic.KERNEL}), 30.0)
    assert clock.boottime() - began == pytest.approx(30.0, abs=0.1)
    for order in (False, True):
        task = asyncio.ensure_future(loop.sleep(frozenset({Topic.KERNEL}), 3000.0))
        await asyncio.sleep(1.0)
        if order:
            requests.reruns.setdefault(StageName.NMSTATE, "test")
        else:
            requests.topics[Topic.KERNEL] = clock.boottime()
        requests.wakened.set()
        await asyncio.wait_for(task, 5.0)
        requests.topics.clear()


async def test_a_sleep_that_has_ended_wakes_nothing_later() -> None:
    loop, requests, _ = made()
    task = asyncio.ensure_future(loop.sleep(frozenset(), 5.0))
    await asyncio.sleep(1.0)
    requests.reruns.setdefault(StageName.NMSTATE, "test")
    requests.wakened.set()
    await asyncio.wait_for(task, 1.0)
    requests.wakened.clear()
    await asyncio.sleep(60.0)
    assert not requests.wakened.is_set()


async def test_an_event_of_another_topic_does_not_end_a_sleep() -> None:
    loop, requests, _ = made()
    task = asyncio.ensure_future(loop.sleep(frozenset({Topic.KERNEL}), 3000.0))
    await asyncio.sleep(1.0)
    requests.topics[Topic.OVS] = 1.0
    requests.wakened.set()
    await asyncio.sleep(1.0)
    assert not task.done()
    task.cancel()


async def test_beats_of_a_quiet_loop_meet_the_timers_of_a_minute() -> None:
    """The daemon wakes once for all of them, whenever it fell asleep."""
    loop, _, pulse = made()
    pulse.seconds = 15.0
    await asyncio.sleep(7.0)
    began = VirtualClock().boottime()
    task = asyncio.ensure_future(loop.sleep(frozenset(), 1000.0))
    await asyncio.sleep(until_common(began, 60.0) - 0.1)
    before = len(pulse.beats)
    await asyncio.sleep(0.2)
    assert len(pulse.beats) == before + 1
    task.cancel()
