"""Which names did DHCP servers give this host?

A thin client of NetworkManager: the options of the leases of the devices that its active connections use (its D-Bus API
reference, Device and DHCP6Config; option names as dhcp-options(5) has them, with ``_`` for ``-``). An active connection
itself shows its leases only when it is activated, and NetworkManager takes a name from them before.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from nodenet.core.errors import Unavailable
from nodenet.core.hostname.sources import Origin, Source
from nodenet.edge.bus.connection import PROPERTIES, Bus, Refused

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
