"""How does a command of an administrator enable, start and stop units? As the administrator does: with systemctl(1).

nodenetd itself uses D-Bus. A command is also run where the bus is down, and enabling a unit needs systemctl's rules for
aliases and ``Also=``.
"""

from __future__ import annotations

import os
import subprocess

from nodenet.core.errors import Unavailable

SECONDS = 60.0
ANALYZE_SECONDS = 10.0
UNMET = "Conditions failed."
"""systemd-analyze ends with an error in other cases too, such as for a unit that it cannot read."""
PROPERTIES = "Id,LoadState,ActiveState,UnitFileState,ExecStart,Job,RequiredBy,WantedBy,UpheldBy,TriggeredBy,DropInPaths"


def systemctl(*words: str, seconds: float = SECONDS) -> str:
    """Run systemctl with *words* and return what it printed. Raises Unavailable with its reason."""
    shown = f"systemctl {' '.join(words)}"
    try:
        done = _run("systemctl", *words, seconds=seconds, SYSTEMD_COLORS="0", SYSTEMD_PAGER="")
    except subprocess.TimeoutExpired as error:
        cause = f"`{shown}` did not end within {seconds:g} s"
        raise Unavailable(cause, remedy="Look at `systemctl list-jobs`") from error
    except OSError as error:
        raise Unavailable(f"`{shown}` cannot be run: {error.strerror}", remedy="Look whether systemd runs") from error
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split()) or f"exit code {done.returncode}"
        raise Unavailable(f"`{shown}` failed: {said}", remedy="Look at `systemctl status`")
    return done.stdout


def show(units: tuple[str, ...]) -> str:
    """Return one block of properties for each unit (systemctl(1), show). Raises Unavailable."""
    return systemctl("show", f"--property={PROPERTIES}", "--", *units)


def is_switched_off(unit: str) -> bool:
    """Return whether a condition keeps *unit* from starting now, and it has not run in this boot.

    systemd looks at the conditions of a unit when it starts it; systemd-analyze(1), condition, looks at them before.
    False where systemd-analyze does not answer. Raises Unavailable.
    """
    if systemctl("show", "--value", "--property=ExecMainStartTimestampMonotonic", "--", unit).strip() != "0":
        return False
    words = ("systemd-analyze", "condition", f"--unit={unit}")
    try:
        done = _run(*words, seconds=ANALYZE_SECONDS, SYSTEMD_LOG_TARGET="console", SYSTEMD_LOG_LEVEL="info")
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode != 0 and UNMET in done.stderr


def _run(*words: str, seconds: float, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command and return how it ended. Raises OSError, subprocess.TimeoutExpired."""
    return subprocess.run(  # noqa: S603  (no shell, and found on PATH, as a user would)
        words,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=seconds,
        check=False,
        env=os.environ | {"LC_ALL": "C", **environment},
    )
