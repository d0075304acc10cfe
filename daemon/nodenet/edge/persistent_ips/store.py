"""The store of nodenet-ipam: records in SQLite, written by one thread, durable when a write returns.

WAL with synchronous=FULL (https://sqlite.org/pragma.html#pragma_synchronous): a commit is on the disk when it returns,
also after a power cut. Writes that wait together are one commit; those that may come later go with the next one that
may not. A store that cannot be read is set aside, and a new one begins. The exclusive lock keeps a second service out.
"""

from __future__ import annotations

import asyncio
import contextlib
import queue
import sqlite3
import threading
import time
from collections.abc import Awaitable, Sequence
from pathlib import Path

from nodenet.core.errors import AlreadyRunning, PublishFailed

VERSION = 1
SCHEMA = "CREATE TABLE IF NOT EXISTS records (kind TEXT, key TEXT, value TEXT, PRIMARY KEY (kind, key)) WITHOUT ROWID"
PUT, DROP = "INSERT OR REPLACE INTO records VALUES (?, ?, ?)", "DELETE FROM records WHERE kind = ? AND key = ?"
REMEDY = "Look at `df -h`, `df -i` and `journalctl -k`"
LOCK_SECONDS = 5.0
"""A service that is just ending gets so long to close its store."""
LATER_SECONDS = 0.2
"""A write that may come later comes after this time at the latest: each commit costs a sync of the disk."""

Change = tuple[str, str, str | None]
Job = tuple[Sequence[Change], "asyncio.Future[None]"]


class Store:
    """The records of one node."""

    def __init__(self, path: Path) -> None:
        """Open *path*. Raises AlreadyRunning when another service has it, PublishFailed."""
        self._path = path
        self.fresh = not path.exists()
        self.set_aside: Path | None = None
        """Where an unreadable store was moved to."""
        self._connection = self._open()
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._later: list[Job] = []
        self._thread = threading.Thread(target=self._write_all, name="store", daemon=True)
        self._thread.start()

    def load(self) -> Sequence[tuple[str, str, str]]:
        """Return all records. Raises PublishFailed."""
        try:
            return self._connection.execute("SELECT kind, key, value FROM records").fetchall()
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def save(self, changes: Sequence[Change], *, later: bool = False) -> Awaitable[None]:
        """Write in the order of the calls; durable when the result is awaited. Raises PublishFailed then."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[None] = loop.create_future()
        if later and not self._later:
            loop.call_later(LATER_SECONDS, self._begin)
        self._later.append((tuple(changes), done))
        if not later:
            self._begin()
        return done

    def close(self) -> None:
        """Write what is pending and close."""
        self._begin()
        self._jobs.put(None)
        self._thread.join()
        with contextlib.suppress(sqlite3.Error):
            self._connection.close()

    def _begin(self) -> None:
        """Hand everything to the thread, in its order."""
        for job in self._later:
            self._jobs.put(job)
        self._later.clear()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except OSError as error:
            raise PublishFailed(f"The store {self._path} cannot be used: {error.strerror}", remedy=REMEDY) from error
        except sqlite3.OperationalError as error:
            if self._path.is_dir():
                return self._begin_again(error)
            if error.sqlite_errorcode in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                text = f"Another service has the store {self._path}"
                raise AlreadyRunning(text, remedy="See `systemctl status nodenet-ipam`") from error
            raise self._failed(error) from error
        except sqlite3.DatabaseError as error:
            return self._begin_again(error)

    def _begin_again(self, error: sqlite3.Error) -> sqlite3.Connection:
        self.set_aside = self._move_away()
        self.fresh = True
        try:
            return self._connect()
        except sqlite3.Error:
            raise self._failed(error) from error

    def _connect(self) -> sqlite3.Connection:
        self._path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        connection = sqlite3.connect(self._path, timeout=LOCK_SECONDS, isolation_level=None, check_same_thread=False)
        try:
            connection.execute("PRAGMA locking_mode=EXCLUSIVE")
            connection.execute("BEGIN EXCLUSIVE")  # takes the lock now, and for as long as the connection lasts
            connection.execute("COMMIT")
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=FULL")
            if _check(connection) != VERSION:  # nothing is written to a store that is there: the disk may be full
                connection.execute(SCHEMA)
                connection.execute(f"PRAGMA user_version={VERSION}")
            self._path.chmod(0o600)
        except BaseException:
            connection.close()
            raise
        return connection

    def _move_away(self) -> Path:
        aside = self._path.with_name(f"{self._path.name}.unreadable-{int(time.time())}")
        for suffix in ("-wal", "-shm"):
            with contextlib.suppress(OSError):
                Path(f"{self._path}{suffix}").rename(f"{aside}{suffix}")
        try:
            self._path.rename(aside)
        except OSError as error:
            raise PublishFailed(f"{self._path} cannot be set aside: {error.strerror}", remedy=REMEDY) from error
        return aside

    def _write_all(self) -> None:
        """Write until ``close``; what waits together is one transaction."""
        while True:
            jobs, ending = self._waiting()
            if jobs:
                self._write(jobs)
            if ending:
                return

    def _waiting(self) -> tuple[list[Job], bool]:
        jobs: list[Job] = []
        job = self._jobs.get()
        while job is not None:
            jobs.append(job)
            try:
                job = self._jobs.get_nowait()
            except queue.Empty:
                return jobs, False
        return jobs, True

    def _write(self, jobs: list[Job]) -> None:
        failure: sqlite3.Error | None = None
        try:
            self._connection.execute("BEGIN IMMEDIATE")
            for changes, _ in jobs:
                for kind, key, value in changes:
                    if value is None:
                        self._connection.execute(DROP, (kind, key))
                    else:
                        self._connection.execute(PUT, (kind, key, value))
            self._connection.execute("COMMIT")
        except sqlite3.Error as error:
            failure = error
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
        for _, done in jobs:
            with contextlib.suppress(RuntimeError):  # the loop has ended: nothing waits any more
                done.get_loop().call_soon_threadsafe(_settle, done, None if failure is None else self._failed(failure))

    def _failed(self, error: sqlite3.Error) -> PublishFailed:
        return PublishFailed(f"The store {self._path} cannot be used: {error}", remedy=REMEDY)


def _check(connection: sqlite3.Connection) -> int:
    """Return the version of the store, 0 for a new one. Raises DatabaseError for a damaged or later one."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    if version > VERSION:
        raise sqlite3.DatabaseError(f"the store has version {version}, which is of a later release")
    if (found := connection.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
        raise sqlite3.DatabaseError(str(found))
    return version


def _settle(done: asyncio.Future[None], failure: PublishFailed | None) -> None:
    if done.done():
        return
    if failure is None:
        done.set_result(None)
    else:
        done.set_exception(failure)
