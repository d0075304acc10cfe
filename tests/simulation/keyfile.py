"""Profiles of NetworkManager as the world keeps them: a keyfile is JSON, below comments perhaps."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from functools import lru_cache
from ipaddress import IPv4Interface, IPv6Interface
from ipaddress import ip_address as _ip_address
from ipaddress import ip_interface as _ip_interface
from typing import Any

from nodenet.core.ip import IPAddress
from nodenet.core.network_manager.profiles import Profile

DIRECTORY = "/etc/NetworkManager/system-connections"
FAMILIES = ("ipv4", "ipv6")
Interface = IPv4Interface | IPv6Interface
IN_RUN = "/run/NetworkManager/system-connections"
Settings = Mapping[str, Mapping[str, Any]]
MACHINE_DUID = "00:04:6a:0b:ee:1d:3c:5b:4f:0a:9b:6c:1d:2e:3f:40:51:62"
"""What NetworkManager makes of the machine-id."""
LOWEST_PRIORITY = -999
"""Of the profiles that NetworkManager makes by itself."""


@lru_cache(maxsize=1024)
def ip_address(text: str) -> IPAddress:
    return _ip_address(text)


@lru_cache(maxsize=1024)
def ip_interface(text: str) -> Interface:
    return _ip_interface(text)


def made(settings: Settings, path: str, *, on_disk: bool) -> Profile:
    connection = settings["connection"]
    return Profile(
        connection["uuid"],
        connection["id"],
        connection["type"],
        connection.get("interface-name", ""),
        on_disk,
        path,
        settings,
        generated=not on_disk and connection.get("autoconnect-priority") == LOWEST_PRIORITY,
    )


def rendered(settings: Settings) -> bytes:
    """Return a keyfile: the link as a real one names it, for programs that change it there, and JSON."""
    connection = settings["connection"]
    named = "".join(f"{key}={connection.get(key, '')}\n" for key in ("id", "uuid", "type", "interface-name"))
    return f"[connection]\n{named}{json.dumps(settings)}".encode()


def parsed(content: bytes | None) -> Settings | None:
    """Return the settings of a keyfile, None where it is torn."""
    lines = (content or b"").decode().splitlines()
    link = next((line.partition("=")[2].strip() for line in lines if line.startswith("interface-name")), "")
    try:
        found: Settings = json.loads("".join(line for line in lines if line.startswith("{")))
    except ValueError:
        return None
    if "uuid" not in found.get("connection", {}):
        return None
    return {**found, "connection": {**found["connection"], "interface-name": link}}


def client6(profile: Profile, link: str, mac: str) -> tuple[str, str]:
    """Return the DUID and the IAID with which *link* asks a DHCPv6 server, in hexadecimal with colons."""
    duid = profile.setting("ipv6", "dhcp-duid") or MACHINE_DUID
    iaid = profile.setting("ipv6", "dhcp-iaid")
    number = zlib.crc32(link.encode()) if iaid is None else None if iaid == "mac" else int(iaid)
    octets = mac[-11:] if number is None else number.to_bytes(4).hex(":")
    return f"00:03:00:01:{mac}" if duid == "ll" else str(duid), octets


def is_port(profile: Profile) -> bool:
    """Whether a profile makes its link the port of an Open vSwitch bridge."""
    return bool(profile.setting("connection", "port-type") == "ovs-port")


def bond_of(profile: Profile) -> str | None:
    """Return the bond that a profile makes its link a port of."""
    of_bond = profile.setting("connection", "port-type") == "bond"
    return str(profile.setting("connection", "controller")) if of_bond else None


def static_of(profile: Profile) -> list[Interface]:
    """Return the static addresses of both families."""
    found = []
    for family in FAMILIES:
        if profile.setting(family, "method", "disabled") != "disabled":
            listed = profile.setting(family, "address-data") or ()
            found += [ip_interface(f"{one['address']}/{one['prefix']}") for one in listed]
    return found


def metric_of(kind: str, profile: Profile, family: str = "ipv4") -> int:
    return int(profile.setting(family, "route-metric") or (800 if kind == "ovs-interface" else 100))


def gateways_of(kind: str, profile: Profile) -> dict[IPAddress, int]:
    """Return gateway → metric of the default routes that a profile has on a device of *kind*."""
    found = {}
    for family in FAMILIES:
        metric = metric_of(kind, profile, family)
        if own := profile.setting(family, "gateway"):
            found[ip_address(own)] = metric
        for route in profile.setting(family, "route-data") or ():
            if route["prefix"] == 0 and route.get("next-hop"):
                found[ip_address(route["next-hop"])] = int(route.get("metric", metric))
    return found
