"""How is a link's IP configuration written in NMState, and which properties must be set in NetworkManager directly?

The keys are those of nmstate 2.2.62; nm-settings-dbus(5) has the properties they set. ``nm_properties``
returns the properties that NMState has no key for: they are set on the bridge's own profile over D-Bus.
"""

from __future__ import annotations

from collections.abc import Iterable
from ipaddress import IPv6Address
from typing import Any

from nodenet.core.br_ex import dns as bridge_dns
from nodenet.core.br_ex.source import Interface, Source

CARRIED_OVER = {
    "ipv4": (
        *("dad-timeout", "dhcp-dscp", "dhcp-hostname-flags", "dhcp-ipv6-only-preferred", "dhcp-reject-servers"),
        *("dhcp-send-release", "dhcp-vendor-class-identifier", "link-local", "replace-local-rule", "required-timeout"),
        "auto-route-ext-gw",
    ),
    "ipv6": (
        *("dhcp-dscp", "dhcp-hostname-flags", "dhcp-pd-hint", "dhcp-send-release", "ip6-privacy", "mtu"),
        *("replace-local-rule", "required-timeout", "temp-preferred-lifetime", "temp-valid-lifetime"),
        "auto-route-ext-gw",
    ),
    "connection": ("dns-over-tls", "dnssec", "llmnr", "mdns", "metered", "zone"),
}
"""Properties of a profile that NMState has no key for and that belong to the addresses, not to the wire."""
SHOWN_AS_ASKED = ("auto-dns", "auto-gateway", "auto-routes", "auto-route-table-id", "dhcp-send-hostname")
DISABLED = {"enabled": False}
Ip = dict[str, Any]


def ipv4(source: Source, metric: int) -> Ip:
    """Return the section ``ipv4`` of the bridge's interface."""
    match source.method("ipv4"):
        case "auto":
            section: Ip = {"enabled": True, "dhcp": True, **_automatic(source, "ipv4"), "auto-route-metric": metric}
            section["dhcp-client-id"] = _client_id(source)
        case "manual":
            section = {"enabled": True, "dhcp": False, "prefix-route-metric": metric}
        case _:
            # `link-local` too: NMState has no key for it in IPv4, `nm_properties` has.
            return dict(DISABLED)
    section["address"] = addresses(source.static("ipv4"))
    forwarding = source.setting("ipv4", "forwarding")
    return section | ({"forwarding": bool(forwarding)} if forwarding in (0, 1) else {})


def ipv6(source: Source, metric: int) -> Ip:
    """Return the section ``ipv6`` of the bridge's interface."""
    method = source.method("ipv6")
    match method:
        case "auto" | "dhcp":
            section: Ip = {"enabled": True, "dhcp": True, "autoconf": method == "auto", **_automatic(source, "ipv6")}
            section |= {"auto-route-metric": metric} if method == "auto" else {}
            section["dhcp-duid"] = _duid(source)
        case "manual" | "link-local" | "ignore":
            section = {"enabled": True, "dhcp": False, "autoconf": False}
        case _:
            return dict(DISABLED)
    token = interface_identifier(source) if method == "auto" else None
    mode = "eui64" if token else source.ip("ipv6").get("addr-gen-mode")
    section |= {"addr-gen-mode": mode} if mode else {}
    section |= {"token": token} if token else {}
    return section | {"address": addresses(source.static("ipv6"))}


def addresses(interfaces: Iterable[Interface]) -> list[dict[str, Any]]:
    """Return NMState's list of addresses."""
    return [{"ip": str(item.ip), "prefix-length": item.network.prefixlen} for item in interfaces]


def interface_identifier(source: Source) -> str | None:
    """Return the lower half of the autoconfigured address in use as a token (``::1:2:3:4``), None without one.

    However it was made (EUI-64, RFC 7217, a token): a profile of another name makes another one by itself.
    """
    found = source.autoconfigured()
    best = next((item for item in found if item in source.facts.node_ips), next(iter(found), None))
    token = source.setting("ipv6", "token")  # before a router has answered
    return (str(token) if token else None) if best is None else str(IPv6Address(int(best) & (1 << 64) - 1))


def other_identifiers(source: Source) -> list[IPv6Address]:
    """Return the autoconfigured addresses that one token cannot keep: RFC 7217 gives each prefix its own."""
    token = interface_identifier(source)
    low = int(IPv6Address(token)) if token else 0
    return [item for item in source.autoconfigured() if int(item) & (1 << 64) - 1 != low]


def nm_properties(source: Source, metric: int) -> dict[str, dict[str, Any]]:
    """Return setting → property → value for what NMState has no key for in the bridge's profile."""
    found = {
        section: {key: value for key in keys if (value := source.setting(section, key)) is not None}
        for section, keys in CARRIED_OVER.items()
    }
    methods = {family: source.method(family) for family in ("ipv4", "ipv6")}
    if bridge_dns.is_in_profile(source):
        for family in (family for family, method in methods.items() if method in {"auto", "dhcp", "manual"}):
            found[family] |= bridge_dns.of_profile(source, family)
    if methods["ipv4"] == "link-local":
        found["ipv4"]["method"] = "link-local"
    if methods["ipv6"] == "ignore":
        found["ipv6"]["method"] = "ignore"
    if methods["ipv6"] in {"manual", "dhcp"}:
        found["ipv6"]["route-metric"] = metric
    for family, method in methods.items():
        table = source.setting(family, "route-table", 0)
        if method == "manual" and table:
            found[family]["route-table"] = table
    iaid = _iaid(source)
    if iaid is not None and methods["ipv6"] in {"auto", "dhcp"}:
        found["ipv6"]["dhcp-iaid"] = iaid
    return {section: values for section, values in found.items() if values}


def _automatic(source: Source, family: str) -> Ip:
    ip = source.ip(family)
    section = {key: ip[key] for key in SHOWN_AS_ASKED if ip.get(key) is not None}
    # libnmstate keeps name servers beside those of DHCP in the profile only where this is said aloud.
    section.setdefault("auto-dns", True)
    hostname = ip.get("dhcp-custom-hostname")
    return section | ({"dhcp-custom-hostname": hostname} if hostname else {})


def _client_id(source: Source) -> str:
    """Return the DHCPv4 client identifier in use: ``ll`` or its octets; without a lease the one configured.

    ``ll`` is what libnmstate would set without a word.
    """
    lease = source.lease4
    if lease is None or lease.client_id is None:
        return str(source.ip("ipv4").get("dhcp-client-id") or "ll")
    octets = lease.client_id.lower()
    return "ll" if source.keeps_mac and octets == f"01:{source.mac}" else octets


def _duid(source: Source) -> str:
    """Return the DHCPv6 unique identifier in use (RFC 8415 section 11): ``ll`` or its octets."""
    lease = source.lease6
    if lease is None or lease.duid is None:
        return str(source.ip("ipv6").get("dhcp-duid") or "ll")
    octets = lease.duid.lower()
    return "ll" if source.keeps_mac and octets == f"00:03:00:01:{source.mac}" else octets


def _iaid(source: Source) -> str | None:
    """Return the identity association in use as a decimal number, None where it is what libnmstate sets: ``mac``."""
    lease = source.lease6
    if lease is None or lease.iaid is None:
        return None
    octets = bytes.fromhex(lease.iaid.replace(":", ""))
    of_mac = bytes.fromhex(source.mac.replace(":", ""))[-4:] if source.mac else b""
    return None if source.keeps_mac and octets == of_mac else str(int.from_bytes(octets))
