"""What does NetworkManager know about a link: its device, its profile, its leases?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from ipaddress import IPv4Address, IPv4Interface, IPv6Address
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any

from nodenet.core.value import frozen

MADE_BY_NM = "NM.connection.uuid"
"""The key that NetworkManager gives all it puts into the database; the value is the profile's UUID."""


KEYFILES = PurePosixPath("/etc/NetworkManager/system-connections")
"""Where NetworkManager keeps profiles that outlive a reboot (NetworkManager.conf(5), ``keyfile.path``)."""
EMPTY: Mapping[str, Any] = MappingProxyType({})


def _nothing() -> Mapping[str, Any]:
    return EMPTY


@frozen
class Lease4:
    """A DHCPv4 lease in use, from the options that NetworkManager shows (nm-settings-nmcli(5), DHCP4Config).

    *client_id* as the option ``dhcp_client_identifier`` has it: octets in hexadecimal, with colons, the first one
    the type. *expires* is Unix time, *seconds* the length the server gave, *servers* are those of DNS.
    """

    address: IPv4Interface
    gateway: IPv4Address | None = None
    client_id: str | None = None
    expires: float | None = None
    seconds: float | None = None
    servers: tuple[str, ...] = ()


@frozen
class Lease6:
    """A DHCPv6 lease in use. *duid* in hexadecimal with colons, *iaid* likewise (four octets)."""

    address: IPv6Address | None = None
    duid: str | None = None
    iaid: str | None = None
    expires: float | None = None


@frozen
class Profile:
    """A connection profile of NetworkManager.

    *kind* is ``connection.type``, *link* ``connection.interface-name``, *path* the file ("" while in memory only; then
    not *on_disk*). *settings* is what ``GetSettings`` returns as plain values: setting → property → value, byte arrays
    as text (hexadecimal with colons; SSIDs and paths decoded), ``address-data``, ``route-data`` and ``dns-data``
    instead of the numbers of old. *generated*: NetworkManager made it by itself, for a link that had none.
    """

    uuid: str
    name: str
    kind: str
    link: str = ""
    on_disk: bool = True
    path: str = ""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=_nothing)
    generated: bool = False

    def setting(self, section: str, key: str, default: Any = None) -> Any:  # noqa: ANN401  (any type of D-Bus)
        """Return one property; *default* where NetworkManager leaves it out because it has its default."""
        return self.settings.get(section, EMPTY).get(key, default)


@frozen
class Device:
    """A device of NetworkManager: *kind* as nmcli has it (``ethernet``, ``ovs-bridge`` …), *profile* the active one."""

    link: str
    kind: str
    mac: str | None = None
    permanent_mac: str | None = None
    profile: Profile | None = None
    lease4: Lease4 | None = None
    lease6: Lease6 | None = None


def keyfile_values(content: bytes) -> Iterator[tuple[str, str, str]]:
    """Yield section, key and value of each line of a keyfile (nm-settings-keyfile(5)); other lines are left out."""
    section = ""
    for line in map(str.strip, content.decode(errors="replace").splitlines()):
        key, equals, value = line.partition("=")
        if line.startswith("["):
            section = line.strip("[] ")
        elif equals and not line.startswith("#"):
            yield section, key.strip(), value.strip()
