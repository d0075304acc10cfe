"""Does systemd-resolved run, and how does it read its drop-ins again?

Only the owner of the name org.freedesktop.resolve1 is looked up: a call would start the service. systemd does the
reload (org.freedesktop.systemd1(5)): it restarts a version that cannot reload, and does not start one that is stopped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.edge.bus.connection import DBUS, Bus, Refused, name_owner_changed
from nodenet.edge.systemd import manager_object

NAME = "org.freedesktop.resolve1"
UNIT = "systemd-resolved.service"
RELOAD_SECONDS = 20.0
_REMEDY = f"Look at `systemctl status {UNIT}`, then run `systemctl reload-or-restart {UNIT}`"


class Resolved:
    """systemd-resolved over the bus."""

    def __init__(self, bus: Bus, changed: Callable[[], None]) -> None:
        """Subscribe; *changed* is called when it starts or stops."""
        self._bus = bus
        self._changed = changed
        self._runs: bool | None = None
        self._changes = 0
        """How often it started or stopped."""
        self._jobs: dict[str, asyncio.Future[str]] | None = None
        bus.subscribe(name_owner_changed(NAME), self._owner_changed)
        bus.subscribe(manager_object.job_removed(UNIT), self._job_removed)

    def forget(self) -> None:
        """Ask again: signals were lost with the bus."""
        self._runs = None
        self._changes += 1

    async def runs(self) -> bool:
        """Return whether it runs; without a bus it cannot be used, which is the same."""
        if self._runs is not None:
            return self._runs
        changes = self._changes
        try:
            (owned,) = await self._bus.call(*DBUS, "NameHasOwner", "s", [NAME])
        except (Unavailable, Refused):
            return False
        if changes == self._changes:  # else a signal that came behind the answer was handled before this
            self._runs = bool(owned)
        return bool(owned)

    async def reload(self) -> None:
        """Let it read its configuration again; return when it has. Raises PublishFailed."""
        jobs = self._jobs = {}
        try:
            await manager_object.subscribe(self._bus)
            address = (manager_object.NAME, manager_object.PATH, manager_object.MANAGER)
            (path,) = await self._bus.call(*address, "ReloadOrTryRestartUnit", "ss", [UNIT, "replace"])
            async with asyncio.timeout(RELOAD_SECONDS):
                result = await _job(jobs, path)
        except TimeoutError:
            result = f"no end within {RELOAD_SECONDS:g} s"
        except (Unavailable, Refused) as error:
            result = str(error)
        finally:
            self._jobs = None
        if result not in ("done", "skipped"):
            raise PublishFailed(f"systemd-resolved did not read its drop-in again: {result}", remedy=_REMEDY)

    def _owner_changed(self, _: Sequence[Any]) -> None:
        self.forget()
        self._changed()

    def _job_removed(self, body: Sequence[Any]) -> None:
        """Keep the result of a job, which may end before its name is known."""
        _, path, _, result = body
        if self._jobs is not None and not (ended := _job(self._jobs, path)).done():
            ended.set_result(str(result))


def _job(jobs: dict[str, asyncio.Future[str]], path: str) -> asyncio.Future[str]:
    return jobs.setdefault(path, asyncio.get_running_loop().create_future())
