"""Which DNS configuration does NetworkManager have, and when does it change?

A thin client of org.freedesktop.NetworkManager.DnsManager (its D-Bus API reference). Renewed leases, links
that appear or disappear, and a reloaded configuration all cause its PropertiesChanged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nodenet.core.errors import Unavailable
from nodenet.core.resolver.view import ManagerDns
from nodenet.edge.bus.connection import PROPERTIES, Bus, Refused, Signal, name_owner_changed

MANAGER = "org.freedesktop.NetworkManager"
PATH = "/org/freedesktop/NetworkManager"
NAME = f"{MANAGER}.DnsManager"
DNS_PATH = f"{PATH}/DnsManager"
RELOAD_CONF = 0x1
"""NM_MANAGER_RELOAD_FLAG_CONF: read the configuration files again; profiles are not among them."""
RELOAD_DNS_RC = 0x2
"""NM_MANAGER_RELOAD_FLAG_DNS_RC: write resolv.conf again, without a new connection to anything."""


class DnsManager:
    """NetworkManager's DnsManager over the bus; what it said is kept until it says that it changed."""

    def __init__(self, bus: Bus, changed: Callable[[], None]) -> None:
        """Subscribe; *changed* is called after every change, and when NetworkManager comes or goes."""
        self._bus = bus
        self._changed = changed
        self._known: ManagerDns | None = None
        self._changes = 0
        """How often it said that it changed."""
        bus.subscribe(Signal(MANAGER, DNS_PATH, PROPERTIES, "PropertiesChanged"), lambda _: self._news())
        bus.subscribe(name_owner_changed(MANAGER), lambda _: self._news())

    def forget(self) -> None:
        """Ask again: signals were lost with the bus."""
        self._known = None
        self._changes += 1

    async def dns(self) -> ManagerDns | None:
        """Return what it says, None while it does not answer."""
        if self._known is not None:
            return self._known
        changes = self._changes
        try:
            (found,) = await self._bus.call(MANAGER, DNS_PATH, PROPERTIES, "GetAll", "s", [NAME])
        except (Unavailable, Refused):
            return None
        plain = {key: value.value for key, value in found.items()}
        known = ManagerDns(str(plain.get("RcManager", "")), tuple(_domains(plain.get("Configuration", ()))))
        if changes == self._changes:  # else a signal that came behind the answer was handled before this
            self._known = known
        return known

    async def read_configuration(self) -> str | None:
        """Let it read its configuration files again; return why it does not, if so."""
        return await self._reload(RELOAD_CONF)

    async def repeat_lookups(self) -> str | None:
        """Let it look up the host's name again, with the present resolv.conf; return why it does not, if so."""
        return await self._reload(RELOAD_DNS_RC)

    async def _reload(self, flags: int) -> str | None:
        try:
            await self._bus.call(MANAGER, PATH, MANAGER, "Reload", "u", [flags])
        except (Unavailable, Refused) as error:
            return str(error)
        return None

    def _news(self) -> None:
        self.forget()
        self._changed()


def _domains(configuration: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the search domains of all links, the most important link first; routing-only ones ("~") are not."""
    for entry in configuration:
        yield from (str(name) for name in _plain(entry.get("domains", ())) if not str(name).startswith("~"))


def _plain(value: Any) -> Any:  # noqa: ANN401  (a Variant or what is in one)
    return getattr(value, "value", value)
