"""What is the name of this host, and how does it get one for this boot?

hostnamed, NetworkManager (DHCP, reverse DNS) and boot loaders all set the kernel's name (hostname(7)), and reading it
needs no bus. A signal of hostnamed reports a change (org.freedesktop.hostname1(5)).
"""

from __future__ import annotations

import socket
from collections.abc import Callable

from nodenet.core.errors import Unavailable
from nodenet.edge.bus.connection import PROPERTIES, Bus, Refused, Signal

NAME = "org.freedesktop.hostname1"
PATH = "/org/freedesktop/hostname1"


class Hostnamed:
    """The host name, over the kernel and the bus."""

    def __init__(self, bus: Bus, changed: Callable[[], None]) -> None:
        """Subscribe; *changed* is called when hostnamed changes a name."""
        self._bus = bus
        bus.subscribe(Signal(NAME, PATH, PROPERTIES, "PropertiesChanged"), lambda _: changed())

    def name(self) -> str:
        """Return the kernel's name, unchanged."""
        return socket.gethostname()

    async def take(self, name: str) -> str | None:
        """Call the host *name* until it shuts down; return why that could not be done, if so.

        A static name that is none, such as localhost, is removed: with it hostnamed takes no other name.
        """
        try:
            if await self._bus.get(NAME, PATH, NAME, "StaticHostname"):
                await self._bus.call(NAME, PATH, NAME, "SetStaticHostname", "sb", ["", False])
            await self._bus.call(NAME, PATH, NAME, "SetHostname", "sb", [name, False])
        except (Unavailable, Refused) as error:
            return str(error)
        return None
