"""Is a change of the network finished though nodenetd stops?"""

from __future__ import annotations

import asyncio

import pytest
from structlog.testing import capture_logs

from nodenet.core.errors import Unavailable
from nodenet.stages.apply.changes import shielded


async def work(done: list[str], error: Exception | None = None) -> str:
    """Take a few turns of the loop."""
    for _ in range(5):
        await asyncio.sleep(0)
    if error:
        raise error
    done.append("whole")
    return "result"


@pytest.mark.parametrize("stops", [0, 1, 2])
async def test_work_is_finished_before_the_stop(stops: int) -> None:
    """However often the caller is cancelled (R5)."""
    done: list[str] = []
    task = asyncio.ensure_future(shielded(work(done)))
    for _ in range(stops):
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
    if stops:
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        assert await task == "result"
    assert done == ["whole"]


@pytest.mark.parametrize("stopped", [False, True])
async def test_an_error_is_raised_or_logged(*, stopped: bool) -> None:
    """After a stop there is no caller who would report it."""
    error = Unavailable("NetworkManager is not on the bus")
    task = asyncio.ensure_future(shielded(work([], error), "Restoring the network"))
    await asyncio.sleep(0)
    if stopped:
        task.cancel()
    with capture_logs() as logs, pytest.raises(asyncio.CancelledError if stopped else Unavailable):
        await task
    expected = ["Restoring the network met an error: NetworkManager is not on the bus"]
    assert [entry["event"] for entry in logs] == (expected if stopped else [])
