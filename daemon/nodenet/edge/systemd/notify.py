"""How is the state of the service reported to the service manager? (sd_notify(3), without its library.)

A service manager that does not read must not stop the boot: nothing here blocks or raises.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress

EXTENSION_SECONDS = 90.0
"""The start timeout after a watchdog message, counted from that message."""
IDLE_SECONDS = 30.0
"""Between two messages where no watchdog is set."""
AGAIN_SECONDS = 1.0
"""Until READY is reported again where the queue is full."""
STATUS_BYTES = 2048
"""systemd drops a whole message of more than 4096 bytes (PIPE_BUF), and READY=1 with it."""


class Notifier:
    """The connection of the service to its manager; without one, nothing is sent."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Read NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from *environment*."""
        path = environment.get("NOTIFY_SOCKET", "")
        # A leading @ is the abstract namespace (unix(7)); other schemes (vsock:) are not for services.
        self._address = path.replace("@", "\0", 1) if path.startswith("@") else path
        self.watchdog_seconds = _watchdog_seconds(environment)
        """The manager ends the service after so long without a message; None: it has no watchdog."""

    @property
    def seconds(self) -> float:
        """How often ``beat`` must be called: twice in the time of the watchdog, as sd_watchdog_enabled(3) advises."""
        return self.watchdog_seconds / 2 if self.watchdog_seconds else IDLE_SECONDS

    def beat(self, *, starting: bool) -> None:
        """Send the watchdog message; extend the start timeout while *starting*."""
        lines = ["WATCHDOG=1"] if self.watchdog_seconds else []
        if starting:
            lines.append(f"EXTEND_TIMEOUT_USEC={round(EXTENSION_SECONDS * 1e6)}")
        if lines:
            self._send(*lines)

    def ready(self, status: str) -> bool:
        """Report that units which wait for this one may start; return whether the manager's queue took it."""
        return self._send("READY=1", _status(status))

    def status(self, text: str) -> bool:
        """Set the line that ``systemctl status`` shows; return whether the manager's queue took it."""
        return self._send(_status(text))

    def stopping(self) -> None:
        """Report that the service is stopping."""
        self._send("STOPPING=1")

    def _send(self, *lines: str) -> bool:
        """Send without blocking; return whether it was taken. Without a listener nothing is lost."""
        if not self._address.startswith(("/", "\0")):
            return True
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        try:
            with socket.socket(socket.AF_UNIX, kind) as line:
                line.sendto("\n".join(lines).encode(errors="replace"), self._address)
        except OSError:  # the queue is full, or the manager is gone
            return False
        return True


async def report_ready(notifier: Notifier, status: Callable[[], str]) -> None:
    """Report READY with the present *status* until the manager's queue has taken it.

    The queue is full while systemd does nothing and many services report: the start of a service whose READY was lost
    ends with a time-out.
    """
    while not notifier.ready(status()):  # noqa: ASYNC110  (no event says that the queue has room)
        await asyncio.sleep(AGAIN_SECONDS)


async def keep_alive(notifier: Notifier) -> None:
    """Send the watchdog message in time. Never ends."""
    while True:
        notifier.beat(starting=False)
        await asyncio.sleep(notifier.seconds)


def _status(text: str) -> str:
    """Return the STATUS= line; one line, since the next would be another assignment."""
    line = " ".join(text.split())
    data = line.encode(errors="replace")
    if len(data) > STATUS_BYTES:
        line = data[:STATUS_BYTES].decode(errors="ignore") + "…"
    return f"STATUS={line}"


def _watchdog_seconds(environment: Mapping[str, str]) -> float | None:
    """Return the time of the watchdog, None without one or if it is for another process (a parent's environment)."""
    with suppress(ValueError):
        meant = environment.get("WATCHDOG_PID")
        if meant is None or int(meant) == os.getpid():
            return int(environment.get("WATCHDOG_USEC", "0")) / 1e6 or None
    return None
