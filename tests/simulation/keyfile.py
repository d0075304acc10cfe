"""Profiles of NetworkManager as the world keeps them: a keyfile is JSON, below comments perhaps."""

from __future__ import annotations

import json
from collections.abc import Mapping
from ipaddress import IPv4Address, IPv4Interface
from typing import Any

from nodenet.core.network_manager.profiles import Profile

DIRECTORY = "/etc/NetworkManager/system-connections"
IN_RUN = "/run/NetworkManager/system-connections"
Settings = Mapping[str, Mapping[str, Any]]


LOWEST_PRIORITY = -999
"""Of the profiles that NetworkManager makes by itself."""


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
    return f"interface-name={settings['connection'].get('interface-name', '')}\n{json.dumps(settings)}".encode()


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


def is_port(profile: Profile) -> bool:
    return bool(profile.setting("connection", "port-type") == "ovs-port")


def static_of(profile: Profile) -> list[IPv4Interface]:
    if profile.setting("ipv4", "method", "disabled") == "disabled":
        return []
    return [IPv4Interface(f"{one['address']}/{one['prefix']}") for one in profile.setting("ipv4", "address-data") or ()]


def metric_of(kind: str, profile: Profile) -> int:
    return int(profile.setting("ipv4", "route-metric") or (800 if kind == "ovs-interface" else 100))


def gateways_of(profile: Profile, metric: int) -> dict[IPv4Address, int]:
    """Return gateway → metric of the default routes that a profile has."""
    own = profile.setting("ipv4", "gateway")
    found = {IPv4Address(own): metric} if own else {}
    for route in profile.setting("ipv4", "route-data") or ():
        if route["prefix"] == 0 and route.get("next-hop"):
            found[IPv4Address(route["next-hop"])] = int(route.get("metric", metric))
    return found
