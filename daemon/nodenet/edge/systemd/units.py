"""How does systemd read its unit files again and start a unit, and how did the start end?"""

from __future__ import annotations

import asyncio
import shlex
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.errors import PublishFailed, Unavailable, UnitFailed
from nodenet.core.network_manager.state import Service
from nodenet.core.node_ip.published_files import UnitEnvironment
from nodenet.core.unit_stage import GATES, Unit
from nodenet.edge.bus.connection import PROPERTIES, Bus, Refused
from nodenet.edge.systemd.manager_object import MANAGER, NAME, PATH, job_removed, subscribe

RELOAD_SECONDS = 60.0
"""systemd answers when the reload is over, which takes seconds with thousands of units."""
ANSWER_SECONDS = 10.0
ENDED = ("inactive", "failed")
"""The ActiveState of a unit that does not run."""
_SHOWN = (
    *("LoadState", "Environment", "UnsetEnvironment", "EnvironmentFiles", "FragmentPath", "DropInPaths"),
    *("NeedDaemonReload", "ExecStart"),
)


async def reload() -> None:
    """Read all unit files and drop-ins again. Raises PublishFailed."""
    try:
        await _systemctl(RELOAD_SECONDS, "daemon-reload")
    except Unavailable as error:
        raise PublishFailed(
            f"systemd did not read the drop-ins again: {error.cause}",
            remedy="Run `systemctl daemon-reload`; kubelet starts once it succeeds",
        ) from error


async def environment(unit: str) -> UnitEnvironment | None:
    """Return with which variables systemd starts *unit*, None when there is no such unit. Raises Unavailable."""
    return parse_shown(await _systemctl(ANSWER_SECONDS, "show", f"--property={','.join(_SHOWN)}", unit))


async def any_runs(units: Sequence[str]) -> bool | None:
    """Return whether one of *units* runs, None when systemd does not answer."""
    try:
        shown = await _systemctl(ANSWER_SECONDS, "show", "--property=ActiveState", *units)
    except Unavailable:
        return None
    return parse_states(shown, len(units))


def parse_states(text: str, count: int) -> bool | None:
    """Return whether one of *count* units runs, by the ActiveState that `systemctl show` printed for each of them."""
    states = [line.removeprefix("ActiveState=") for line in text.splitlines() if line.startswith("ActiveState=")]
    return None if len(states) != count else any(state not in ENDED for state in states)


def parse_shown(text: str) -> UnitEnvironment | None:
    """Return what `systemctl show` printed, None when the unit is not loaded."""
    shown: dict[str, list[str]] = {}
    for line in text.splitlines():
        key, _, value = line.partition("=")
        shown.setdefault(key, []).append(value)
    if shown.get("LoadState") != ["loaded"]:
        return None
    variables, removals, drop_ins = (
        [word for value in shown.get(key, []) for word in _words(value)]
        for key in ("Environment", "UnsetEnvironment", "DropInPaths")
    )
    fragments = [value for value in shown.get("FragmentPath", []) if value]
    commands = [value.partition("argv[]=")[2].partition(" ; ignore_errors=")[0] for value in shown.get("ExecStart", [])]
    files = [value.partition(" (ignore_errors=")[0] for value in shown.get("EnvironmentFiles", []) if value]
    pairs = dict(word.split("=", 1) for word in variables if "=" in word)
    changed = shown.get("NeedDaemonReload") == ["yes"]
    paths, drop_in_paths = tuple(map(PurePosixPath, files)), tuple(map(PurePosixPath, fragments + drop_ins))
    return UnitEnvironment(pairs, paths, drop_in_paths, changed, tuple(removals), tuple(" ".join(commands).split()))


def _words(value: str) -> list[str]:
    """Return the words of a property; of one with a control character systemctl quotes as only bash understands."""
    try:
        return shlex.split(value)
    except ValueError:
        return value.split()


async def _systemctl(seconds: float, *words: str) -> str:
    """Return what systemctl prints. Raises Unavailable."""
    pipe = asyncio.subprocess.PIPE
    try:
        process = await asyncio.create_subprocess_exec(
            "systemctl", *words, stdout=pipe, stderr=pipe, stdin=asyncio.subprocess.DEVNULL
        )
    except OSError as error:
        raise Unavailable(f"systemctl does not start: {error.strerror or error}") from error
    try:
        async with asyncio.timeout(seconds):
            output, errors = await process.communicate()
    except TimeoutError as error:
        raise Unavailable(f"systemctl {words[0]} did not end within {seconds:.0f} s") from error
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    if process.returncode:
        raise Unavailable(errors.decode(errors="replace").strip() or f"systemctl ended with {process.returncode}")
    return output.decode(errors="replace")


NOTHING_QUEUED = 0
MOST_JOBS = 100
"""Jobs that are looked at to find out what a job waits for."""


class Systemd:
    """systemd's manager (org.freedesktop.systemd1(5))."""

    def __init__(self, bus: Bus) -> None:
        """Use the bus, or systemctl's private socket where there is none."""
        self._bus = bus

    async def reload(self) -> None:
        """Read all unit files and drop-ins again. Raises PublishFailed."""
        try:
            await self._bus.call(NAME, PATH, MANAGER, "Reload", seconds=RELOAD_SECONDS)
        except (Unavailable, Refused):
            await reload()

    async def any_runs(self, units: Sequence[str]) -> bool | None:
        """Return whether one of *units* runs, None when systemd answers neither on the bus nor on its own socket."""
        try:
            (found,) = await self._bus.call(NAME, PATH, MANAGER, "ListUnitsByNames", "as", [list(units)])
        except (Unavailable, Refused):
            return await any_runs(units)
        return any(active not in ENDED for _name, _description, _load, active, *_rest in found)

    async def environment(self, unit: str) -> UnitEnvironment | None:
        """Return with which variables systemd starts *unit*, None when there is no such unit. Raises Unavailable."""
        try:
            (path,) = await self._bus.call(NAME, PATH, MANAGER, "LoadUnit", "s", [unit])
            if await self._bus.get(NAME, path, f"{NAME}.Unit", "LoadState") != "loaded":
                return None
            fragment = await self._bus.get(NAME, path, f"{NAME}.Unit", "FragmentPath")
            drop_ins = await self._bus.get(NAME, path, f"{NAME}.Unit", "DropInPaths")
            changed = await self._bus.get(NAME, path, f"{NAME}.Unit", "NeedDaemonReload")
            variables = await self._bus.get(NAME, path, f"{NAME}.Service", "Environment")
            removals = await self._bus.get(NAME, path, f"{NAME}.Service", "UnsetEnvironment")
            files = await self._bus.get(NAME, path, f"{NAME}.Service", "EnvironmentFiles")
            commands = await self._bus.get(NAME, path, f"{NAME}.Service", "ExecStart")
        except (Unavailable, Refused):
            return await environment(unit)
        pairs = dict(text.split("=", 1) for text in variables if "=" in text)
        paths = tuple(PurePosixPath(file) for file, _ignored in files)
        own = tuple(map(PurePosixPath, [fragment, *drop_ins] if fragment else drop_ins))
        words = tuple(word for _path, argv, *_rest in commands for word in argv)
        return UnitEnvironment(pairs, paths, own, changed is True, tuple(removals), words)

    async def service(self, name: str) -> Service | None:
        """Return the state of a service, None while systemd does not answer. Few bytes: this is read often."""
        try:
            (listed,) = await self._bus.call(NAME, PATH, MANAGER, "ListUnitsByNames", "as", [[name]])
            _, _, load_state, active_state, _, _, path, _, job, _ = listed[0]
            if active_state != "failed":
                return Service(load_state, active_state, job)
            result = await self._bus.get(NAME, path, f"{NAME}.Service", "Result")
            restarts = await self._bus.get(NAME, path, f"{NAME}.Service", "NRestarts")
        except (Unavailable, Refused):
            return None
        return Service(load_state, active_state, job, result, restarts)

    async def start_failed(self, name: str) -> str | None:
        """Forget that a service failed and start it; return why not, if so. A job that is queued for it is left."""
        try:
            # It also gives the start limit back: without it systemd refuses (systemctl(1), reset-failed).
            await self._bus.call(NAME, PATH, MANAGER, "ResetFailedUnit", "s", [name])
            await self._bus.call(NAME, PATH, MANAGER, "StartUnit", "ss", [name, "fail"])
        except (Unavailable, Refused) as error:
            return str(error)
        return None


class Units:
    """The services that do stages (org.freedesktop.systemd1(5), Manager and Unit objects)."""

    def __init__(self, bus: Bus, changed: Callable[[], None]) -> None:
        """*changed* is called when a job of a watched unit ends."""
        self._bus = bus
        self._changed = changed
        self._ended: dict[str, str | None] = {}
        self._kept: set[str] = set()

    async def unit(self, name: str) -> Unit:
        """Return the state of a unit; its jobs are watched from then on. Raises Unavailable."""
        try:
            path, common = await self._properties(name)
            if common["LoadState"] == "loaded":
                await self._listen(str(common["Id"]))
            path, common = await self._properties(name)  # again: a job may have ended before we listened
            (service,) = await self._bus.call(NAME, path, PROPERTIES, "GetAll", "s", [f"{NAME}.Service"])
        except Refused as error:
            raise Unavailable(f"systemd does not describe {name} ({error.text})") from error
        unit = _unit(name, common, {key: value.value for key, value in service.items()})
        return unit if unit.job is None else replace(unit, behind=await self._behind(unit.job))

    async def _behind(self, job: int) -> tuple[str, ...]:
        """Return the units that *job* waits for, one after the other, up to one of ours that waits for the stages.

        systemd sees no cycle in it: it does not know that nodenetd waits for that job.
        """
        ways: dict[int, tuple[str, ...]] = {job: ()}
        waiting = deque(ways)
        for _ in range(MOST_JOBS):
            if not waiting:
                break
            number = waiting.popleft()
            with suppress(Refused):  # the job ended meanwhile
                (before,) = await self._bus.call(NAME, PATH, MANAGER, "GetJobBefore", "u", [number])
                for other, unit, *_others in before:
                    if unit in GATES:
                        return (*ways[number], unit)
                    if other not in ways:
                        ways[other] = (*ways[number], unit)
                        waiting.append(other)
        return ()

    async def _properties(self, name: str) -> tuple[str, dict[str, Any]]:
        (path,) = await self._bus.call(NAME, PATH, MANAGER, "LoadUnit", "s", [name])
        (values,) = await self._bus.call(NAME, path, PROPERTIES, "GetAll", "s", [f"{NAME}.Unit"])
        return path, {key: value.value for key, value in values.items()}

    async def _listen(self, unit: str) -> None:
        if unit not in self._ended:
            await self._bus.listen(job_removed(unit), self._removed)
            self._ended[unit] = None
        with suppress(Refused):
            if await subscribe(self._bus):
                self._kept.clear()
        if unit not in self._kept:
            # systemd forgets a oneshot that ended and that no other unit refers to, and with it that it ever ran.
            await self._bus.call(NAME, PATH, MANAGER, "RefUnit", "s", [unit])
            self._kept.add(unit)

    def _removed(self, body: Sequence[Any]) -> None:
        _number, _job, unit, result = body
        if unit in self._ended:
            self._ended[unit] = result
            self._changed()

    async def start(self, unit: Unit) -> None:
        """Ask for its start. Raises UnitFailed when systemd refuses, Unavailable."""
        self._ended[unit.id] = None
        try:
            await self._bus.call(NAME, PATH, MANAGER, "StartUnit", "ss", [unit.name, "replace"])
        except Refused as error:
            raise UnitFailed(
                f"systemd does not start {unit.name}: {error.text}", remedy=f"See `systemctl status {unit.name}`"
            ) from error

    def ended(self, unit: Unit) -> str | None:
        """Return the result of the newest job of *unit*, None if no job ended since its start was requested."""
        return self._ended.get(unit.id)


def _unit(name: str, common: dict[str, Any], service: dict[str, Any]) -> Unit:
    job, _ = common["Job"]
    return Unit(
        name,
        common["Id"],
        common["LoadState"],
        common["ActiveState"],
        common["SubState"],
        service["Result"],
        oneshot=service["Type"] == "oneshot",
        ran=common["InactiveExitTimestampMonotonic"] != 0,
        condition=common["ConditionResult"] or common["ConditionTimestampMonotonic"] == 0,
        job=None if job == NOTHING_QUEUED else job,
        after=frozenset(common["After"]),
    )
