"""Over which links can a br-ex be made? Each as an NMState document, and as the cables that it needs."""

from __future__ import annotations

from dataclasses import dataclass

from harness import Lab, Lan
from vm.harness import Trunk, Vm

VID = 100
LEGS = ("eth1", "eth2")
AUTO = """\
  ipv4: {enabled: true, dhcp: true}
  ipv6: {enabled: true, autoconf: true, dhcp: true}
"""
STATIC = """\
  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.88.0.50, prefix-length: 24}]}
  ipv6: {enabled: false}
"""
STATIC_ROUTE = """\
routes:
  config:
  - {{destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: {link}, table-id: 254, metric: {metric}}}
dns-resolver: {{config: {{server: [10.88.0.1]}}}}
"""
NO_IP = """\
  ipv4: {enabled: false}
  ipv6: {enabled: false}
"""


@dataclass(frozen=True, slots=True)
class Uplink:
    """A link that carries the node's address before there is a bridge."""

    name: str
    link: str
    cables: tuple[str, ...]
    document: str = ""
    """What makes it; empty: NetworkManager does so by itself."""
    tagged: bool = False
    own_mac: bool = True
    """False: the link takes the MAC of whichever leg is active, so nobody may pin it."""
    static: bool = False

    def __str__(self) -> str:
        return self.name


def bond(mode: str, options: str = "", ip: str = AUTO) -> str:
    """Return a document with bond0 over both legs."""
    return f"""\
- name: bond0
  type: bond
  state: up
{ip}  link-aggregation:
    mode: {mode}
    options: {{{options}}}
    port: [{", ".join(LEGS)}]
"""


def vlan(base: str, base_ip: str = "") -> str:
    """Return a document with a VLAN on a link; the link itself has no address."""
    made = f"- name: {base}.{VID}\n  type: vlan\n  state: up\n{AUTO}  vlan: {{base-iface: {base}, id: {VID}}}\n"
    return f"{base_ip}{made}"


def document(interfaces: str) -> str:
    """Return an NMState document."""
    return f"interfaces:\n{interfaces}" if interfaces else ""


NIC = Uplink("nic", "eth0", ("eth0",))
VLAN = Uplink(
    "vlan",
    "eth0.100",
    ("eth0",),
    document(vlan("eth0", f"- name: eth0\n  type: ethernet\n  state: up\n{NO_IP}")),
    tagged=True,
)
ACTIVE_BACKUP = Uplink("active-backup", "bond0", LEGS, document(bond("active-backup", "miimon: 100")))
FAIL_OVER_MAC = Uplink(
    "fail-over-mac",
    "bond0",
    LEGS,
    # Static: a DHCP client goes on with the MAC that the bond had when it was started.
    document(bond("active-backup", "miimon: 100, fail_over_mac: active", STATIC))
    + STATIC_ROUTE.format(link="bond0", metric=300),
    own_mac=False,
    static=True,
)
VLAN_ON_BOND = Uplink(
    "vlan-on-bond", "bond0.100", LEGS, document(vlan("bond0", bond("802.3ad", "miimon: 100", NO_IP))), tagged=True
)
VRF = document("""\
- name: blue
  type: vrf
  state: up
  vrf: {port: [eth1], route-table-id: 100}
- name: eth1
  type: ethernet
  state: up
  ipv4: {enabled: true, address: [{ip: 192.0.2.1, prefix-length: 24}]}
""")


def lay(uplink: Uplink, lab: Lab, vm: Vm) -> Lan:
    """Put the cables in; returns the LAN on which the node has its address."""
    lan = lab.lan()
    serving = Trunk(lab, lan, VID).access if uplink.tagged else lan
    for link in uplink.cables:
        vm.plug(link, lan)
    return serving


def wait_for_address(vm: Vm, link: str, lan: Lan) -> None:
    """Wait for an address of the LAN, and for the route and the nameserver that come with it."""
    vm.wait_until(f"ip -4 address show dev {link} | grep ' {lan.subnet4.network_address.packed[0]}.'")
    vm.wait_until(f"ip -4 route show default dev {link} | grep {lan.gateway4}")
    vm.wait_until(f"grep {lan.gateway4} /etc/resolv.conf")


def vrf(vm: Vm) -> str:
    """Return how that VRF is: its port and its routes."""
    return vm.run("ip -br link show master blue; ip route show table 100; ip -br address show eth1").stdout
