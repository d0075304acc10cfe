"""How does nodenetd reach systemd while the system bus is down? systemctl of root uses systemd's private socket."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.core.node_ip.unit_environment import UnitEnvironment

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
