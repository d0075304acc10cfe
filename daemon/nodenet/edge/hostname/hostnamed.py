"""What is the name of this host, and how is a name made permanent?

hostnamed, NetworkManager (DHCP, reverse DNS) and boot loaders all set the kernel's name (hostname(7)), and reading it
needs no bus. A signal of hostnamed reports a change, and only hostnamed can make a name permanent
(org.freedesktop.hostname1(5)).
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

    async def pin(self, name: str) -> str | None:
        """Make *name* the static name unless one says the same; return why that could not be done, if so."""
        try:
            static = await self._bus.get(NAME, PATH, NAME, "StaticHostname")
            if static.lower() == name:  # kubelet takes upper case as it takes lower case: no reason to write
                return None
            await self._bus.call(NAME, PATH, NAME, "SetStaticHostname", "sb", [name, False])
        except (Unavailable, Refused) as error:
            return str(error)
        return None
