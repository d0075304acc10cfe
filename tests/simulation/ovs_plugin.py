"""NetworkManager's plugin for Open vSwitch: profiles of bridges, ports and interfaces become rows and links."""

from __future__ import annotations

from typing import TYPE_CHECKING

from nodenet.core.network_manager.profiles import Profile
from simulation.addressing import Device
from simulation.open_vswitch import Row

if TYPE_CHECKING:
    from simulation.network_manager import NetworkManager
    from simulation.world import World


def make_row(manager: NetworkManager, world: World, device: Device, profile: Profile) -> None:
    ovs = world.ovs
    if not ovs.database_up:
        manager.fail(device)
        return
    row = ovs.rows.setdefault(device.link, Row(device.link))
    row.profile = profile.uuid
    row.datapath = str(profile.setting("ovs-bridge", "datapath-type", ""))
    row.external_ids |= profile.setting("ovs-external-ids", "data", {})
    ovs.touch()
    device.state = 100
    manager.touch()


def make_internal(manager: NetworkManager, world: World, device: Device, profile: Profile, turn: int) -> None:
    ovs, kernel = world.ovs, world.kernel
    row = ovs.rows.get(device.link)
    if row is None or not ovs.works:
        manager.again(device, turn, 30.0)
        return
    port = next(
        (one for one in manager.memory.profiles.values() if (one.kind, one.link) == ("ovs-port", device.link)), None
    )
    row.ports[device.link] = ("internal", port.uuid if port else profile.uuid)
    ovs.touch()
    mac = str(profile.setting("802-3-ethernet", "cloned-mac-address", "02:00:00:00:00:01"))
    if device.link not in kernel.links:
        kernel.add(device.link, mac, "openvswitch")
    manager.ip.configure(device, profile)


def join(manager: NetworkManager, world: World, device: Device, profile: Profile, turn: int) -> None:
    """Make a NIC a port of its bridge."""
    ovs = world.ovs
    port = profile.setting("connection", "controller")
    above = next(
        (one for one in manager.memory.profiles.values() if one.kind == "ovs-port" and port in (one.link, one.uuid)),
        None,
    )
    row = ovs.rows.get(str(above.setting("connection", "controller"))) if above else None
    if above is None or row is None or not ovs.works:
        manager.again(device, turn, 30.0)
        return
    row.ports[device.link] = ("system", above.uuid)
    ovs.plug(device.link, profile.setting("ovs-interface", "ofport-request"))
    ovs.touch()
    device.state = 100
    manager.touch()


def clean_up(manager: NetworkManager, world: World) -> None:
    """Remove the ports that NetworkManager made once and has no profile for any more, as it does at its start."""
    for row in world.ovs.rows.values():
        for link in [name for name, (_, uuid) in row.ports.items() if uuid and uuid not in manager.memory.profiles]:
            if world.ovs.database_up:
                del row.ports[link]
                world.ovs.unplug(link)
                world.ovs.touch()


def leave_bridges(world: World, link: str) -> None:
    for row in world.ovs.rows.values():
        if world.ovs.database_up and row.ports.get(link, ("", ""))[1]:
            del row.ports[link]
            world.ovs.unplug(link)
            world.ovs.touch()


def remove_device(manager: NetworkManager, world: World, device: Device) -> None:
    manager.memory.devices.pop((device.kind, device.link), None)
    ovs = world.ovs
    if device.kind == "ovs-bridge":
        if ovs.database_up and device.link in ovs.rows:
            for link in ovs.rows.pop(device.link).ports:
                ovs.unplug(link)
            ovs.touch()
    elif device.kind == "ovs-interface":
        row = ovs.rows.get(device.link)
        if row and ovs.database_up:
            row.ports.pop(device.link, None)
            ovs.touch()
        world.kernel.remove(device.link)
