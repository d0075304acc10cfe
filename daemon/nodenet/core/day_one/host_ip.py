"""Which IP configuration does a link of a running host have, in keys of a node file? Leases are not configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from ipaddress import IPv6Address, ip_address
from typing import Any

from nodenet.core.day_one import defaults
from nodenet.core.day_one.annotated import Remarked, Value
from nodenet.core.ip import is_masquerade

State = Mapping[str, Any]
_LIFETIMES = ("valid-life-time", "valid-left", "valid-lft")
"""How releases of NMState spell the remaining lifetime of an address."""
_AUTOMATIC: Mapping[str, object] = {
    "auto-dns": True,
    "auto-gateway": True,
    "auto-routes": True,
    "auto-route-table-id": 0,
}
_IDENTITY = ("dhcp-client-id", "dhcp-duid", "dhcp-custom-hostname")
OF_NMSTATE = "ll"
"""The identity that libnmstate gives every new profile."""
_ANY = ("0.0.0.0/0", "::/0")


def is_set(section: State) -> bool:
    """Return whether a family has anything beyond a link-local address."""
    return bool(section.get("dhcp") or section.get("autoconf") or _static(section))


def sections(link: State, kind: str, running: Sequence[State]) -> dict[str, Value]:
    """Return ``ipv4`` and ``ipv6`` of a link of type *kind*; *running* are the routes that the kernel has."""
    found: dict[str, Value] = {}
    for family, version in (("ipv4", 4), ("ipv6", 6)):
        section = link.get(family)
        if isinstance(section, Mapping):
            found[family] = _section(section, str(link["name"]), kind, version, running)
    return found


def _section(section: State, name: str, kind: str, version: int, running: Sequence[State]) -> Value:
    if not section.get("enabled"):
        return {"enabled": False}
    dhcp: Value = bool(section.get("dhcp"))
    if version == 6 and dhcp and not section.get("dhcp-duid") and _is_leased_alone(section):
        dhcp = Remarked(dhcp, "a server may give another address: the new profile has a DUID of its own")
    entry: dict[str, Value] = {"enabled": True, "dhcp": dhcp}
    if version == 6:
        entry["autoconf"] = bool(section.get("autoconf"))
    if section.get("dhcp") or section.get("autoconf"):
        entry |= _automatic(section, name, kind, version, running)
    if static := _static(section):
        entry["address"] = [{"ip": each["ip"], "prefix-length": each["prefix-length"]} for each in static]
    return entry


def _automatic(section: State, name: str, kind: str, version: int, running: Sequence[State]) -> dict[str, Value]:
    entry: dict[str, Value] = {
        key: section[key] for key, usual in _AUTOMATIC.items() if section.get(key, usual) != usual
    }
    metric = section.get("auto-route-metric", -1)
    if metric not in (-1, None):
        entry["auto-route-metric"] = metric
    elif (inuse := _metric(name, version, running)) not in (None, defaults.ROUTE_METRIC.get(kind)):
        entry["auto-route-metric"] = Remarked(inuse, "as it is now: NetworkManager counts up where links compete")
    entry |= {key: section[key] for key in _IDENTITY if section.get(key) not in (None, "", OF_NMSTATE)}
    if version == 6 and section.get("autoconf") and (token := _token(section)):
        entry["token"] = Remarked(token, "keeps the address that router advertisements give")
    return entry


def _metric(name: str, version: int, running: Sequence[State]) -> int | None:
    """Return the metric of the default route that the link has learned."""
    any_network = _ANY[version == 6]
    mine = [
        each for each in running if each.get("next-hop-interface") == name and each.get("destination") == any_network
    ]
    metrics = [each["metric"] for each in mine if isinstance(each.get("metric"), int)]
    return min(metrics) if metrics else None


def _static(section: State) -> list[State]:
    """Return the addresses that no lease or advertisement brought."""
    listed = section.get("address")
    found = [each for each in listed if isinstance(each, Mapping)] if isinstance(listed, Sequence) else []
    return [each for each in found if not (_is_leased(each) or _is_of_every_node(str(each.get("ip"))))]


def _is_leased(address: State) -> bool:
    """Return whether a lease or an advertisement brought an address: its lifetime ends."""
    return any(address.get(key) not in (None, "forever") for key in _LIFETIMES)


def _token(section: State) -> str | None:
    """Return the interface identifier of the advertised addresses, where it is not made of the MAC address."""
    if section.get("token"):
        return str(section["token"])
    leased = [each for each in section.get("address", ()) if _is_leased(each) and each.get("prefix-length") == 64]
    identifiers = {int(IPv6Address(each["ip"])) & ((1 << 64) - 1) for each in leased}
    if len(identifiers) != 1:
        return None
    identifier = identifiers.pop()
    made_of_mac = identifier >> 24 & 0xFFFF == 0xFFFE
    return None if made_of_mac else str(IPv6Address(identifier))


def _is_leased_alone(section: State) -> bool:
    """Return whether DHCPv6 gave an address (RFC 8415: without a prefix, so NetworkManager takes 128)."""
    return any(_is_leased(each) and each.get("prefix-length") == 128 for each in section.get("address", ()))


def _is_of_every_node(text: str) -> bool:
    """Return whether each host makes this address itself: link-local ones, and those of OVN-Kubernetes."""
    try:
        address = ip_address(text)
    except ValueError:
        return True
    return address.is_link_local or is_masquerade(address)
