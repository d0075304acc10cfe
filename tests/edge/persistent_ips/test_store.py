"""The store against a real disk: durable, in order, alone, and set aside when it cannot be read."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from nodenet.core.errors import AlreadyRunning, PublishFailed
from nodenet.edge.persistent_ips import store as module
from nodenet.edge.persistent_ips.store import Store


def rows(path: Path) -> list[tuple[str, str, str]]:
    found = Store(path)
    try:
        return sorted(found.load())
    finally:
        found.close()


def test_what_was_written_is_there_again(tmp_path: Path) -> None:
    path = tmp_path / "state" / "ipam.sqlite"

    async def write() -> None:
        store = Store(path)
        assert store.fresh
        await store.save([("a", "1", "x"), ("a", "2", "y")])
        await store.save([("a", "1", None), ("a", "2", "z")])
        store.close()

    asyncio.run(write())
    assert rows(path) == [("a", "2", "z")]
    assert path.stat().st_mode & 0o777 == 0o600
    again = Store(path)
    assert not again.fresh
    again.close()


def test_writes_are_in_the_order_of_the_calls(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sqlite"

    async def write() -> None:
        store = Store(path)
        late = [store.save([("a", "1", str(number))]) for number in range(100)]
        await late[-1]
        await asyncio.gather(*late)
        store.close()

    asyncio.run(write())
    assert rows(path) == [("a", "1", "99")]


def test_what_nothing_waited_for_is_written_before_the_end(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sqlite"

    async def write() -> None:
        store = Store(path)
        store.save([("a", "1", "x")])
        store.close()

    asyncio.run(write())
    assert rows(path) == [("a", "1", "x")]


def commits(store: Store) -> list[str]:
    """Return the list that gets every COMMIT of a store."""
    found: list[str] = []
    store._connection.set_trace_callback(lambda text: found.append(text) if text == "COMMIT" else None)
    return found


def test_what_may_come_later_goes_with_the_next_write_and_in_its_order(tmp_path: Path) -> None:
    async def write() -> None:
        store = Store(tmp_path / "ipam.sqlite")
        made = commits(store)
        late = [store.save([("a", "1", str(number))], later=True) for number in range(3)]
        assert len(store._later) == 3  # the thread has not got them yet
        await store.save([("a", "2", "x")])
        await asyncio.gather(*late)
        assert made == ["COMMIT"]
        store.close()

    asyncio.run(write())
    assert rows(tmp_path / "ipam.sqlite") == [("a", "1", "2"), ("a", "2", "x")]


def test_what_may_come_later_comes_without_another_write_too(tmp_path: Path) -> None:
    async def write() -> None:
        store = Store(tmp_path / "ipam.sqlite")
        await store.save([("a", "1", "x")], later=True)
        store.save([("a", "2", "y")], later=True)
        store.close()

    asyncio.run(write())
    assert rows(tmp_path / "ipam.sqlite") == [("a", "1", "x"), ("a", "2", "y")]


def test_a_second_service_is_kept_out(tmp_path: Path) -> None:
    first = Store(tmp_path / "ipam.sqlite")
    program = (
        "import sys\nfrom pathlib import Path\nfrom nodenet.edge.persistent_ips import store\n"
        "store.LOCK_SECONDS = 0.1\nstore.Store(Path(sys.argv[1]))"
    )
    ended = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path / "ipam.sqlite")],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[3])},
        check=False,
    )
    first.close()
    assert ended.returncode != 0
    assert f"AlreadyRunning: Another service has the store {tmp_path / 'ipam.sqlite'}" in ended.stderr


@pytest.mark.parametrize("content", [b"not a database" * 100, b"SQLite format 3\0" + b"\xff" * 5000])
def test_an_unreadable_store_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "ipam.sqlite"
    path.write_bytes(content)
    store = Store(path)
    assert (store.fresh, store.load()) == (True, [])
    assert store.set_aside is not None
    assert store.set_aside.read_bytes() == content
    store.close()


def test_a_store_of_a_later_release_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version=9")
        connection.commit()
    store = Store(path)
    assert store.fresh
    store.close()


def test_a_full_disk_is_an_error_and_writes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sqlite"

    async def write() -> None:
        store = Store(path)
        await store.save([("a", "1", "x")])
        pages = store._connection.execute("PRAGMA page_count").fetchone()[0]
        store._connection.execute(f"PRAGMA max_page_count={pages}")
        with pytest.raises(PublishFailed, match=r"cannot be used: database or disk is full\. Look at `df -h`"):
            await store.save([("a", "2", "y" * 100_000)])
        store._connection.execute("PRAGMA max_page_count=100000")
        await store.save([("a", "3", "z")])
        store.close()

    asyncio.run(write())
    assert rows(path) == [("a", "1", "x"), ("a", "3", "z")]


def test_a_store_is_opened_without_a_write(tmp_path: Path) -> None:
    """The disk may be full: the service starts all the same, and answers what it has answered before."""
    path = tmp_path / "ipam.sqlite"
    store = Store(path)
    asyncio.run(_saved(store, ("a", "1", "x")))
    store.close()
    before = path.read_bytes()
    store = Store(path)
    log = Path(f"{path}-wal")
    assert (path.read_bytes(), log.exists() and log.stat().st_size) == (before, 0)
    assert store.load() == [("a", "1", "x")]
    store.close()


async def _saved(store: Store, change: tuple[str, str, str]) -> None:
    await store.save([change])


def test_a_directory_in_the_place_of_the_store_is_set_aside(tmp_path: Path) -> None:
    (tmp_path / "ipam.sqlite").mkdir()
    store = Store(tmp_path / "ipam.sqlite")
    assert store.fresh
    assert store.set_aside is not None
    assert store.set_aside.is_dir()
    store.close()


def test_a_place_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PublishFailed, match=r"cannot be used: (Not a directory|File exists)"):
        Store(tmp_path / "file" / "ipam.sqlite")


KILLED = """
import asyncio, os, signal, sys
from pathlib import Path
from nodenet.edge.persistent_ips.store import Store

async def main():
    store = Store(Path(sys.argv[1]))
    await store.save([("a", "1", "x")])
    os.kill(os.getpid(), signal.SIGKILL)

asyncio.run(main())
"""


def test_what_was_awaited_is_there_after_sigkill(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sqlite"
    environment = {**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[3])}
    ended = subprocess.run([sys.executable, "-c", KILLED, str(path)], env=environment, check=False)
    assert ended.returncode == -signal.SIGKILL
    assert rows(path) == [("a", "1", "x")]


def test_the_process_that_was_killed_leaves_no_lock(tmp_path: Path) -> None:
    path = tmp_path / "ipam.sqlite"
    environment = {**os.environ, "PYTHONPATH": str(Path(module.__file__).parents[3])}
    subprocess.run([sys.executable, "-c", KILLED, str(path)], env=environment, check=False)
    assert AlreadyRunning is not None
    assert len(rows(path)) == 1
