"""Which devices and profiles does NetworkManager have, and how is a profile changed, stored and restored?

A thin client of its D-Bus API. All objects are read with one call, so they belong to one moment, and the settings of
each profile with one more; a thousand links take about a second. A changed profile stays where it was: one of another
program in memory would be half a bridge on the disk.
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from nodenet.core.errors import NotAllowed, OrderRefused, Unavailable
from nodenet.core.network_manager.objects import NAME, PATH, Inventory, KeptProfile, inventory, path_of_link
from nodenet.core.network_manager.state import LeaseMark
from nodenet.edge.bus.connection import PROPERTIES, Bus, Refused, Signal, Variant


def plain(value: Any) -> Any:  # noqa: ANN401  (anything that D-Bus can say)
    """Take the variants away."""
    if isinstance(value, Variant):
        return plain(value.value)
    if isinstance(value, dict):
        return {key: plain(entry) for key, entry in value.items()}
    if isinstance(value, list):
        return [plain(entry) for entry in value]
    return value


def packed(value: Any) -> Any:  # noqa: ANN401
    """Return a value as JSON that says what JSON cannot: each is a list of its kind and its content."""
    if isinstance(value, Variant):
        return ["variant", value.signature, packed(value.value)]
    if isinstance(value, bytes):
        return ["bytes", value.hex()]
    if isinstance(value, dict):
        return ["dict", {key: packed(entry) for key, entry in value.items()}]
    if isinstance(value, list):
        return ["list", [packed(entry) for entry in value]]
    return ["plain", value]


def unpacked(value: list[Any]) -> Any:  # noqa: ANN401
    """Return what ``packed`` was given."""
    kind, *content = value
    if kind == "variant":
        return Variant(content[0], unpacked(content[1]))
    if kind == "bytes":
        return bytes.fromhex(content[0])
    if kind == "dict":
        return {key: unpacked(entry) for key, entry in content[0].items()}
    if kind == "list":
        return [unpacked(entry) for entry in content[0]]
    return content[0]


LIST_SECONDS = 20.0
CHANGE_SECONDS = 20.0
AT_ONCE = 16
"""Calls that wait for an answer at a time."""

_SETTINGS = f"{PATH}/Settings"
_CONNECTION = f"{NAME}.Settings.Connection"
_WHERE_IT_IS, TO_DISK, IN_MEMORY, IN_MEMORY_ONLY, _BLOCK_AUTOCONNECT = 0x0, 0x1, 0x2, 0x8, 0x20
_PRESERVE_EXTERNAL_IP = 0x1
_FOR_EVER = 2**31 - 1
"""A ``dhcp-timeout`` without end (nm-settings-dbus(5))."""
_SECRET_SECTIONS = ("802-1x", "macsec")
"""Settings of wired links that ``GetSettings`` returns without the secrets in them."""
_UNSIGNED = frozenset({"dhcp-hostname-flags", "mptcp-flags", "mtu", "ofport-request", "route-table"})
"""Integers that are an ``u`` (nm-settings-dbus(5)); ``route-metric`` is an ``x``, most are an ``i``."""
_LEGACY = {"address-data": "addresses", "route-data": "routes", "dns-data": "dns"}
"""What says the same as a readable property, and would say what it said before."""

Settings = dict[str, dict[str, Variant]]
Value = Any
"""A string, an integer, a boolean, a list of strings or of maps; None: the default."""
Changes = Mapping[str, Mapping[str, Value]]


class Profiles:
    """NetworkManager's devices and profiles over the bus."""

    def __init__(self, bus: Bus) -> None:
        """Call over *bus*."""
        self._bus = bus
        self._given: dict[str, int] = {}
        """Object of a device's DHCPv4 → how many leases it has had since it was first looked at."""

    async def inventory(self, *, profiles: bool = True) -> Inventory:
        """Return devices, profiles and states, all as they are now. Raises Unavailable.

        Without *profiles* one question is enough: for what is asked again and again.
        """
        objects = await self._objects()
        if not profiles:
            return inventory(objects, {})
        window = asyncio.Semaphore(AT_ONCE)

        async def settings_of(path: str) -> tuple[str, Any]:
            async with window:
                try:
                    (settings,) = await self._bus.call(NAME, path, _CONNECTION, "GetSettings")
                except Refused as error:
                    if error.name.endswith(".PermissionDenied"):
                        raise NotAllowed(
                            f"NetworkManager does not show this user every profile: {error.text}"
                        ) from error
                    return path, None  # deleted since the list was made
                return path, plain(settings)

        paths = [path for path, interfaces in objects.items() if _CONNECTION in interfaces]
        found = dict(await asyncio.gather(*map(settings_of, paths)))
        return inventory(objects, {path: settings for path, settings in found.items() if settings is not None})

    async def leases(self, links: Collection[str]) -> dict[str, LeaseMark]:
        """Return what NetworkManager shows of the DHCPv4 leases of *links*. Raises Unavailable.

        Leases are counted from the first look on.
        """
        objects, found = await self._objects(), {}
        devices = {device.link: device for device in inventory(objects, {}).devices}
        for link in links:
            if (path := path_of_link(objects, link)) is None:
                continue
            general = objects[path][f"{NAME}.Device"]
            config, active = general["Dhcp4Config"], general["ActiveConnection"]
            await self._count(config)
            try:
                settings, _ = await self._call(path, f"{NAME}.Device", "GetAppliedConnection", "u", 0)
            except Refused:  # no profile is active on it
                settings = {}
            applied = plain(settings).get("ipv4", {})
            lease = devices[link].lease4
            address = lease.address.ip if lease else None
            given, asks = f"{config} {self._given.get(config, 0)}", applied.get("method") == "auto"
            found[link] = LeaseMark(address, f"{active} {sorted(applied.items())}", given, asks)
        return found

    async def _count(self, config: str) -> None:
        """Count the leases of a device from now on; NetworkManager says each, whether it differs or not."""
        if config == "/" or config in self._given:
            return
        self._given[config] = 0

        def given(body: Sequence[Any]) -> None:
            self._given[config] += "Options" in body[1]

        await self._bus.listen(Signal(NAME, config, PROPERTIES, "PropertiesChanged"), given)

    async def set(self, uuid: str, changes: Changes) -> bool:
        """Change properties of a profile, where it is; None: back to its default. Return whether anything differed.

        The device that uses it does not change until ``reapply``. Raises Unavailable.
        """
        settings = await self._settings(path := await self._path(uuid))
        before = plain(settings)
        for section, values in changes.items():
            for key, value in values.items():
                _put(settings.setdefault(section, {}), key, value)
        if plain(settings) == before:
            return False
        await self._update(path, settings, _WHERE_IT_IS)
        return True

    async def keep(self, uuid: str) -> KeptProfile:
        """Return a profile with its secrets, for ``give_back``. Raises Unavailable."""
        path = await self._path(uuid)
        settings = await self._settings(path)
        in_memory, file = [(await self._get(path, _CONNECTION, name)) for name in ("Unsaved", "Filename")]
        name = settings["connection"]["id"].value
        return KeptProfile(uuid, name, file, in_memory, {s: packed(values) for s, values in settings.items()})

    async def give_back(self, kept: KeptProfile) -> None:
        """Make the profile what it was, in memory or on disk as it was; deleted ones are added. Raises Unavailable."""
        settings: Settings = {section: unpacked(values) for section, values in kept.settings.items()}
        path = await self._find(kept.uuid)
        if path is None:
            flags = (IN_MEMORY if kept.in_memory else TO_DISK) | _BLOCK_AUTOCONNECT
            await self._ask(_SETTINGS, f"{NAME}.Settings", "AddConnection2", "a{sa{sv}}ua{sv}", settings, flags, {})
        else:
            await self._update(path, settings, IN_MEMORY_ONLY if kept.in_memory else TO_DISK)

    async def store(self, uuid: str, storage: int) -> None:
        """Store a profile, as it is, by one of TO_DISK, IN_MEMORY (its file stays) and IN_MEMORY_ONLY (it goes).

        In memory it is until the next boot. What uses it goes on. Raises Unavailable.
        """
        path = await self._path(uuid)
        await self._update(path, await self._settings(path), storage)

    async def load(self, file: str) -> None:
        """Let NetworkManager read one keyfile again. Raises Unavailable when it cannot."""
        _, failed = await self._ask(_SETTINGS, f"{NAME}.Settings", "LoadConnections", "as", [file])
        if failed:
            raise Unavailable(f"NetworkManager cannot load {file}", remedy="Look at `journalctl -u NetworkManager`")

    async def delete(self, uuid: str) -> bool:
        """Delete a profile, which takes down what uses it; return whether it was there. Raises Unavailable."""
        path = await self._find(uuid)
        if path is None:
            return False
        await self._ask(path, _CONNECTION, "Delete")
        return True

    async def reapply(self, link: str) -> None:
        """Let the device take up what its profile says now, without going down. Raises Unavailable.

        Addresses and routes that others put on the link stay (NetworkManager >= 1.42 knows them). Not for a change
        of IPv6 settings where DHCPv6 is in use: NetworkManager 1.58 then forgets the lease, and asks for none until
        the profile is activated again.
        """
        device = await self._device(link)
        body: tuple[Any, ...] = ("a{sa{sv}}tu", {}, 0)
        try:
            await self._call(device, f"{NAME}.Device", "Reapply", *body, _PRESERVE_EXTERNAL_IP)
        except Refused as error:
            if not error.name.endswith((".InvalidArguments", ".VersionIdMismatch")):
                raise _refused(f"does not reapply the profile of {link}", error) from error
            await self._ask(device, f"{NAME}.Device", "Reapply", *body, 0)

    async def ask_again(self, link: str) -> None:
        """Let the device's DHCPv4 client ask from the beginning; the profile does not change. Raises Unavailable.

        Only a changed setting makes NetworkManager do so; a second less of what is for ever changes nothing else.
        """
        device = await self._device(link)
        settings, version = await self._ask(device, f"{NAME}.Device", "GetAppliedConnection", "u", 0)
        _without_legacy(settings)
        _put(settings.setdefault("ipv4", {}), "dhcp-timeout", _FOR_EVER - 1)
        await self._ask(device, f"{NAME}.Device", "Reapply", "a{sa{sv}}tu", settings, version, _PRESERVE_EXTERNAL_IP)

    async def activate(self, uuid: str, link: str) -> None:
        """Begin to activate a profile on a link, which it makes where it is gone, as a VLAN. Raises Unavailable."""
        path, device = await self._path(uuid), path_of_link(await self._objects(), link)
        if device is None:  # without one, NetworkManager takes any device for a profile that names no link
            (settings,) = await self._ask(path, _CONNECTION, "GetSettings")
            device = "/" if plain(settings)["connection"].get("interface-name") == link else await self._device(link)
        await self._ask(PATH, NAME, "ActivateConnection", "ooo", path, device, "/")

    async def connect(self, link: str) -> None:
        """Begin to activate the profile that NetworkManager finds best for a link. Raises Unavailable."""
        await self._ask(PATH, NAME, "ActivateConnection", "ooo", "/", await self._device(link), "/")

    async def disconnect(self, link: str) -> None:
        """Take down what a link uses; NetworkManager activates nothing on it by itself then. Raises Unavailable."""
        try:
            await self._call(await self._device(link), f"{NAME}.Device", "Disconnect")
        except Refused as error:
            if not error.name.endswith(".Device.NotActive"):
                raise _refused(f"does not disconnect {link}", error) from error

    async def _path(self, uuid: str) -> str:
        path = await self._find(uuid)
        if path is None:
            raise OrderRefused(f"NetworkManager has no profile {uuid}", remedy="Look at `nmcli connection`")
        return path

    async def _find(self, uuid: str) -> str | None:
        try:
            (path,) = await self._call(_SETTINGS, f"{NAME}.Settings", "GetConnectionByUuid", "s", uuid)
        except Refused as error:
            if error.name == f"{NAME}.Settings.InvalidConnection":
                return None
            raise _refused(f"does not say where profile {uuid} is", error) from error
        return str(path)

    async def _device(self, link: str) -> str:
        # Not GetDeviceByIpIface: for br-ex it may return Open vSwitch's bridge or port, which have no addresses.
        path = path_of_link(await self._objects(), link)
        if path is None:
            raise OrderRefused(f"NetworkManager has no device {link}", remedy="Look at `nmcli device`")
        return path

    async def _objects(self) -> Any:  # noqa: ANN401  (object path → interface → property → plain value)
        (tree,) = await self._ask(
            "/org/freedesktop", "org.freedesktop.DBus.ObjectManager", "GetManagedObjects", seconds=LIST_SECONDS
        )
        return plain(tree)

    async def _settings(self, path: str) -> Settings:
        """Return the settings with their secrets: an update without them would forget them.

        What they say twice is left in the newer form: NetworkManager believes the older one, which cannot say as much
        (a route's table for one).
        """
        (settings,) = await self._ask(path, _CONNECTION, "GetSettings")
        _without_legacy(settings)
        for section in settings.keys() & set(_SECRET_SECTIONS):
            (secrets,) = await self._ask(path, _CONNECTION, "GetSecrets", "s", section)
            settings[section] |= secrets.get(section, {})
        result: Settings = settings
        return result

    async def _update(self, path: str, settings: Settings, flags: int) -> None:
        body: tuple[Any, ...] = ("a{sa{sv}}ua{sv}", settings, flags | _BLOCK_AUTOCONNECT, {})
        await self._ask(path, _CONNECTION, "Update2", *body, seconds=CHANGE_SECONDS)

    async def _get(self, path: str, interface: str, name: str) -> Any:  # noqa: ANN401
        try:
            return await self._bus.get(NAME, path, interface, name)
        except Refused as error:
            raise _refused(f"does not report {name} of {path}", error) from error

    async def _ask(
        self, path: str, interface: str, member: str, signature: str = "", *body: object, seconds: float = 5.0
    ) -> list[Any]:
        try:
            return await self._call(path, interface, member, signature, *body, seconds=seconds)
        except Refused as error:
            raise _refused(f"refuses {member}", error) from error

    async def _call(
        self, path: str, interface: str, member: str, signature: str = "", *body: object, seconds: float = 5.0
    ) -> list[Any]:
        return await self._bus.call(NAME, path, interface, member, signature, body, seconds=seconds)


def _refused(what: str, error: Refused) -> OrderRefused:
    return OrderRefused(f"NetworkManager {what}: {error.text}", remedy="Look at `journalctl -u NetworkManager`")


def _without_legacy(settings: Settings) -> None:
    for values in settings.values():
        for newer, older in _LEGACY.items():
            if newer in values:
                values.pop(older, None)


def _put(values: dict[str, Variant], key: str, value: Value) -> None:
    values.pop(_LEGACY.get(key, ""), None)
    if value is None:
        values.pop(key, None)
        return
    integer = "x" if key == "route-metric" else "u" if key in _UNSIGNED else "i"
    inferred = integer if type(value) is int else ""
    values[key] = _variant(value, values[key].signature if key in values else inferred)


def _variant(value: Value, signature: str = "") -> Variant:
    """Return *value* as what NetworkManager calls it; integers within lists of maps are unsigned there."""
    if isinstance(value, list):
        if all(isinstance(entry, str) for entry in value):
            return Variant(signature or "as", value)
        return Variant("aa{sv}", [{name: _variant(part, "") for name, part in entry.items()} for entry in value])
    return Variant(signature or {bool: "b", str: "s", int: "u"}[type(value)], value)
