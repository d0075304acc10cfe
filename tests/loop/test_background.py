"""Which tasks run beside the loop and wake it? A supervised task that raises is started again with a back-off."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from pathlib import PurePosixPath

import structlog

from fakes import FakeFiles
from nodenet.core.boot.outcome import Problem
from nodenet.core.boot.stages import new_boot
from nodenet.core.errors import PublishFailed
from nodenet.core.messages import Message
from nodenet.core.network_manager.profiles import KEYFILES
from nodenet.core.status.document import BootStatus
from nodenet.edge.files.store import Store
from nodenet.loop.background import AGAIN_SECONDS, Background, Events, StoreWatch


async def test_a_task_that_raises_is_started_again_with_a_back_off() -> None:
    """Each error is logged with its count; what was missed meanwhile is said."""
    starts: list[float] = []
    missed: list[float] = []
    time = asyncio.get_running_loop().time

    async def work() -> None:
        starts.append(time())
        await asyncio.sleep(0.5)
        raise ConnectionResetError("the bus closed")

    background = Background()
    with structlog.testing.capture_logs() as lines:
        background.start("the watch", work, lambda: missed.append(time()))
        await asyncio.sleep(20)
        await background.end()
    pauses = [round(later - before - 0.5) for before, later in itertools.pairwise(starts)]
    assert pauses == [1, 2, 4, 8]
    assert missed == starts[1:]
    assert lines[0]["event"] == "the watch failed: ConnectionResetError('the bus closed'); restart 1 in 1 s"
    assert {line["message"] for line in lines} == {Message.WATCHER_FAILED}


async def test_a_task_that_ends_or_is_cancelled_is_over() -> None:
    """Without a word."""
    background, done = Background(), asyncio.Event()

    async def work() -> None:
        done.set()

    with structlog.testing.capture_logs() as lines:
        task = background.start("work", work)
        await asyncio.wait({task})
        endless = background.start("endless", asyncio.Event().wait)  # type: ignore[arg-type]
        await asyncio.sleep(1)
        await background.end()
    assert done.is_set()
    assert endless.cancelled()
    assert lines == []


async def test_events_are_taken_between_start_and_stop_only() -> None:
    """Twice started is once; a watcher that comes back says that something may have changed."""
    heard: list[str] = []
    running = 0

    async def watch(changed: Callable[[], None]) -> None:
        nonlocal running
        running += 1
        try:
            await asyncio.sleep(10)
            changed()
            raise OSError("ENOBUFS")
        finally:
            running -= 1

    events = Events(Background(), "the kernel", watch, lambda: heard.append("changed"))
    events.start()
    events.start()
    await asyncio.sleep(5)
    assert running == 1
    await asyncio.sleep(7)
    assert heard == ["changed", "changed"]
    events.stop()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert running == 0


FULL = PublishFailed("/var/lib/nodenet cannot be written: No space left on device", remedy="Free space")


def test_a_disk_that_refuses_is_one_problem_until_it_has_taken_all() -> None:
    files, reported = FakeFiles(broken=FULL), list[Problem | None]()
    store = Store(files, KEYFILES)
    watch, status = StoreWatch(store, reported.append), BootStatus(new_boot({}, degrade=True))
    assert (watch.show(status), reported) == (None, [])
    for name in ("intent.json", "change.json"):
        store.save(PurePosixPath("/var/lib/nodenet") / name, b"{}")
        assert watch.show(status) == AGAIN_SECONDS
    cause = f"{FULL.cause}; what nodenet did is remembered until a reboot only"
    assert reported == [Problem(FULL.message, cause, "Free space")]
    files.broken = None
    assert watch.show(status) is None
    assert reported[1:] == [None]
    assert files.content.keys() == {"/var/lib/nodenet/intent.json", "/var/lib/nodenet/change.json"}
