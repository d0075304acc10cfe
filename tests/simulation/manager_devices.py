"""Devices and profiles that NetworkManager makes by itself, without being asked."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import TYPE_CHECKING

from nodenet.core.network_manager.profiles import Profile
from simulation.addressing import Device
from simulation.keyfile import IN_RUN, LOWEST_PRIORITY, Settings, made

if TYPE_CHECKING:
    from simulation.network_manager import NetworkManager
    from simulation.world import World

AUTOMATIC = {"method": "auto"}


def make_automatic(manager: NetworkManager, link: str, mac: str) -> None:
    """Make a profile in memory for a NIC that has none."""
    profiles = manager.memory.profiles.values()
    if any(one.link == link and one.kind == "802-3-ethernet" for one in profiles):
        return
    taken = {one.name for one in profiles}
    name = next(one for one in map("Wired connection {}".format, itertools.count(1)) if one not in taken)
    uuid = f"a0000000-0000-4000-{int(name.split()[-1]):04x}-{mac.replace(':', '')}"
    connection = {"id": name, "uuid": uuid, "type": "802-3-ethernet", "interface-name": link}
    lowest = {"autoconnect-priority": LOWEST_PRIORITY}
    settings: Settings = {"connection": {**connection, **lowest}, "ipv4": AUTOMATIC, "ipv6": AUTOMATIC}
    manager.put(made(settings, f"{IN_RUN}/{name}.nmconnection", on_disk=False))


def make_virtual_links(manager: NetworkManager, world: World) -> None:
    """Make the links of bonds and VLANs, each of which has a profile."""
    kernel = world.kernel
    for profile in [one for one in manager.memory.profiles.values() if one.kind in ("bond", "vlan")]:
        parent = profile.setting("vlan", "parent")
        if profile.link not in kernel.links and (parent is None or parent in kernel.links):
            kernel.add(profile.link, next(iter(world.nics)), profile.kind, (parent,) if parent else ())
        if profile.link in kernel.links:
            manager.memory.devices.setdefault((profile.kind, profile.link), Device(profile.link, profile.kind))


def make_ovs_devices(manager: NetworkManager) -> None:
    if not manager.has_ovs:
        return
    for profile in list(manager.memory.profiles.values()):
        if (
            profile.kind in ("ovs-bridge", "ovs-interface")
            and (profile.kind, profile.link) not in manager.memory.devices
        ):
            manager.memory.devices[profile.kind, profile.link] = Device(profile.link, profile.kind)


def has_controller(profiles: Iterable[Profile], port: Profile) -> bool:
    """Return whether the port of Open vSwitch that *port* names has a profile, and the bridge of that port too."""
    known, name = tuple(profiles), port.setting("connection", "controller")
    above = (one for one in known if one.kind == "ovs-port" and name in (one.link, one.uuid))
    bridges = {one.setting("connection", "controller") for one in above}
    return any(one.kind == "ovs-bridge" and {one.link, one.uuid} & bridges for one in known)
