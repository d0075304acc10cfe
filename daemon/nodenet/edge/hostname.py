"""Which host name do systemd-hostnamed and the leases of NetworkManager have?"""

from __future__ import annotations

import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from nodenet.core.errors import Unavailable
from nodenet.core.hostname import Origin, Source
from nodenet.edge.bus.connection import PROPERTIES, Bus, Refused, Signal

HOSTNAMED = "org.freedesktop.hostname1"
HOSTNAMED_PATH = "/org/freedesktop/hostname1"


class Hostnamed:
    """The host name, over the kernel and the bus."""

    def __init__(self, bus: Bus, changed: Callable[[], None]) -> None:
        """Subscribe; *changed* is called when hostnamed changes a name."""
        self._bus = bus
        bus.subscribe(Signal(HOSTNAMED, HOSTNAMED_PATH, PROPERTIES, "PropertiesChanged"), lambda _: changed())

    def name(self) -> str:
        """Return the kernel's name, unchanged."""
        return socket.gethostname()

    async def take(self, name: str) -> str | None:
        """Call the host *name* until it shuts down; return why that could not be done, if so.

        A static name that is none, such as localhost, is removed: with it hostnamed takes no other name.
        """
        try:
            if await self._bus.get(HOSTNAMED, HOSTNAMED_PATH, HOSTNAMED, "StaticHostname"):
                await self._bus.call(HOSTNAMED, HOSTNAMED_PATH, HOSTNAMED, "SetStaticHostname", "sb", ["", False])
            await self._bus.call(HOSTNAMED, HOSTNAMED_PATH, HOSTNAMED, "SetHostname", "sb", [name, False])
        except (Unavailable, Refused) as error:
            return str(error)
        return None


NAME = "org.freedesktop.NetworkManager"
PATH = "/org/freedesktop/NetworkManager"
MOST_CONNECTIONS = 64
"""A node with thousands of VLANs has its name by one of the first, if by any."""
NO_OBJECT = "/"
OPTIONS = {
    # the property of a device, the lease's interface → option → what a name by it is
    ("Dhcp4Config", "DHCP4Config"): {"host_name": Origin.DHCP},
    ("Dhcp6Config", "DHCP6Config"): {"fqdn_fqdn": Origin.DHCP6_FQDN, "host_name": Origin.DHCP6_FQDN},
}


class LeaseNames:
    """The names in NetworkManager's leases."""

    def __init__(self, bus: Bus) -> None:
        """Ask over *bus*."""
        self._bus = bus

    async def names(self) -> tuple[Source, ...]:
        """Return them; none while NetworkManager does not answer."""
        found: list[Source] = []
        with suppress(Unavailable, Refused):
            for path in (await self._bus.get(NAME, PATH, NAME, "ActiveConnections"))[:MOST_CONNECTIONS]:
                with suppress(Refused):  # gone between the two questions
                    found += await self._of(path)
        return tuple(found)

    async def _of(self, path: str) -> list[Source]:
        devices: list[str] = await self._bus.get(NAME, path, f"{NAME}.Connection.Active", "Devices")
        return [name for device in devices for name in await self._of_device(device)]

    async def _of_device(self, path: str) -> list[Source]:
        (values,) = await self._bus.call(NAME, path, PROPERTIES, "GetAll", "s", [f"{NAME}.Device"])
        found = []
        for (which, interface), known in OPTIONS.items():
            lease = values[which].value if which in values else NO_OBJECT
            if lease == NO_OBJECT:
                continue
            options: dict[str, Any] = await self._bus.get(NAME, lease, f"{NAME}.{interface}", "Options")
            for option, origin in known.items():
                if option in options:
                    where = f"{values['Interface'].value}: {interface.removesuffix('Config')} {option}"
                    found.append(Source(origin, where, str(options[option].value)))
        return found
