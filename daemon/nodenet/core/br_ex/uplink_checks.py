"""Can this link be the uplink of br-ex, and if not, what must be changed?"""

from __future__ import annotations

from collections.abc import Mapping

from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.errors import UplinkRefused
from nodenet.core.network_manager.profiles import Device
from nodenet.core.nmstate import state

FIT = frozenset({"ethernet", "veth", "bond", "vlan", "linux-bridge", "dummy"})
"""Types of NMState that can be a port of Open vSwitch without changing the links below them."""
UNFIT: Mapping[str, str] = {
    # type by NMState's name or NetworkManager's → why it cannot be a port
    "loopback": "it is the loopback link",
    "wifi": "it is a wireless link: an access point accepts frames of one MAC only",
    "wireguard": "it is a point-to-point link without Ethernet frames",
    "ppp": "it is a point-to-point link without Ethernet frames",
    "tun": "it is a point-to-point link without Ethernet frames",
    "ip-tunnel": "it is a point-to-point link without Ethernet frames",
    "wwan": "it is a point-to-point link without Ethernet frames",
    "modem": "it is a point-to-point link without Ethernet frames",
    "infiniband": "it carries InfiniBand, not Ethernet frames",
    "ovs-interface": "it is an interface of Open vSwitch itself",
    "vrf": "it is a VRF, which no bridge can have as a port",
    "team": "NMState does not know team links: use a bond",
}
OVN_LINKS = ("br-int", "ovn-k8s-mp", "genev_sys", "ovs-system", "patch-", "ext-")
"""How the names of links begin that OVN-Kubernetes and Open vSwitch make for themselves."""
IPV6_MTU = 1280
REMEDY = "Name another link in /etc/ovnk/default_bridge"
EXTRA_REMEDY = "Name another link in /etc/ovnk/extra_bridge, or remove the file"


def refuse_unfit(facts: BridgeFacts, link: str, bridge: str, chosen: str) -> None:
    """Raise UplinkRefused, beginning with *chosen*, unless *link* can go below *bridge*."""
    remedy = REMEDY if bridge == "br-ex" else EXTRA_REMEDY
    item = state.link(facts.state, link)
    if item is None:
        raise UplinkRefused(f"{chosen}, but this node has no such link", remedy=remedy)
    device = facts.device(link)
    why = _unfit_kind(item, device) or _taken(facts, link, bridge)
    if why:
        raise UplinkRefused(f"{chosen}, but {why}", remedy=remedy)
    _refuse_mtu(facts, item, device, chosen)
    _refuse_shared(device, chosen)


def _unfit_kind(item: state.State, device: Device | None) -> str | None:
    kind, name = str(item.get("type", "")), str(item.get("name"))
    if name.startswith(OVN_LINKS):
        return "it belongs to OVN-Kubernetes"
    kinds = (kind, device.kind if device else "")
    why = next((UNFIT[each] for each in kinds if each in UNFIT), None)
    if why or kind in FIT:
        return why
    return f"a link of type {kind or 'unknown'} cannot be a port of an Open vSwitch bridge"


def _taken(facts: BridgeFacts, link: str, bridge: str) -> str | None:
    """Return a sentence about the controller of *link*; None without one, or where it is *bridge*."""
    for owner in facts.ovs:
        names = {item.name for port in owner.ports for item in port.interfaces}
        if owner.name != bridge and link in names:
            return f"it is a port of the Open vSwitch bridge {owner.name} already"
    for kind, name in state.controllers(facts.state, link):
        if (kind, name) != (state.OVS_BRIDGE, bridge):
            return f"it is a port of {name} ({kind}) already"
    return None


def _refuse_mtu(facts: BridgeFacts, item: state.State, device: Device | None, chosen: str) -> None:
    profile = device.profile if device else None
    wanted = int(profile.setting("802-3-ethernet", "mtu", 0)) if profile else 0
    name, most = item.get("name"), int(item.get("max-mtu") or 0)
    if profile and most and wanted > most:
        raise UplinkRefused(
            f"{chosen}, but the profile {profile.name!r} gives it MTU {wanted} and it can do {most} at most",
            remedy=f"Set 802-3-ethernet.mtu of the profile {profile.name!r} to {most} or less",
        )
    below = state.link(facts.state, str(item.get("vlan", {}).get("base-iface", "")))
    mtu, lower = int(item.get("mtu") or 0), int(below.get("mtu") or 0) if below else 0
    if 0 < mtu < IPV6_MTU and (item.get("ipv6") or {}).get("enabled"):
        raise UplinkRefused(
            f"{chosen}, but its MTU {mtu} is too small for IPv6, which needs {IPV6_MTU} (RFC 8200)",
            remedy=f"Give {name} an MTU of {IPV6_MTU} or more, or disable IPv6 in its profile",
        )
    if below and lower and mtu > lower:
        raise UplinkRefused(
            f"{chosen}, but its MTU {mtu} is larger than that of {below.get('name')} ({lower}), the link below it",
            remedy=f"Give {below.get('name')} an MTU of {mtu} or more, or {name} one of {lower} or less",
        )


def _refuse_shared(device: Device | None, chosen: str) -> None:
    profile = device.profile if device else None
    for family in ("ipv4", "ipv6"):
        if profile and profile.setting(family, "method") == "shared":
            raise UplinkRefused(
                f"{chosen}, but {family}.method of its profile {profile.name!r} is `shared`: NetworkManager would run "
                "a DHCP server and NAT on br-ex",
                remedy=f"Give the profile {profile.name!r} a method such as `auto` or `manual`",
            )
