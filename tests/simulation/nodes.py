"""Nodes as there are many: most seeds take one of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from simulation.scenario import Node

PLAIN = Node(
    profile="automatic",
    second_nic="",
    file="",
    of_host=True,
    ovn=True,
    vips=False,
    on_failure="auto",
    families="auto",
    short_lease=False,
    kernel_datapath=True,
    named_after=0.0,
    nonlocal_bind=False,
)
ORDINARY: Mapping[str, Node] = {
    "br-ex": PLAIN,
    "plain": replace(PLAIN, ovn=False),
    "static": replace(PLAIN, profile="static"),
    "short-lease": replace(PLAIN, profile="dhcp", short_lease=True),
    "nonlocal-bind": replace(PLAIN, nonlocal_bind=True, vips=True),
    "second-nic": replace(PLAIN, second_nic="isolated"),
    "file": replace(PLAIN, ovn=False, file="static"),
    "file-br-ex": replace(PLAIN, file="static"),
    "file-dhcp": replace(PLAIN, file="dhcp", profile="dhcp"),
    "file-other-lease": replace(PLAIN, file="other-lease", ovn=False),
    "bridge-of-file": replace(PLAIN, file="bridge", ovn=False),
    "refused": replace(PLAIN, file="missing-nic", on_failure="degrade"),
    "dead-gateway": replace(PLAIN, ovn=False, file="dead-gateway", on_failure="degrade"),
    "dead-gateway-br-ex": replace(PLAIN, file="dead-gateway", profile="dhcp", on_failure="degrade"),
    "taken-address": replace(PLAIN, file="taken-address", profile="static", on_failure="degrade"),
    "dual-stack": replace(PLAIN, ipv6="router"),
    "dual-stack-static": replace(PLAIN, ipv6="static", profile="static"),
    "ipv6": replace(PLAIN, ipv6="only", profile="dhcp"),
    "dhcpv6": replace(PLAIN, ipv6="dhcp"),
    "bond": replace(PLAIN, uplink="bond"),
    "vlan": replace(PLAIN, uplink="vlan", ipv6="router"),
    "br-ex1": replace(PLAIN, second_nic="isolated", extra_bridge=True),
    "unit": replace(PLAIN, ovn=False, unit="hostname"),
    "hosted": replace(PLAIN, vips=True, hosted=True),
    "resolved": replace(PLAIN, vips=True, hosted=True, resolved=True),
}
"""Nodes as there are many."""
TWO_LANS = (replace(PLAIN, second_nic="routed"), replace(PLAIN, second_nic="routed", ovn=False))
"""Nodes with a second way out: by another NIC, another DHCP server and another gateway."""
HELD = tuple(replace(PLAIN, file=file, ovn=False) for file in ("missing-nic", "invalid"))
"""Nodes whose first node file fails."""
OFTEN = ("br-ex", "br-ex", "plain", "dual-stack", "short-lease", "nonlocal-bind", "file-br-ex")
"""Those that are searched twice as often."""
TRIED_ON = ("plain", "plain", "unit", "file", "second-nic")
"""Nodes that have a link which is below no bridge."""
TRIED_FREELY = ("static", "short-lease", "dual-stack", "dhcpv6", "file-dhcp")
"""Nodes that have one without OVN-Kubernetes."""
