"""P8: a node that is ready, and ok, has what it was configured for."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any

from nodenet.core.hosted_services.model import COMPANION
from nodenet.core.ip import IPAddress
from nodenet.core.messages import Message
from nodenet.core.nmstate import state
from nodenet.core.resolver import nameservers
from simulation.disk import NODE_FILES
from simulation.kernel import FORWARDING
from simulation.keyfile import ip_address
from simulation.nmstate import Nmstate
from simulation.nmstate_document import document_of
from simulation.swapped import uplinks_of

if TYPE_CHECKING:
    from simulation.run import Run

BRIDGE = "br-ex"
APPLIED = frozenset({"static", "dhcp", "other-lease", "bridge"})
"""What a node file may ask for, of those that a node can have."""
OTHER_INPUTS = frozenset(
    {"node-file-edited", "readdressed", "nic-renamed", "nics-swapped", "file-tried", "changed-by-hand"}
)
"""Kinds of faults that change what is asked for, or what for."""
SECOND_LOOKS = frozenset(
    {
        *("events-flood", "wall-clock-steps", "other-profile", "vip-comes", "daemon-killed", "daemon-stopped"),
        *("reload", "notifications-lost", "systemd-silent", "systemd-refuses-reload", "hosted-fails"),
    }
)
"""Kinds of faults that do not keep an address from a link."""


def look_at_what_was_asked_for(run: Run, shown: dict[str, Any]) -> None:
    """Look at br-ex, the way out, the node file, both families, and DNS of this node."""
    if shown["health"] != "ok":
        return
    _look_at_bridge(run, shown)
    _look_at_settings(run, shown)
    _look_at_way_out(run, shown)
    _look_at_node_file(run)
    _look_at_families(run, shown)
    _look_at_dns(run, shown)
    _look_at_kubelet(run, shown)


def _look_at_kubelet(run: Run, shown: dict[str, Any]) -> None:
    """Look at what kubelet was started with."""
    if runs_with := run.world.systemd.runs_with("kubelet.service"):
        node_ips = ",".join(shown["node_ips"])
        has = runs_with.get("KUBELET_NODE_IPS")
        run.world.rules.hold("P8", f"health ok with {node_ips}, and kubelet runs with {has}", holds=has == node_ips)


def _look_at_bridge(run: Run, shown: dict[str, Any]) -> None:
    world, rules, node = run.world, run.world.rules, run.scenario.node
    if node.ovn and not run.struck["bridge-remove"]:
        rules.hold("P8", f"health ok, and the bridge is {shown['bridge']}", holds=shown["bridge"] == BRIDGE)
    if shown["bridge"] and node.second_nic != "spare":  # see `swapped`
        uplinks = uplinks_of(world)
        rules.hold("P8", f"health ok, and {BRIDGE} is over {uplinks}", holds=uplinks == [world.uplink_of(BRIDGE)])
    if shown["bridge"]:
        links = {link for _, link in _places(run, shown)}
        rules.hold("P8", f"health ok, and the node IPs are on {links}", holds=links <= {BRIDGE})


def _look_at_settings(run: Run, shown: dict[str, Any]) -> None:
    """Look at a setting that the kernel has for the uplink, on the br-ex that was made in this boot.

    A br-ex that NetworkManager activates, in a later boot or when it is started again, is a new link of the kernel.
    """
    world, node = run.world, run.scenario.node
    made = any(line.fields.get("message") is Message.BRIDGE_MADE for line in world.rules.journal)
    if shown["bridge"] != BRIDGE or not made or node.file == "bridge" or not set(run.struck) <= SECOND_LOOKS:
        return
    value = world.kernel.links[BRIDGE].sysctls[FORWARDING]
    wanted = world.kernel.links[world.uplink].sysctls[FORWARDING]
    world.rules.hold("P8", f"health ok, and {FORWARDING} of {BRIDGE} is {value}", holds=value == wanted)


def _places(run: Run, shown: dict[str, Any]) -> list[tuple[IPAddress, str]]:
    """Return the node IPs that are there, with their links: one that is lost need not be known yet.

    What NetworkManager left on the uplink when it ended may be there beside the address of br-ex.
    """
    kernel = run.world.kernel
    bridge = kernel.links.get(BRIDGE)
    on_bridge = bridge.addresses if bridge else ()
    places = {one: BRIDGE if one in on_bridge else kernel.place_of(one) for one in map(ip_address, shown["node_ips"])}
    return [(address, link) for address, link in places.items() if link]


def _look_at_way_out(run: Run, shown: dict[str, Any]) -> None:
    world, rules = run.world, run.world.rules
    for address, link in _places(run, shown):
        segment = world.segment_of(link)
        rules.hold("P8", f"health ok, and {link} leads nowhere", holds=segment is not None)
        is_routed = segment and (segment.gateway if address.version == 4 else segment.prefix6)
        gateways = world.kernel.links[link].gateways
        found = not is_routed or any(each.version == address.version for each in gateways)
        found = found or "gateway" in rules.hands.standing(link)
        rules.hold("P8", f"health ok, and {link} has no default route for {address}", holds=found)


def _look_at_node_file(run: Run) -> None:
    world, rules, node = run.world, run.world.rules, run.scenario.node
    if node.file not in APPLIED or run.struck.keys() & OTHER_INPUTS or world.disk.torn:
        return
    assert run.process is not None
    assert run.process.reconciler is not None
    content = world.disk.content[f"{NODE_FILES}/{node.file_name}"]
    facts, digest = run.process.reconciler.status.facts, hashlib.sha256(content).hexdigest()
    rules.hold("P8", f"health ok, and {facts.applied_digest} is applied", holds=facts.applied_digest == digest)
    asked, nmstate = document_of(content.decode()), Nmstate(world.life)
    moved = state.uplinks(nmstate.state(), (BRIDGE,)) if facts.bridge and not facts.brings_bridge else {}
    left = state.still_asked(nmstate.missing(asked), moved)
    rules.hold("P8", f"health ok, and the node file asks for {left}", holds=not left)
    rules.hold("P8", f"said to differ from the node file: {facts.changed}", holds=not facts.changed)


def _look_at_families(run: Run, shown: dict[str, Any]) -> None:
    node = run.scenario.node
    if node.ipv6 in ("", "only") or node.families != "auto" or not set(run.struck) <= SECOND_LOOKS:
        return
    versions = {ip_address(one).version for one in shown["node_ips"]}
    run.world.rules.hold("P8", f"a node with both families has {shown['node_ips']}", holds=versions == {4, 6})


def _look_at_dns(run: Run, shown: dict[str, Any]) -> None:
    world, rules, node = run.world, run.world.rules, run.scenario.node
    if not node.hosted:
        return
    rules.hold("P8", "health ok, and nodenet-hosted does not run", holds=world.hosted.state(COMPANION).is_up)
    if not node.resolved:
        servers = [str(one) for one in nameservers(world.disk.read("/etc/resolv.conf") or b"")]
        rules.hold("P8", f"health ok, and the DNS servers are {servers}", holds=servers[:1] == shown["node_ips"][:1])
