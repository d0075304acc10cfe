"""How does the build run other programs and report to the terminal?"""

from __future__ import annotations

import subprocess
import sys
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

HEARTBEAT_SECONDS = 20


class BuildError(Exception):
    """The wheel cannot be built; the text says why and what to do."""


def run(
    command: Sequence[str],
    *,
    remedy: str,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> None:
    """Run to the end; raises BuildError with the remedy when that fails."""
    try:
        subprocess.run(command, check=True, stdout=sys.stderr, env=environment, cwd=directory)
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"{command[0]}: {error}; {remedy}") from error


def output(command: Sequence[str], *, remedy: str) -> str:
    """Return what a command prints; raises BuildError with the remedy when it fails."""
    try:
        return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        raise BuildError(f"{command[0]}: {error}; {remedy}") from error


def run_watched(command: Sequence[str], environment: Mapping[str, str], log: Path, crates: int) -> None:
    """Run a build of about so many crates, its output in `log`, with a line now and then on how far it is."""
    started = time.monotonic()
    with (
        log.open("w") as output,
        subprocess.Popen(command, env=environment, stdout=output, stderr=subprocess.STDOUT) as build,
    ):
        while _still_running(build):
            compiled = log.read_text().count(" Compiling ")
            say(f"{time.monotonic() - started:3.0f} s, {compiled} of about {crates} crates")
    if build.returncode:
        tail = "".join(log.read_text().splitlines(keepends=True)[-30:])
        raise BuildError(f"the build exited with {build.returncode}, log in {log}, its end:\n{tail}")


def _still_running(build: subprocess.Popen[bytes]) -> bool:
    try:
        build.wait(HEARTBEAT_SECONDS)
    except subprocess.TimeoutExpired:
        return True
    return False


def say(text: str) -> None:
    """Print it on standard error; standard output carries the path only."""
    print(f"libnmstate: {text}", file=sys.stderr, flush=True)
