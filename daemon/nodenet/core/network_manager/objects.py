"""What do the objects that NetworkManager has on the bus mean? (its D-Bus API reference, "D-Bus API Types")

Everything here takes plain values: the edge has unpacked the variants.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from ipaddress import IPv4Address, IPv4Interface, IPv6Address, ip_address
from pathlib import PurePath
from typing import Any

from nodenet.core.network_manager.profiles import Device, Lease4, Lease6, Profile
from nodenet.core.value import frozen

NAME = "org.freedesktop.NetworkManager"
PATH = "/org/freedesktop/NetworkManager"

Objects = Mapping[str, Mapping[str, Mapping[str, Any]]]
"""Object path → interface → property → value."""

_CAPABILITY_OVS = 2
_FLAG_UNSAVED, _FLAG_GENERATED = 0x1, 0x2
_KINDS = {
    # NMDeviceType, by the names that nmcli has for them
    1: "ethernet",
    2: "wifi",
    5: "bt",
    6: "olpc-mesh",
    8: "modem",
    9: "infiniband",
    10: "bond",
    11: "vlan",
    12: "adsl",
    13: "bridge",
    14: "generic",
    15: "team",
    16: "tun",
    17: "ip-tunnel",
    18: "macvlan",
    19: "vxlan",
    20: "veth",
    21: "macsec",
    22: "dummy",
    23: "ppp",
    24: "ovs-interface",
    25: "ovs-port",
    26: "ovs-bridge",
    27: "wpan",
    28: "6lowpan",
    29: "wireguard",
    30: "wifi-p2p",
    31: "vrf",
    32: "loopback",
    33: "hsr",
    34: "ipvlan",
}
DISCONNECTED = "disconnected"
"""A device that could be used, and is not."""
UNMANAGED, UNAVAILABLE = "unmanaged", "unavailable"
IDLE = (UNMANAGED, UNAVAILABLE, DISCONNECTED)
"""What the words of a device begin with that NetworkManager does nothing on."""
_STATES = {
    # NMDeviceState
    10: UNMANAGED,
    20: UNAVAILABLE,
    30: DISCONNECTED,
    40: "preparing",
    50: "configuring",
    60: "needs secrets",
    70: "getting its IP configuration",
    80: "being checked",
    90: "waiting for another connection",
    100: "activated",
    110: "deactivating",
    120: "failed",
}
_ENDED = (100, 120)
_ACTIVATING = range(40, 91, 10)
_REASONS = {
    # NMDeviceStateReason: those that an administrator of a node can meet
    4: "its configuration cannot be made ready",
    5: "its IP configuration could not be made",
    6: "its address expired",
    15: "DHCP could not be started",
    16: "DHCP failed",
    17: "the DHCP client broke",
    36: "the link is gone",
    38: "its profile was removed",
    39: "it was asked for",
    40: "no carrier",
    53: "what it depends on failed",
    60: "a new activation",
    62: "its parent changed",
    65: "Open vSwitch's database failed",
    68: "another program's",
}
_NO_LINK = ("ovs-bridge", "ovs-port")
"""Kinds of devices that the kernel knows nothing of."""
_LEGACY = frozenset({"addresses", "routes", "dns"})
"""Numbers, of which ``address-data``, ``route-data`` and ``dns-data`` are the readable form."""
_TEXT_IN_BYTES = frozenset({"ssid", "ca-cert", "client-cert", "private-key", "phase2-ca-cert", "phase2-private-key"})


@frozen
class Inventory:
    """What NetworkManager has at one moment.

    *states*: link → its state in words. *ovs*: it can do Open vSwitch. *global_dns*: it has a DNS configuration that
    hides the name servers of all profiles. *settled*: links whose activation has ended, well or not; *activating*: it
    goes on. *automatic*: those of them with a profile that NetworkManager made by itself, in memory.
    """

    devices: tuple[Device, ...] = ()
    profiles: tuple[Profile, ...] = ()
    states: Mapping[str, str] = field(default_factory=dict)
    ovs: bool = False
    global_dns: bool = False
    settled: frozenset[str] = frozenset()
    automatic: frozenset[str] = frozenset()
    activating: frozenset[str] = frozenset()

    def is_spare(self, profile: Profile) -> bool:
        """Return whether no link uses *profile*, and none will without an order."""
        used = any(each.profile and each.profile.uuid == profile.uuid for each in self.devices)
        return not used and profile.setting("connection", "autoconnect", default=True) is False


def inventory(objects: Objects, settings: Mapping[str, Mapping[str, Any]]) -> Inventory:
    """Return what *objects* say; *settings* are those of each profile, by its path."""
    profiles = {path: profile(found, objects[path][_of("Settings.Connection")]) for path, found in settings.items()}
    entries = [entry for _, entry in sorted(_devices(objects), key=lambda item: _order(*item))]
    devices = tuple(_device(entry, objects, profiles) for entry in entries)
    states = (_state(entry[_of("Device")]) for entry in entries)
    numbers = {device.link: entry[_of("Device")].get("State") for device, entry in zip(devices, entries, strict=True)}
    in_memory = {device.link for device in devices if device.profile and not device.profile.on_disk}
    itself = objects.get(PATH, {}).get(NAME, {})
    return Inventory(
        devices,
        tuple(sorted(profiles.values(), key=lambda each: (each.name, each.uuid))),
        dict(zip((device.link for device in devices), states, strict=True)),
        _CAPABILITY_OVS in itself.get("Capabilities", ()),
        bool(itself.get("GlobalDnsConfiguration")),
        frozenset(link for link, state in numbers.items() if state in _ENDED),
        frozenset(link for link, state in numbers.items() if state in _ACTIVATING and link in in_memory),
        frozenset(link for link, state in numbers.items() if state in _ACTIVATING),
    )


def _of(interface: str) -> str:
    return f"{NAME}.{interface}"


def _devices(objects: Objects) -> Iterator[tuple[str, Mapping[str, Mapping[str, Any]]]]:
    """Yield the real devices; NetworkManager also lists those that a profile could make."""
    for path, entry in objects.items():
        if entry.get(_of("Device"), {}).get("Real"):
            yield path, entry


def path_of_link(objects: Objects, link: str) -> str | None:
    """Return the object path of the device that has the addresses of *link*; Open vSwitch's others share its name."""
    named = ((path, entry) for path, entry in _devices(objects) if entry[_of("Device")].get("Interface") == link)
    found = [(_order(path, entry), path) for path, entry in named if _is_link(entry)]
    return max(found)[1] if found else None


def _is_link(entry: Mapping[str, Mapping[str, Any]]) -> bool:
    """Return whether NetworkManager gives addresses to a device.

    It manages no tun device of Open vSwitch's userspace datapath: the ovs-interface of the same name has the addresses.
    """
    general = entry[_of("Device")]
    return bool(general.get("Managed", True)) and _KINDS.get(general["DeviceType"]) not in _NO_LINK


def _order(path: str, entry: Mapping[str, Mapping[str, Any]]) -> tuple[bool, int]:
    """Sort as they came, those without addresses first: of devices with one name, the last is the link."""
    last = path.rsplit("/", 1)[-1]
    return _is_link(entry), int(last) if last.isdigit() else 0


def _device(entry: Mapping[str, Mapping[str, Any]], objects: Objects, profiles: Mapping[str, Profile]) -> Device:
    general = entry[_of("Device")]
    active = objects.get(general["ActiveConnection"], {}).get(_of("Connection.Active"), {})
    options4, options6 = (
        objects.get(general[f"Dhcp{version}Config"], {}).get(_of(f"DHCP{version}Config"), {}).get("Options", {})
        for version in (4, 6)
    )
    permanent = entry.get(_of("Device.Wired"), {}).get("PermHwAddress")
    return Device(
        link=general["Interface"],
        kind=_KINDS.get(general["DeviceType"], "unknown"),
        mac=_mac(general.get("HwAddress")),
        permanent_mac=_mac(permanent),
        profile=profiles.get(active.get("Connection", "")),
        lease4=lease4(options4),
        lease6=lease6(options6),
    )


def _mac(text: str | None) -> str | None:
    return text.lower() if text else None


def _state(general: Mapping[str, Any]) -> str:
    state, reason = general.get("StateReason", (general.get("State"), 0))
    word = _STATES.get(state, f"in state {state}")
    return f"{word} ({_REASONS[reason]})" if reason in _REASONS and state != 100 else word


def lease4(options: Mapping[str, str]) -> Lease4 | None:
    """Return the DHCPv4 lease that these options describe, None without one."""
    try:
        address = IPv4Interface(f"{options['ip_address']}/{options.get('subnet_mask', 32)}")
    except (KeyError, ValueError):
        return None
    return Lease4(
        address,
        _gateway(options),
        options.get("dhcp_client_identifier"),
        _seconds(options.get("expiry")),
        _seconds(options.get("dhcp_lease_time")),
        tuple(options.get("domain_name_servers", "").split()),
    )


def _gateway(options: Mapping[str, str]) -> IPv4Address | None:
    """Return the router; where classless routes came, theirs, if they have one (RFC 3442)."""
    for name in ("rfc3442_classless_static_routes", "ms_classless_static_routes"):
        words = options.get(name, "").split()
        if words and "/" in words[0]:
            routes = dict(zip(words[::2], words[1::2], strict=False))
            return _ipv4(routes.get("0.0.0.0/0"))
    return _ipv4(next(iter(options.get("routers", "").split()), None))


def _ipv4(text: str | None) -> IPv4Address | None:
    try:
        return IPv4Address(text) if text else None
    except ValueError:
        return None


def lease6(options: Mapping[str, str]) -> Lease6 | None:
    """Return the DHCPv6 lease that these options describe; one without an address gave options only."""
    if not options.get("dhcp6_client_id"):
        return None
    try:
        address = IPv6Address(options["ip6_address"].split("/")[0])
    except (KeyError, ValueError):
        address = None
    return Lease6(address, options["dhcp6_client_id"], options.get("iaid"), _expires6(options))


def _expires6(options: Mapping[str, str]) -> float | None:
    """Return the end of the valid lifetime: only dhclient reports it."""
    begin, length = _seconds(options.get("life_starts")), _seconds(options.get("max_life"))
    return begin + length if begin is not None and length is not None else None


def _seconds(text: str | None) -> float | None:
    try:
        return float(text) if text else None
    except ValueError:
        return None


def profile(settings: Mapping[str, Mapping[str, Any]], properties: Mapping[str, Any]) -> Profile:
    """Return a profile from its settings and from its object's properties."""
    connection = settings["connection"]
    flags = properties.get("Flags", 0)
    unsaved = properties.get("Unsaved", False) or bool(flags & _FLAG_UNSAVED)
    return Profile(
        uuid=connection["uuid"],
        name=connection["id"],
        kind=connection["type"],
        link=connection.get("interface-name", ""),
        on_disk=not unsaved,
        path=properties.get("Filename", ""),
        settings={section: dict(_readable(values)) for section, values in settings.items()},
        generated=bool(flags & _FLAG_GENERATED),
    )


def _readable(values: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        if isinstance(value, bytes):
            text = value.rstrip(b"\0").decode(errors="backslashreplace")
            yield key, text if key in _TEXT_IN_BYTES else value.hex(":")
        elif key not in _LEGACY:
            yield key, value
    if values.get("dns") and "dns-data" not in values:  # NetworkManager < 1.42
        yield "dns-data", [_server(server) for server in values["dns"]]


def _server(server: int | bytes) -> str:
    """Return a nameserver: IPv4 as a number in network byte order, IPv6 as its bytes."""
    return str(ip_address(server if isinstance(server, bytes) else struct.pack("=I", server)))


@frozen
class KeptProfile:
    """A profile with its secrets: the file it is kept in is for root only.

    *settings* is JSON of the edge's making, with the types of D-Bus. *keyfile* is the text of the file at *path*,
    which an administrator may have commented; None where it could not be read as text. *in_memory*: it would not
    have survived a reboot.
    """

    uuid: str
    name: str
    path: str
    in_memory: bool
    settings: Any
    keyfile: str | None = None

    @property
    def file(self) -> PurePath | None:
        """The keyfile on disk, if it was one."""
        return PurePath(self.path) if self.path and not self.in_memory else None

    @property
    def link(self) -> str:
        """The link that the profile names, "" where it names none."""
        return self._text("interface-name")

    @property
    def kind(self) -> str:
        """``connection.type``."""
        return self._text("type")

    @property
    def controller_kind(self) -> str:
        """What the link is a port of, as ``ovs-port`` or ``bond``; "" for no port."""
        return self._text("port-type") or self._text("slave-type")

    def _text(self, key: str) -> str:
        packed = self.settings.get("connection") if isinstance(self.settings, dict) else None
        values = packed[1] if isinstance(packed, list) else packed
        match values.get(key) if isinstance(values, dict) else None:
            case ["variant", "s", ["plain", str(text)]]:
                return text
        return ""

    def for_link(self, old: str, new: str) -> KeptProfile:
        """Return the profile for a link that was called *old* and is called *new* now.

        A profile that matches its link by anything else than that name is returned unchanged.
        """
        settings = json.loads(json.dumps(self.settings).replace(_named(old), _named(new)))
        keyfile = self.keyfile and re.sub(
            rf"(?m)^(interface-name[ \t]*=[ \t]*){re.escape(old)}[ \t]*$", rf"\g<1>{new}", self.keyfile
        )
        return replace(self, settings=settings, keyfile=keyfile)


def _named(link: str) -> str:
    """Return ``connection.interface-name`` as the settings have it."""
    return f'"interface-name": ["variant", "s", {json.dumps(["plain", link])}]'
