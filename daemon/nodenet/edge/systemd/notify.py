"""What does the service manager need to hear? (sd_notify(3), without its library.)

A service manager that does not listen is no reason to stop the boot: nothing here blocks or raises.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import suppress

EXTENSION_SECONDS = 90.0
"""How much start time one beat asks for, counted from the beat."""
IDLE_SECONDS = 30.0
"""The beat where no watchdog is set."""


class Notifier:
    """One service's line to its manager; silent where there is none."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        """Read NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID from *environment*."""
        path = environment.get("NOTIFY_SOCKET", "")
        # A leading @ is the abstract namespace (unix(7)); other schemes (vsock:) are not for services.
        self._address = path.replace("@", "\0", 1) if path.startswith("@") else path
        self.watchdog_seconds = _watchdog_seconds(environment)
        """After so long without a word the manager ends us; None: it does not watch."""

    @property
    def seconds(self) -> float:
        """How often ``beat`` wants to be called: twice in the watchdog's time, as sd_watchdog_enabled(3) advises."""
        return self.watchdog_seconds / 2 if self.watchdog_seconds else IDLE_SECONDS

    def beat(self, *, starting: bool) -> None:
        """Feed the watchdog; extend the start timeout while *starting*."""
        lines = ["WATCHDOG=1"] if self.watchdog_seconds else []
        if starting:
            lines.append(f"EXTEND_TIMEOUT_USEC={round(EXTENSION_SECONDS * 1e6)}")
        if lines:
            self._send(*lines)

    def watchdog(self) -> None:
        """Tell that the loop is alive."""
        self._send("WATCHDOG=1")

    def extend(self, seconds: float) -> None:
        """Ask for *seconds* more from now, of whatever timeout runs."""
        self._send(f"EXTEND_TIMEOUT_USEC={round(seconds * 1e6)}")

    def ready(self, status: str) -> None:
        """Tell that what waits for us may start (also ends a reload)."""
        self._send("READY=1", _status(status))

    def status(self, text: str) -> None:
        """Set the line that ``systemctl status`` shows."""
        self._send(_status(text))

    def stopping(self) -> None:
        """Tell that we are on our way out."""
        self._send("STOPPING=1")

    def _send(self, *lines: str) -> None:
        if not self._address.startswith(("/", "\0")):
            return
        kind = socket.SOCK_DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK
        with suppress(OSError), socket.socket(socket.AF_UNIX, kind) as line:
            line.sendto("\n".join(lines).encode(errors="replace"), self._address)


def _status(text: str) -> str:
    """Return the STATUS= line; one line, since the next would be another assignment."""
    return "STATUS=" + " ".join(text.split())


def _watchdog_seconds(environment: Mapping[str, str]) -> float | None:
    """Return the watchdog's time, None when it watches nobody or another process (a parent's environment)."""
    with suppress(ValueError):
        meant = environment.get("WATCHDOG_PID")
        if meant is None or int(meant) == os.getpid():
            return int(environment.get("WATCHDOG_USEC", "0")) / 1e6 or None
    return None
