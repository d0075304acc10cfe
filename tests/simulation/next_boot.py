"""The laws about what kubelet starts with from boot to boot.

P11  the node IP of the next boot is on the NIC of this one, and is the same unless its server gave another one; no
     router moves one to another prefix
P12  while the node file fails, kubelet starts with no address that the node did not have in its last boot
P13  kubelet starts with no family that neither the last boot nor a VIP or a setting names, but in a first boot
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING

from nodenet.core.node_ip.published_files import drop_in_variables

if TYPE_CHECKING:
    from simulation.systemd import Start
    from simulation.world import World

CHANGE_THE_ADDRESS = frozenset({"dhcp-other-address", "readdressed", "node-file-edited", "file-tried", "file-panics"})
"""Kinds of faults after which the same NIC may have another address."""
LOSES_RECORDS = "disk-"


@dataclass(frozen=True, slots=True)
class NodeIps:
    """With what kubelet was started, and the MAC of the link that had the primary one."""

    boot: int
    addresses: tuple[str, ...]
    mac: str


@dataclass(slots=True)
class NextBoot:
    """*struck* and *file_failed* are the run's: which faults there were, and whether the node file fails now."""

    world: World
    last: NodeIps | None = None
    given: frozenset[str] = frozenset()
    """What was published last while the node file did not fail."""
    struck: Counter[str] = field(default_factory=Counter)
    holds_kubelet: bool = False
    """Whether `on_failure` is "auto"."""
    file_failed: Callable[[], bool] = lambda: False
    named_by_vips: frozenset[int] = frozenset()
    """The IP versions that VIPs or `families` name; no node file here names IPv6."""

    def published(self, content: bytes) -> None:
        """The node IPs for kubelet are about to be written."""
        if not self.file_failed():
            variables = dict(drop_in_variables(content))
            self.given = frozenset(variables.get("KUBELET_NODE_IPS", variables.get("KUBELET_NODE_IP", "")).split(","))

    def kubelet_started(self, start: Start) -> None:
        """Compare with the last start."""
        world, variables = self.world, start.variables
        addresses = tuple(variables.get("KUBELET_NODE_IPS", variables.get("KUBELET_NODE_IP", "")).split(","))
        link = world.kernel.links.get(world.kernel.place_of(ip_address(addresses[0])) or "")
        before, now = self.last, NodeIps(start.boot, addresses, link.mac if link else "")
        self.last = now
        if world.rules.may_change_node_ip or any(kind.startswith(LOSES_RECORDS) for kind in self.struck):
            return
        if self.holds_kubelet and self.file_failed():
            new = set(addresses) - self.given - set(before.addresses if before else ())
            world.rules.hold("P12", f"the node file fails, and kubelet starts with {sorted(new)}", holds=not new)
        self._look_at_families(before, now)
        if before is None or before.boot == now.boot or before.mac not in world.nics:
            return
        moved = f"from {before.addresses[0]} to {addresses[0]}"
        stays = now.mac in ("", before.mac) or world.rules.uplink is not None
        world.rules.hold("P11", f"the node IP moves to another NIC, {moved}", holds=stays)
        asked = any(f'"{addresses[0]}"'.encode() in content for content in world.disk.node_files)
        may_change = bool(self.struck.keys() & CHANGE_THE_ADDRESS) or asked
        for old in before.addresses:
            of_family = [new for new in addresses if (":" in new) is (":" in old)]
            if (old == before.addresses[0] or (":" in old and of_family)) and not may_change:
                same = old in of_family or (":" in old and _prefix(old) in map(_prefix, of_family))
                world.rules.hold("P11", f"the node IP changes {moved}: {old} is not in {addresses}", holds=same)

    def _look_at_families(self, before: NodeIps | None, now: NodeIps) -> None:
        """Compare with what names a family; a first boot that nothing names one for takes what is there."""
        named = {*self.named_by_vips, *_versions(before.addresses if before else ())}
        orders = self.struck.keys() & {"readdressed", "node-file-edited"}
        new = _versions(now.addresses) - named if named and not orders else ()
        self.world.rules.hold("P13", f"nothing names IPv{new}, and kubelet starts with {now.addresses}", holds=not new)


def _prefix(address: str) -> int:
    return int(ip_address(address)) >> 64


def _versions(addresses: Iterable[str]) -> set[int]:
    return {ip_address(each).version for each in addresses if each}
