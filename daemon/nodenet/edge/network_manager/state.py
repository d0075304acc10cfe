"""What does NetworkManager say of itself, its checkpoints and its DNS?"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from nodenet.core.errors import RollbackFailed, Unavailable
from nodenet.core.network_manager.objects import NAME, PATH
from nodenet.core.network_manager.state import Checkpoint, ManagerState, rollback_forgets_dns
from nodenet.core.resolver import ManagerDns
from nodenet.edge.bus.connection import DBUS, PROPERTIES, Bus, Refused, Signal, Variant, name_owner_changed

ROLLBACK_SECONDS = 90.0
"""NetworkManager answers a rollback only when every device is back where it was."""


class NetworkManager:
    """NetworkManager over the bus."""

    def __init__(self, bus: Bus, changed: Callable[[], None]) -> None:
        """Subscribe; *changed* is called after every change of NetworkManager's own state or owner."""
        self._bus = bus
        for signal in (
            Signal(NAME, PATH, NAME, "StateChanged"),
            Signal(NAME, PATH, PROPERTIES, "PropertiesChanged"),
            name_owner_changed(NAME),
        ):
            bus.subscribe(signal, lambda _: changed())

    async def state(self) -> ManagerState:
        """Return how far NetworkManager is; never raises."""
        try:
            version = await self._bus.get(NAME, PATH, NAME, "Version")
            starting = await self._bus.get(NAME, PATH, NAME, "Startup")
        except Unavailable:
            return await self._without_answer()
        except Refused:
            return ManagerState.STARTING  # on the bus, its objects are not yet
        return ManagerState.STARTING if starting or not version else ManagerState.READY

    async def _without_answer(self) -> ManagerState:
        """Return why there is no answer: the bus answers for itself whether NetworkManager hangs or is not there."""
        if not self._bus.connected:
            return ManagerState.NO_BUS
        try:
            await self.owner()
        except Unavailable:
            return ManagerState.ABSENT
        return ManagerState.SILENT

    def is_away(self) -> bool:
        """Return whether the bus has reported that no program has its name. Nothing is asked."""
        return self._bus.connected and self._bus.has_owner(NAME) is False

    async def owner(self) -> str:
        """Return the unique name of the process that runs now (GetNameOwner). Raises Unavailable."""
        try:
            (owner,) = await self._bus.call(*DBUS, "GetNameOwner", "s", [NAME])
        except Refused as error:
            raise Unavailable(f"NetworkManager is not on the bus ({error.text})") from error
        return str(owner)

    async def lease_seconds(self, link: str) -> int | None:
        """Return for how long a DHCPv4 server gave *link* its address, None without a lease. Raises Unavailable."""
        try:
            device = await self._bus.call(NAME, PATH, NAME, "GetDeviceByIpIface", "s", [link])
            lease = await self._bus.get(NAME, device[0], f"{NAME}.Device", "Dhcp4Config")
            options = await self._bus.get(NAME, lease, f"{NAME}.DHCP4Config", "Options")
        except Refused:  # no such device, or no lease
            return None
        given = options.get("dhcp_lease_time")
        return int(given.value) if given and str(given.value).isdecimal() else None

    async def fragile_dns(self) -> object | None:
        """Return the global DNS configuration if a rollback would not bring it back, else None. Raises Unavailable."""
        try:
            if not rollback_forgets_dns(await self._bus.get(NAME, PATH, NAME, "Version")):
                return None
            configuration: object = await self._bus.get(NAME, PATH, NAME, "GlobalDnsConfiguration")
        except Refused as error:
            raise Unavailable(f"NetworkManager does not report its DNS configuration ({error.text})") from error
        return configuration

    async def restore_dns(self, configuration: object) -> None:
        """Put back what ``fragile_dns`` returned. Raises RollbackFailed, Unavailable."""
        wanted = [NAME, "GlobalDnsConfiguration", Variant("a{sv}", configuration)]
        try:
            await self._bus.call(NAME, PATH, PROPERTIES, "Set", "ssv", wanted)
        except Refused as error:
            raise RollbackFailed(
                f"NetworkManager did not take its DNS configuration back: {error.text}",
                remedy="Look at /etc/resolv.conf and set the nameservers by hand",
            ) from error

    async def checkpoints(self) -> tuple[Checkpoint, ...]:
        """Return the pending checkpoints. Raises Unavailable."""
        try:
            paths = await self._bus.get(NAME, PATH, NAME, "Checkpoints")
        except Refused as error:
            raise Unavailable(f"NetworkManager does not list its checkpoints ({error.text})") from error
        found: list[Checkpoint] = []
        for path in paths:
            with contextlib.suppress(Refused):  # gone between the two questions
                created = await self._bus.get(NAME, path, f"{NAME}.Checkpoint", "Created")
                seconds = await self._bus.get(NAME, path, f"{NAME}.Checkpoint", "RollbackTimeout")
                found.append(Checkpoint(path, created / 1000, seconds))
        return tuple(found)

    async def extend(self, checkpoint: str, seconds: int) -> None:
        """Let NetworkManager wait *seconds* from now before it rolls *checkpoint* back by itself. Raises Unavailable.

        CheckpointAdjustRollbackTimeout (NetworkManager >= 1.12).
        """
        try:
            await self._bus.call(NAME, PATH, NAME, "CheckpointAdjustRollbackTimeout", "ou", [checkpoint, seconds])
        except Refused as error:
            raise Unavailable(f"NetworkManager does not keep checkpoint {checkpoint} open: {error.text}") from error

    async def roll_back(self, checkpoint: str) -> None:
        """Put the network back as it was at *checkpoint*. Raises RollbackFailed, Unavailable."""
        try:
            (results,) = await self._bus.call(
                NAME, PATH, NAME, "CheckpointRollback", "o", [checkpoint], seconds=ROLLBACK_SECONDS
            )
        except Refused as error:
            raise RollbackFailed(
                f"NetworkManager could not roll back checkpoint {checkpoint}: {error.text}",
                remedy="Look at `journalctl -u NetworkManager` and bring the link up by hand",
            ) from error
        failed = [device for device, result in results.items() if result]
        if failed:
            raise RollbackFailed(
                f"NetworkManager could not bring back {len(failed)} of {len(results)} devices",
                remedy="Look at `journalctl -u NetworkManager` and bring the links up by hand",
            )


# Which DNS configuration does NetworkManager have, and when does it change?

DNS_MANAGER = f"{NAME}.DnsManager"
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
        bus.subscribe(Signal(NAME, DNS_PATH, PROPERTIES, "PropertiesChanged"), lambda _: self._news())
        bus.subscribe(name_owner_changed(NAME), lambda _: self._news())

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
            (found,) = await self._bus.call(NAME, DNS_PATH, PROPERTIES, "GetAll", "s", [DNS_MANAGER])
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
            await self._bus.call(NAME, PATH, NAME, "Reload", "u", [flags])
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
