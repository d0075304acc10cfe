"""How are the units of hosted services started and stopped, and how do they run? (org.freedesktop.systemd1(5))"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

from nodenet.core.errors import Unavailable, UnitFailed
from nodenet.core.hosted_services.units import Running
from nodenet.edge.bus.connection import PROPERTIES, Bus, Refused
from nodenet.edge.systemd.manager_object import MANAGER, NAME, PATH, job_removed, subscribe


class ServiceUnits:
    """systemd's manager, for the units of hosted services."""

    def __init__(self, bus: Bus, changed: Callable[[str], None]) -> None:
        """*changed* is called with a unit's name when one of its jobs ends, once ``state`` was called for that unit."""
        self._bus = bus
        self._changed = changed
        self._listened: set[str] = set()

    async def state(self, unit: str) -> Running:
        """Return how *unit* runs; its jobs are listened to from then on. Raises Unavailable."""
        await self._listen(unit)
        (path,) = await self._call("LoadUnit", "s", [unit])
        # Not all properties: they are hundreds. The job first: when it has ended, the state is new.
        job, load, active = [await self._property(path, name) for name in ("Job", "LoadState", "ActiveState")]
        found = Running(load, active, job=job[0] != 0)
        if found.is_up or not found.is_loaded:
            return found
        service = await self._properties(path, f"{NAME}.Service")
        return replace(found, result=service["Result"], missing=_missing(service))

    async def start(self, unit: str) -> None:
        """Order its start, also after it failed too often. Raises UnitFailed where systemd refuses, Unavailable."""
        with suppress(Refused):  # a unit that is not loaded has not failed
            await self._call_raw("ResetFailedUnit", "s", [unit])
        await self._order("StartUnit", unit)

    async def stop(self, unit: str) -> None:
        """Stop it; it is no error if it does not run. Raises UnitFailed, Unavailable."""
        try:
            await self._call_raw("StopUnit", "ss", [unit, "replace"])
        except Refused as error:
            if not error.name.endswith(".NoSuchUnit"):
                raise _refused(unit, error) from error

    async def reload(self, unit: str) -> None:
        """Order that it reads its configuration again, or restarts to do so. Raises UnitFailed, Unavailable."""
        await self._order("ReloadOrTryRestartUnit", unit)

    async def restart(self, unit: str) -> None:
        """Order its end and start. Raises UnitFailed, Unavailable."""
        await self._order("RestartUnit", unit)

    async def _order(self, method: str, unit: str) -> None:
        try:
            await self._call_raw(method, "ss", [unit, "replace"])
        except Refused as error:
            raise _refused(unit, error) from error

    async def _listen(self, unit: str) -> None:
        if unit not in self._listened:
            await self._bus.listen(job_removed(unit), self._removed)
            self._listened.add(unit)
        with suppress(Refused):
            await subscribe(self._bus)

    def _removed(self, body: Sequence[Any]) -> None:
        self._changed(str(body[2]))

    async def _property(self, path: str, name: str) -> Any:  # noqa: ANN401
        try:
            return await self._bus.get(NAME, path, f"{NAME}.Unit", name)
        except Refused as error:
            raise Unavailable(f"systemd does not describe the unit ({error.text})") from error

    async def _properties(self, path: str, interface: str) -> dict[str, Any]:
        try:
            (found,) = await self._bus.call(NAME, path, PROPERTIES, "GetAll", "s", [interface])
        except Refused as error:
            raise Unavailable(f"systemd does not describe the unit ({error.text})") from error
        return {key: value.value for key, value in found.items()}

    async def _call(self, method: str, signature: str = "", body: Sequence[Any] = ()) -> Sequence[Any]:
        try:
            return await self._call_raw(method, signature, body)
        except Refused as error:
            raise Unavailable(f"systemd refuses {method} ({error.text})") from error

    async def _call_raw(self, method: str, signature: str = "", body: Sequence[Any] = ()) -> Sequence[Any]:
        return await self._bus.call(NAME, PATH, MANAGER, method, signature, list(body))


def _missing(service: Mapping[str, Any]) -> str:
    """Return the program of a service where it is not on this node; empty as well where the root is another one."""
    commands = service.get("ExecStart") or ()
    if not commands or service.get("RootDirectory") or service.get("RootImage"):
        return ""
    program = str(commands[0][0])
    return "" if os.access(program, os.X_OK) else program


def _refused(unit: str, error: Refused) -> UnitFailed:
    return UnitFailed(f"systemd refuses an order for {unit}: {error.text}", remedy=f"See `systemctl status {unit}`")
