"""What does a command print, within a limit of time and size?"""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import time
from contextlib import suppress

from nodenet.core.value import frozen

CHUNK = 1 << 16
END_SECONDS = 5.0
"""How long a command that is killed is waited for."""
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@frozen
class Output:
    """What was printed, errors included; *note* says why it is not everything, or how the command ended."""

    content: bytes
    note: str = ""


def output(command: tuple[str, ...], seconds: float, most_bytes: int) -> Output:
    """Run *command* for *seconds* at most and return at most *most_bytes* of its output. Never raises OSError."""
    environment = os.environ | {"LC_ALL": "C.UTF-8", "PATH": f"{os.environ.get('PATH', PATH)}:{PATH}"}
    try:
        process = subprocess.Popen(  # noqa: S603  (the commands are ours)
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=environment,
            start_new_session=True,
        )
    except OSError as error:
        return Output(b"", f"{command[0]} cannot be run: {error.strerror}")
    try:
        content, cut = _read(process, time.monotonic() + seconds, most_bytes)
    finally:
        ended = _end(process)
    if cut:
        return Output(content, cut if cut != _TIME else f"{cut} {seconds:g} s")
    return Output(content, f"exit status {ended}" if ended else "")


_TIME = "stopped after"


def _read(process: subprocess.Popen[bytes], until: float, most_bytes: int) -> tuple[bytes, str]:
    """Return the output, and what cut it off."""
    if process.stdout is None:
        return b"", ""
    content = bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            if not selector.select(max(0.0, until - time.monotonic())):
                return bytes(content), _TIME
            chunk = os.read(process.stdout.fileno(), CHUNK)
            content += chunk
            if not chunk:
                return bytes(content), "" if _ends(process, until) else _TIME
            if len(content) > most_bytes:
                return bytes(content[:most_bytes]), f"cut off after {most_bytes >> 10} KiB"


def _ends(process: subprocess.Popen[bytes], until: float) -> bool:
    try:
        process.wait(max(0.0, until - time.monotonic()))
    except subprocess.TimeoutExpired:
        return False
    return True


def _end(process: subprocess.Popen[bytes]) -> int:
    """End the command and what it started; return its exit status, 0 for one that cannot be ended.

    That is one in an uninterruptible sleep: of a network driver that hangs, `ip` waits for a lock in the kernel.
    """
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    if process.stdout is not None:
        process.stdout.close()
    with suppress(subprocess.TimeoutExpired):
        return process.wait(END_SECONDS)
    return 0
