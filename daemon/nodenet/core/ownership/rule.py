"""Who has put an address, a route, a neighbour or a port on a link: NetworkManager, the kernel, or another program?

This is the one rule of ownership. nodenet owns what it wrote, and it writes through NetworkManager only. The kernel
and Open vSwitch's database know the writer: NetworkManager sets its addresses without a prefix route (it adds that
route itself), gives its routes one of the protocols below, and marks its ports. Everything else is of another program,
such as OVN-Kubernetes on br-ex. What others put on a link is no difference to a node file or to the plan of br-ex, is
never written into a profile, and is on the link after each change as it was before.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nodenet.core.kernel.neighbours import Neighbour
from nodenet.core.kernel.snapshot import Address, AddressFlag, Route
from nodenet.core.network_manager.profiles import Device
from nodenet.core.open_vswitch.bridges import PHYSICAL, OvsBridge, OvsPort

OWN_PROTOCOLS = frozenset({"kernel", "redirect", "static", "dhcp", "ra"})
"""Of the kernel's own routes, and of those of NetworkManager."""
PATCH = "patch"


def is_of_another(item: Address | Route | Neighbour) -> bool:
    """Return whether neither NetworkManager nor the kernel has put *item* there."""
    match item:
        case Address():
            ours = AddressFlag.NO_PREFIX_ROUTE in item.flags or item.address.is_loopback or _is_link_local6(item)
            return item.is_permanent and not ours
        case Route():
            return item.kind == "unicast" and item.protocol not in OWN_PROTOCOLS
        case _:
            return item.fixed and item.mac is not None and not item.address.is_multicast


def configured_links(devices: Iterable[Device]) -> frozenset[str]:
    """Return the links with a profile: of others it is not known what their configuration is.

    A profile that NetworkManager generated says only what was on the link already.
    """
    return frozenset(each.link for each in devices if each.profile is not None and not each.profile.generated)


def foreign_ports(bridges: Iterable[OvsBridge]) -> Iterator[tuple[str, str]]:
    """Yield bridge and name of each port of Open vSwitch that NetworkManager did not make."""
    for bridge in bridges:
        yield from ((bridge.name, port.name) for port in bridge.ports if not port.by_network_manager)


def patch_ports(bridges: Iterable[OvsBridge]) -> Iterator[tuple[str, OvsPort]]:
    """Yield the patch ports of other programs, such as those of OVN, with the names of their bridges."""
    for bridge in bridges:
        for port in bridge.ports:
            if not port.by_network_manager and [item.kind for item in port.interfaces] == [PATCH]:
                yield bridge.name, port


def patched(bridges: Iterable[OvsBridge]) -> frozenset[str]:
    """Return the bridges on which another program has a patch port, as OVN has on br-ex."""
    return frozenset(name for name, _ in patch_ports(bridges))


def ports_of_bridges(bridges: Iterable[OvsBridge]) -> frozenset[str]:
    """Return the links of the host that are ports of Open vSwitch: they have no configuration of their own."""
    return frozenset(
        item.name
        for bridge in bridges
        for port in bridge.ports
        for item in port.interfaces
        if item.kind in PHYSICAL and item.name != bridge.name
    )


def _is_link_local6(item: Address) -> bool:
    return item.address.version == 6 and item.address.is_link_local
