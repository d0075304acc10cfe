"""The units of hosted services, their processes and configuration files: what systemd and the kernel say of them."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from nodenet.core.errors import Unavailable, UnitFailed
from nodenet.core.hosted_services.model import COMPANION_NAME
from nodenet.core.hosted_services.units import PATH as HOSTED_PATH
from nodenet.core.hosted_services.units import Running
from nodenet.edge.bus.connection import PROPERTIES, Bus, Refused, Signal
from nodenet.edge.files import disk
from nodenet.edge.systemd.manager_object import MANAGER, NAME, PATH, job_removed, subscribe

# How are the units of hosted services started and stopped, and how do they run? (org.freedesktop.systemd1(5))


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


# Which processes does a unit have, and when does one of them end? (cgroups(7), pidfd_open(2))
#
# Without the bus: the end of a process is noticed at once, also while the bus is silent.

TREE = Path("/sys/fs/cgroup")
MOST = 64
"""Processes of one unit that are looked at."""


class Processes:
    """The processes of one service unit."""

    def __init__(self, unit: str, tree: Path = TREE, proc: Path = Path("/proc")) -> None:
        """Look for the unit's group in *tree*, and for the names of processes in *proc*."""
        self._unit = unit
        self._tree = tree
        self._proc = proc
        self._group: Path | None = None
        """Where the unit's group was when it was found last."""

    def now(self) -> Mapping[int, str]:
        """Return the processes and their names, those of delegated groups below included."""
        found = self._members(self._group) if self._group else {}
        if not found:  # it does not run, or runs in another slice now
            self._group = next(self._tree.glob(f"*.slice/{self._unit}"), None)
            found = self._members(self._group) if self._group else {}
        return found

    def switches(self) -> int:
        """Return how often the processes have begun to run: a number that stays means that none of them does."""
        return sum(map(self._switches, self.now()))

    def _switches(self, pid: int) -> int:
        try:
            lines = (self._proc / str(pid) / "status").read_text(errors="replace").splitlines()
        except OSError:  # it ended meanwhile
            return 0
        return sum(int(line.split()[-1]) for line in lines if "ctxt_switches:" in line)

    def _members(self, group: Path) -> dict[int, str]:
        found: dict[int, str] = {}
        for place in (group, *_below(group)):
            with contextlib.suppress(OSError, ValueError):  # the unit ended meanwhile
                for pid in (place / "cgroup.procs").read_text(encoding="ascii").split()[:MOST]:
                    found |= self._named(int(pid))
        return found

    async def any_ends(self, processes: Collection[int], seconds: float) -> frozenset[int]:
        """Return those of *processes* that have ended: when one has, at the latest after *seconds*."""
        loop = asyncio.get_running_loop()
        ended: set[int] = set()
        one = asyncio.Event()

        def take(pid: int) -> None:
            ended.add(pid)
            one.set()

        with contextlib.ExitStack() as opened:
            for pid in processes:
                try:
                    descriptor = os.pidfd_open(pid)
                except ProcessLookupError:
                    take(pid)
                    continue
                opened.callback(os.close, descriptor)
                loop.add_reader(descriptor, take, pid)
                opened.callback(loop.remove_reader, descriptor)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await one.wait()
        return frozenset(ended)

    def _named(self, pid: int) -> dict[int, str]:
        try:
            return {pid: (self._proc / str(pid) / "comm").read_text(errors="replace").rstrip("\n")}
        except OSError:  # it ended meanwhile
            return {}


def _below(group: Path) -> list[Path]:
    # Not Path.glob: in Python 3.11 it raises where the group is removed meanwhile, as at the end of the unit.
    try:
        with os.scandir(group) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []


# When does nodenet-hosted learn that the resource switches a service on or off? nodenetd writes what concerns DNS.

SWITCHES = "SwitchedOff"


def on_switch(bus: Bus, changed: Callable[[], None]) -> None:
    """Call *changed* whenever the switches of nodenet-hosted's resource differ; its cache has them by then."""

    def heard(body: Any) -> None:  # noqa: ANN401  (what is in a signal)
        if SWITCHES in body[1]:
            changed()

    bus.subscribe(Signal(COMPANION_NAME, HOSTED_PATH, PROPERTIES, "PropertiesChanged"), heard)


# How are the configurations of hosted services written, so that no program reads half of one?


class ConfigurationFiles:
    """Files below /run, each written whole; equal content is not written again."""

    def write(self, texts: Mapping[PurePath, str]) -> frozenset[PurePath]:
        """Write each file where it differs; return those that did. Raises PublishFailed."""
        return frozenset(path for path, text in texts.items() if disk.write(path, text.encode()))

    def remove(self, paths: Iterable[PurePath]) -> frozenset[PurePath]:
        """Remove files; return those that were there. Raises PublishFailed."""
        return frozenset(path for path in paths if disk.remove(path))
