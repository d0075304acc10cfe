"""What must be known of a node before br-ex is made over one of its links?

Everything that ``core.br_ex.uplink`` and ``core.br_ex.plan`` look at: what libnmstate shows, what NetworkManager
and the database of Open vSwitch know beyond that, and the files that name a link. Values only, no judgement.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Interface, IPv6Address
from types import MappingProxyType
from typing import Any

from nodenet.core.kernel.snapshot import IPAddress
from nodenet.core.nmstate import state as shown

PHYSICAL = frozenset({"", "system", "dpdk", "afxdp"})
"""Types of interfaces of Open vSwitch that stand for a link of the host (ovs-vswitchd.conf.db(5), Interface)."""
MARK = "nodenet-uplink"
"""The key in a bridge's ``external_ids`` that makes it ours; the value is the uplink. NetworkManager keeps it in the
bridge's profile and in the database, so that either tells of it when the other is gone."""
ADOPTED = "nodenet-adopted"
"""The key by which the database tells that we keep a bridge that the old script made; the value is the uplink."""
MADE_BY_NM = "NM.connection.uuid"
"""The key that NetworkManager gives all it puts into the database; the value is the profile's UUID."""
EMPTY: Mapping[str, Any] = MappingProxyType({})


def _nothing() -> Mapping[str, Any]:
    return EMPTY


@dataclass(frozen=True, slots=True)
class Lease4:
    """A DHCPv4 lease in use, from the options that NetworkManager tells of it (nm-settings-nmcli(5), DHCP4Config).

    *client_id* as the option ``dhcp_client_identifier`` has it: octets in hexadecimal, with colons, the first one
    the type. *expires* is Unix time, *seconds* the length the server gave, *servers* are those of DNS.
    """

    address: IPv4Interface
    gateway: IPv4Address | None = None
    client_id: str | None = None
    expires: float | None = None
    seconds: float | None = None
    servers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Lease6:
    """A DHCPv6 lease in use. *duid* in hexadecimal with colons, *iaid* likewise (four octets)."""

    address: IPv6Address | None = None
    duid: str | None = None
    iaid: str | None = None
    expires: float | None = None


@dataclass(frozen=True, slots=True)
class Profile:
    """A connection profile of NetworkManager.

    *kind* is ``connection.type``, *link* ``connection.interface-name``, *path* the file ("" while in memory only; then
    not *on_disk*). *settings* is what ``GetSettings`` returns as plain values: setting → property → value, byte arrays
    as text (hexadecimal with colons; SSIDs and paths decoded), ``address-data``, ``route-data`` and ``dns-data``
    instead of the numbers of old.
    """

    uuid: str
    name: str
    kind: str
    link: str = ""
    on_disk: bool = True
    path: str = ""
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=_nothing)

    def setting(self, section: str, key: str, default: Any = None) -> Any:  # noqa: ANN401  (any type of D-Bus)
        """Return one property; *default* where NetworkManager leaves it out because it has its default."""
        return self.settings.get(section, EMPTY).get(key, default)


@dataclass(frozen=True, slots=True)
class Device:
    """A link as NetworkManager has it: *kind* by its word (``ethernet``, ``ovs-bridge`` …), *profile* the active one.

    *managed*: NetworkManager may touch it.
    """

    link: str
    kind: str
    mac: str | None = None
    permanent_mac: str | None = None
    managed: bool = True
    profile: Profile | None = None
    lease4: Lease4 | None = None
    lease6: Lease6 | None = None


@dataclass(frozen=True, slots=True)
class OvsInterface:
    """A row of the table Interface; *kind* is its ``type`` ("" or ``system``, ``internal``, ``patch`` …)."""

    name: str
    kind: str = ""
    error: str | None = None
    external_ids: Mapping[str, str] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class OvsPort:
    """A row of the table Port."""

    name: str
    interfaces: tuple[OvsInterface, ...] = ()
    external_ids: Mapping[str, str] = field(default_factory=_nothing)

    @property
    def by_network_manager(self) -> bool:
        """Whether NetworkManager put it there."""
        return MADE_BY_NM in self.external_ids


@dataclass(frozen=True, slots=True)
class OvsBridge:
    """A row of the table Bridge; *datapath* is ``datapath_type``: "" or ``system``, ``netdev``."""

    name: str
    datapath: str = ""
    ports: tuple[OvsPort, ...] = ()
    external_ids: Mapping[str, str] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class BridgeFacts:
    """All that a plan is made of.

    *state* is what ``libnmstate.show()`` returns; *temporary* are the addresses that the kernel flags so (privacy).
    *global_dns*: NetworkManager has a ``GlobalDnsConfiguration``, which hides the name servers of all profiles.
    *sysctls*: link → name below ``/proc/sys`` with the link left out (``net/ipv4/conf/forwarding``) → value; the entry
    ``default`` has those of a new link. *default_bridge* and *extra_bridge* are the files' text, None: no such file.
    *remembered* is the uplink of the last boot.
    """

    state: Mapping[str, Any] = field(default_factory=_nothing)
    temporary: tuple[IPAddress, ...] = ()
    global_dns: bool = False
    devices: tuple[Device, ...] = ()
    profiles: tuple[Profile, ...] = ()
    sysctls: Mapping[str, Mapping[str, str]] = field(default_factory=_nothing)
    node_ips: tuple[IPAddress, ...] = ()
    node_ip_link: str | None = None
    default_bridge: str | None = None
    extra_bridge: str | None = None
    remembered: str | None = None
    remembered_mac: str | None = None
    ovs: tuple[OvsBridge, ...] = ()

    def device(self, link: str) -> Device | None:
        """Return NetworkManager's device of that name; Open vSwitch's bridge and interface share one, the last wins."""
        return {device.link: device for device in self.devices if device.kind != "ovs-bridge"}.get(link)

    def bridge(self, name: str) -> OvsBridge | None:
        """Return what the database has under that name."""
        return next((bridge for bridge in self.ovs if bridge.name == name), None)

    def uplink_of(self, bridge: str) -> str | None:
        """Return the link of the host that is a port of *bridge* now; None without any.

        Anybody may add a port: one that exists comes first, then the one that the bridge was made over, then what
        NetworkManager put there.
        """
        known = self.bridge(bridge)
        if known is None:
            stated = shown.ovs_bridge(self.state, bridge)
            names = {name for name in (shown.ports(stated) if stated else ()) if self._is_outside(name)}
            return min((name for name in names if shown.link(self.state, name) is not None), default=None)
        made_over = known.external_ids.get(MARK, known.external_ids.get(ADOPTED))
        ranks = [
            (shown.link(self.state, item.name) is None, item.name != made_over, not port.by_network_manager, item.name)
            for port in known.ports
            for item in port.interfaces
            if item.kind in PHYSICAL and item.name != bridge
        ]
        return min(ranks)[-1] if ranks else None

    def _is_outside(self, name: str) -> bool:
        return (shown.link(self.state, name) or {}).get("type") != shown.OVS_INTERFACE
