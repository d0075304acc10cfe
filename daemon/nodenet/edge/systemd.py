"""How is systemd made to read its unit files again?"""

from __future__ import annotations

import asyncio

from nodenet.core.errors import PublishFailed, Unavailable
from nodenet.edge.bus import Bus, Refused

NAME = "org.freedesktop.systemd1"
PATH = "/org/freedesktop/systemd1"
RELOAD_SECONDS = 60.0
"""systemd answers when the reload is over; thousands of units take it seconds."""


class Systemd:
    """systemd's manager (org.freedesktop.systemd1(5))."""

    def __init__(self, bus: Bus) -> None:
        """Use the bus, or systemctl's private socket where there is none."""
        self._bus = bus

    async def reload(self) -> None:
        """Read all unit files and drop-ins again. Raises PublishFailed."""
        try:
            await self._bus.call(NAME, PATH, f"{NAME}.Manager", "Reload", seconds=RELOAD_SECONDS)
        except (Unavailable, Refused):
            await self._reload_without_bus()

    async def _reload_without_bus(self) -> None:
        process = await asyncio.create_subprocess_exec(
            "systemctl", "daemon-reload", stderr=asyncio.subprocess.PIPE, stdin=asyncio.subprocess.DEVNULL
        )
        try:
            async with asyncio.timeout(RELOAD_SECONDS):
                _, errors = await process.communicate()
        except TimeoutError:
            process.kill()
            await process.wait()
            errors = b"no answer"
        if process.returncode:
            raise PublishFailed(
                f"systemd did not read the drop-ins again: {errors.decode(errors='replace').strip()}",
                remedy="Run `systemctl daemon-reload`, then start kubelet",
            )
