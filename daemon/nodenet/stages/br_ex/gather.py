"""How are the facts gathered on which br-ex is planned? Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from nodenet.core.br_ex.facts import BridgeFacts
from nodenet.core.ip import IPAddress
from nodenet.core.kernel.snapshot import AddressFlag
from nodenet.core.nmstate.failure import FailureKind, NmstateFailure
from nodenet.core.nmstate.state import without_addresses
from nodenet.core.node_ip.select import Selection
from nodenet.core.ownership import rule
from nodenet.core.ownership.things import Others, without_others
from nodenet.core.settings.model import Datapath
from nodenet.core.value import frozen
from nodenet.ports import Files, Kernel, Ovsdb, Profiles, Standing, Sysctls, Transaction

DEFAULT_BRIDGE = PurePosixPath("/etc/ovnk/default_bridge")
EXTRA_BRIDGE = PurePosixPath("/etc/ovnk/extra_bridge")
NEW_LINKS = "default"
"""The name below /proc/sys that has the settings of links to come."""


@frozen
class Gatherer:
    """The edges that have facts about the node."""

    profiles: Profiles
    ovsdb: Ovsdb
    sysctls: Sysctls
    kernel: Kernel
    standing: Standing
    files: Files
    vips: tuple[IPAddress, ...] = ()
    """Addresses of the cluster that this node may hold at this moment: they move with their holder, not with a link."""

    async def gather(
        self,
        transaction: Transaction,
        selection: Selection | None,
        *,
        remembered: str | None = None,
        remembered_mac: str | None = None,
    ) -> BridgeFacts:
        """Return the facts as they are now; *remembered* is the uplink of the last boot, with its permanent MAC.

        The node IPs may be on another link than when they were selected. What other programs put on a bridge is left
        out of the state. Raises NmstateFailure, Unavailable, PublishFailed.
        """
        found = await self.profiles.inventory()
        vips = {str(vip) for vip in self.vips if not selection or vip not in selection.node_ips}
        bridges = await self.ovsdb.bridges() if self.ovsdb.answers() else ()  # without Open vSwitch there are none
        others = Others(self.standing.noted(), frozenset(rule.foreign_ports(bridges)))
        state = without_others(without_addresses(await transaction.show(), vips), others)
        named = {place: self._text(place) for place in (DEFAULT_BRIDGE, EXTRA_BRIDGE)}
        links = {*_with_addresses(state), *(text.strip() for text in named.values() if text)}
        addresses = self.kernel.snapshot().addresses
        places = {entry.address: entry.link for entry in addresses}
        node_ips, link = (selection.node_ips, selection.link) if selection else ((), None)
        return BridgeFacts(
            state=state,
            temporary=tuple(entry.address for entry in addresses if AddressFlag.TEMPORARY in entry.flags),
            global_dns=found.global_dns,
            devices=found.devices,
            profiles=found.profiles,
            sysctls={
                link: self.sysctls.of_link(link) for link in (NEW_LINKS, *sorted(links)) if _could_be_a_link(link)
            },
            node_ips=node_ips,
            node_ip_link=places.get(node_ips[0], link) if node_ips else link,
            default_bridge=named[DEFAULT_BRIDGE],
            extra_bridge=named[EXTRA_BRIDGE],
            remembered=remembered,
            remembered_mac=remembered_mac,
            ovs=bridges,
        )

    async def prove_plugin(self) -> None:
        """Return when NetworkManager can do Open vSwitch. Raises NmstateFailure, Unavailable.

        libnmstate sees that it cannot only when it has changed the uplink's profile: the rollback costs the address.
        """
        if not (await self.profiles.inventory(profiles=False)).ovs:
            why = "NetworkManager has not loaded its plugin for Open vSwitch"
            raise NmstateFailure(FailureKind.DEPENDENCY, why)

    async def prove_datapath(self, datapath: Datapath) -> None:
        """Return when Open vSwitch can make bridges of that kind. Raises NmstateFailure, Unavailable.

        It accepts a bridge that it cannot make, and libnmstate gives up after half a minute without the address.
        """
        if datapath is Datapath.SYSTEM and not await self.ovsdb.has_kernel_datapath():
            why = "the kernel has no datapath of Open vSwitch (kernel module openvswitch)"
            remedy = "Install and load the kernel module openvswitch (`modprobe openvswitch`)"
            raise NmstateFailure(FailureKind.DEPENDENCY, why, remedy)

    def _text(self, path: PurePosixPath) -> str | None:
        content = self.files.read(path)
        return None if content is None else content.decode(errors="backslashreplace")


def _with_addresses(state: Mapping[str, Any]) -> Iterator[str]:
    """Yield the links with IP: only their settings can matter, and a node may have a thousand others."""
    for interface in state.get("interfaces", ()):
        if any(interface.get(family, {}).get("enabled") for family in ("ipv4", "ipv6")):
            yield interface["name"]


def _could_be_a_link(name: str) -> bool:
    """Whether the name may be part of a path: the plan refuses the others, with the reason."""
    return name not in ("", ".", "..") and not set(name) & set("/\0\n")
