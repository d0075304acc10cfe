"""How libnmstate makes of a node what a document asks for: profiles of NetworkManager, and their activation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from nodenet.core.network_manager.profiles import Profile
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from simulation.addressing import NICS, Device
from simulation.keyfile import made
from simulation.nmstate_document import Document, ip_settings

if TYPE_CHECKING:
    from simulation.world import World


def write_bridges(world: World, document: Document) -> None:
    """Write the profiles of *document* for bridges and what is inside them, and activate those; remove what is gone."""
    gone = [item for item in document.get("interfaces", ()) if item["state"] == "absent"]
    for item in gone:
        _remove(world, item["name"])
    for item in _present(document, "ovs-bridge"):
        _write_bridge(world, item)
    for item in _present(document, "ovs-interface"):
        _write_interface(world, item, document)


def write_nics(world: World, document: Document) -> None:
    """Write the other profiles of *document*, and activate them. Raises NmstateFailure."""
    ports = {port["name"]: item["name"] for item in _present(document, "ovs-bridge") for port in item["bridge"]["port"]}
    for item in _present(document, *NICS):
        _write_nic(world, item, document, ports.get(item["name"]))


def _present(document: Document, *kinds: str) -> list[Document]:
    """Return the interfaces of *kinds* that are to be there."""
    return [item for item in document.get("interfaces", ()) if item["state"] != "absent" and item["type"] in kinds]


def _remove(world: World, name: str) -> None:
    manager = world.manager
    kinds = ("ovs-interface", "ovs-port", "ovs-bridge")
    for profile in [one for one in manager.memory.profiles.values() if one.kind in kinds]:
        if name in (profile.link, profile.setting("connection", "controller")):
            manager.delete(profile.uuid)


def _profile(  # noqa: PLR0913  (what a profile is written from)
    world: World, kind: str, link: str, name: str, more: Document, *, port_of: str = ""
) -> Profile:
    """Write a profile of *kind* for *link*: the active one, or one that there is, with *more*, or another one."""
    manager = world.manager
    active = {device.profile for device in manager.memory.devices.values()}
    there = [one for one in manager.memory.profiles.values() if (one.kind, one.link) == (kind, link)]
    before = next((one for one in there if one.uuid in active), next(iter(there), None))
    uuid = before.uuid if before else f"c0000000-0000-4000-8000-{manager.new_number():012x}"
    connection: dict[str, Any] = {"id": before.name if before else name, "uuid": uuid, "type": kind}
    connection["interface-name"] = link
    if port_of:
        connection |= {"controller": port_of, "port-type": "ovs-bridge" if kind == "ovs-port" else "ovs-port"}
    kept = {} if before is None else {key: value for key, value in before.settings.items() if key not in more}
    settings = kept | more | {"connection": connection}
    profile = made(settings, before.path if before and before.on_disk else "", on_disk=True)
    manager.put(profile)
    return manager.memory.profiles[uuid]


def _write_bridge(world: World, item: Document) -> None:
    manager, name = world.manager, item["name"]
    marks = item.get("ovs-db", {}).get("external_ids", {})
    datapath = item["bridge"].get("options", {}).get("datapath", "")
    more = {"ovs-external-ids": {"data": marks}, "ovs-bridge": {"datapath-type": datapath}}
    profile = _profile(world, "ovs-bridge", name, f"{name}-br", more)
    _let_go(world, name, {port["name"] for port in item["bridge"]["port"]})
    for port in item["bridge"]["port"]:
        _profile(world, "ovs-port", port["name"], f"{port['name']}-port", {}, port_of=name)
    device = manager.memory.devices.setdefault(("ovs-bridge", name), Device(name, "ovs-bridge"))
    manager.activate(device, profile)


def _let_go(world: World, bridge: str, wanted: set[str]) -> None:
    """Delete the profiles of the ports of *bridge* that are not *wanted*, and let their links go."""
    manager = world.manager
    for port in [one for one in manager.memory.profiles.values() if one.kind == "ovs-port"]:
        if port.setting("connection", "controller") == bridge and port.link not in wanted:
            manager.delete(port.uuid)
            below = [one for one in manager.memory.devices.values() if (one.kind, one.link) == ("ethernet", port.link)]
            for device in below:
                manager.down(device)


def _write_interface(world: World, item: Document, document: Document) -> None:
    manager, name = world.manager, item["name"]
    above = world.kernel.links.get(str(item.get("copy-mac-from")))
    mac = above.mac if above else item.get("mac-address")
    more = _ip_of(item, document)
    more["ipv4"] = more.get("ipv4", {}) | {"dhcp-timeout": 2**31 - 1}
    more["802-3-ethernet"] = {"cloned-mac-address": mac} if mac else {}
    profile = _profile(world, "ovs-interface", name, f"{name}-if", more, port_of=name)
    device = manager.memory.devices.setdefault(("ovs-interface", name), Device(name, "ovs-interface"))
    world.rules.written_profile(name)
    if device.profile == profile.uuid and device.state == 100:
        world.kernel.strip(name)
        manager.ip.configure(device, profile)
    else:
        manager.activate(device, profile)


def _write_nic(world: World, item: Document, document: Document, bridge: str | None) -> None:
    manager, name, kind = world.manager, item["name"], NICS[item["type"]]
    device = manager.memory.devices.get((item["type"], name))
    if device is None:
        raise NmstateFailure(FailureKind.INVALID, f"Interface {name} does not exist")
    if bridge:
        profile = _profile(world, kind, name, name, {"ipv4": {}, "ipv6": {}}, port_of=name)
    else:
        before = manager.memory.profiles.get(device.profile or "")
        world.rules.written_profile(name)
        profile = _profile(world, kind, name, name, _ip_of(item, document))
        if before and before.uuid == profile.uuid and device.state == 100:
            manager.ip.reapply(device, profile, before)
            return
    manager.activate(device, profile)


def _ip_of(item: Document, document: Document) -> Document:
    """Return the sections of a profile for the families that *item* names."""
    found: Document = {}
    for family in ("ipv4", "ipv6"):
        if (wanted := ip_settings(item, document, family)) is not None:
            metric = item[family].get("auto-route-metric")
            found[family] = wanted | ({"route-metric": metric} if metric else {})
    return found
