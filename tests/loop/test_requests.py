"""Orders from outside: everybody who gave one is answered, once (R21)."""

from __future__ import annotations

import asyncio

import pytest

from nodenet.core.errors import Busy
from nodenet.loop.requests import Order, Requests


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
