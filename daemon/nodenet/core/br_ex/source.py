"""Which link has the IP configuration of a bridge now: still its uplink, or already the bridge?"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Interface, IPv6Address, IPv6Interface, ip_interface
from typing import Any

from nodenet.core.br_ex.facts import MARK, BridgeFacts
from nodenet.core.network_manager.profiles import Device, Lease4, Lease6, Profile
from nodenet.core.nmstate import state
from nodenet.core.nmstate.state import FIRST
from nodenet.core.value import frozen

LINK_LOCAL = "fe80::/10"
Interface = IPv4Interface | IPv6Interface


@frozen
class Source:
    """The link that has the configuration. *mac* is the uplink's, and the bridge's too where *keeps_mac*.

    *uplink* is the link below the bridge, *link* the one that has the addresses: the same until the bridge is made.
    """

    facts: BridgeFacts
    link: str
    uplink: str
    item: Mapping[str, Any]
    uplink_item: Mapping[str, Any]
    device: Device | None

    @property
    def profile(self) -> Profile | None:
        """The profile that configures the link."""
        return self.device.profile if self.device else None

    @property
    def lease4(self) -> Lease4 | None:
        """The DHCPv4 lease in use."""
        return self.device.lease4 if self.device else None

    @property
    def lease6(self) -> Lease6 | None:
        """The DHCPv6 lease in use."""
        return self.device.lease6 if self.device else None

    @property
    def mac(self) -> str | None:
        """The uplink's MAC, in lower case; that of the bridge where it exists and keeps its own."""
        kept = self.item if self.has_mac else self.uplink_item
        device = self.facts.device(self.uplink)
        found = kept.get("mac-address") or (device.mac if device else None)
        return str(found).lower() if found else None

    @property
    def has_mac(self) -> bool:
        """Whether the bridge exists and keeps the MAC it has.

        A bond has the MAC of whichever port was attached first (bonding.rst of the kernel), and a VLAN on it too: it
        may be another one after each activation. A link that takes the place of another one has a MAC of its own. The
        node is known by the one that the bridge was made with.
        """
        made = self.link != self.uplink
        return made and (self.first is not None or self.uplink_item.get("type") in {"bond", "vlan"})

    @property
    def replaced(self) -> str | None:
        """The link below the bridge that the uplink is to take the place of, if any."""
        port = self.facts.uplink_of(self.link) if self.link != self.uplink else None
        return None if port == self.uplink else port

    @property
    def first(self) -> str | None:
        """The link that the bridge was made over, once another one has taken its place, or is to."""
        row = self.facts.bridge(self.link)
        return row.external_ids.get(FIRST, self.replaced) if row else None

    @property
    def keeps_mac(self) -> bool:
        """Whether the bridge gets the uplink's MAC.

        The MAC of an active-backup bond with ``fail_over_mac`` is that of the port in use (bonding.rst of the kernel):
        a copy would be the MAC of another host's switch port after a failover.
        """
        options = self.uplink_item.get("link-aggregation", {})
        moving = str(options.get("options", {}).get("fail_over_mac", "none"))
        return not (options.get("mode") == "active-backup" and moving in {"active", "follow", "1", "2"})

    def ip(self, family: str) -> Mapping[str, Any]:
        """Return what libnmstate shows of *family*."""
        return self.item.get(family) or {}

    def setting(self, section: str, key: str, default: Any = None) -> Any:  # noqa: ANN401  (any type of D-Bus)
        """Return a property of the profile."""
        return self.profile.setting(section, key, default) if self.profile else default

    def method(self, family: str) -> str:
        """Return NetworkManager's method, from what is shown where no profile says it."""
        configured = self.setting(family, "method")
        if configured:
            return str(configured)
        ip = self.ip(family)
        if not ip.get("enabled"):
            return "disabled"
        return "auto" if ip.get("dhcp") or ip.get("autoconf") else "manual"

    def static(self, family: str) -> list[Interface]:
        """Return the static addresses in order: the profile's, else those shown without a lifetime."""
        listed = self.setting(family, "address-data")
        if listed:
            return [_interface(f"{item['address']}/{item['prefix']}") for item in listed]
        if self.profile is not None and self.method(family) != "manual":
            return []
        return [item for item in self.shown(family) if item not in self.dynamic(family)]

    def shown(self, family: str) -> list[Interface]:
        """Return every address but the link-local ones of IPv6, which the kernel makes."""
        found = [_interface(f"{item['ip']}/{item['prefix-length']}") for item in self.ip(family).get("address") or ()]
        return [item for item in found if not (item.version == 6 and item.is_link_local)]

    def dynamic(self, family: str) -> list[Interface]:
        """Return the addresses that end by themselves: leased or autoconfigured."""
        parts = self.ip(family).get("address") or ()
        ending = {_interface(f"{item['ip']}/{item['prefix-length']}") for item in parts if _ends(item)}
        leased = self.lease4.address if self.lease4 and family == "ipv4" else None
        return [item for item in self.shown(family) if item in ending or item == leased]

    def autoconfigured(self) -> list[IPv6Address]:
        """Return the addresses made from router advertisements (RFC 4862), privacy addresses left out.

        Those that DHCPv6 leases have no prefix: NetworkManager gives them 128 bits.
        """
        without = {*self.facts.temporary, *(item.ip for item in self.static("ipv6"))}
        found = [item for item in self.dynamic("ipv6") if item.network.prefixlen == 64]
        return [IPv6Address(item.ip) for item in found if item.ip not in without]


@lru_cache(maxsize=32)
def _interface(text: str) -> Interface:
    """Return the address with its prefix; a plan asks for the same ones many times."""
    return ip_interface(text)


def source_of(facts: BridgeFacts, bridge: str, uplink: str) -> Source:
    """Return the link that has the configuration. The uplink is known to exist.

    A bridge over another link has that link's configuration, not this one's, unless this one takes its place.
    """
    below = state.link(facts.state, uplink) or {}
    above = state.link(facts.state, bridge)
    made = above is not None and above.get("type") == state.OVS_INTERFACE and _has_ip(above)
    port = facts.uplink_of(bridge)
    # After a power cut the bridge may have the addresses and no uplink: those of the uplink moved to it already.
    stays = port == uplink or (port is None and not _has_ip(below)) or takes_over(facts, bridge, uplink)
    if above is not None and made and stays:
        return Source(facts, bridge, uplink, above, below, facts.device(bridge))
    return Source(facts, uplink, uplink, below, below, facts.device(uplink))


def takes_over(facts: BridgeFacts, bridge: str, uplink: str) -> bool:
    """Return whether *uplink* takes the place of the link below *bridge*, which keeps its configuration.

    It is another cable to the same network: it has no address, or addresses in networks of the bridge only. A link in
    another network brings its own configuration, and so does one that has the node IP.
    """
    row, port = facts.bridge(bridge), facts.uplink_of(bridge)
    above, below = state.link(facts.state, bridge), state.link(facts.state, uplink)
    is_ours = row is not None and MARK in row.external_ids
    if not is_ours or port in (None, uplink) or uplink == facts.node_ip_link or not (above and below):
        return False
    if state.link(facts.state, str(port)) is None:  # its NIC may have another name now
        return False
    return bool(networks := _networks(above)) and _networks(below) <= networks


def _networks(item: Mapping[str, Any]) -> set[str]:
    """Return the networks of the addresses of a link, without the link-local one."""
    parts = [part for family in ("ipv4", "ipv6") for part in (item.get(family) or {}).get("address") or ()]
    found = (_interface(f"{part['ip']}/{part['prefix-length']}") for part in parts)
    return {str(each.network) for each in found if not each.is_link_local}


def _has_ip(item: Mapping[str, Any]) -> bool:
    return any((item.get(family) or {}).get("enabled") for family in ("ipv4", "ipv6"))


def _ends(item: Mapping[str, Any]) -> bool:
    return str(item.get("valid-life-time", "forever")) not in {"forever", "None"}
