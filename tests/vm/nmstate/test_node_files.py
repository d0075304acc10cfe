"""A node file that makes the links below br-ex as well: bond with a VLAN on it, bond of Open vSwitch (S5).

An installer's second step makes links that an early configuration cannot make, with br-ex on top, before kubelet.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import pytest

from harness import Lab, Lan
from pinger import Pinger
from story import NODE_FILES, causes, checkpoints, nothing_left, settle, stage
from vm.harness import Vm
from vm.uplinks import LEGS, VID, Uplink, lay

HOST = 50
"""The last byte of the node's address; the LAN of a VLAN has a subnet of its own."""
PATIENCE = 400.0
"""Seconds for what takes some where nothing is emulated."""
NO_IP = "  ipv4: {enabled: false}\n  ipv6: {enabled: false}\n"
BOND = f"""\
- name: bond0
  type: bond
  state: up
{NO_IP}  link-aggregation:
    mode: active-backup
    options: {{miimon: 100}}
    port: [{", ".join(LEGS)}]
"""
VLAN = """\
- name: {base}.{vid}
  type: vlan
  state: up
{no_ip}  vlan: {{base-iface: {base}, id: {vid}}}
"""
ETH0 = f"- name: eth0\n  type: ethernet\n  state: up\n{NO_IP}"
BR_EX = """\
interfaces:
{links}- name: br-ex
  type: ovs-bridge
  state: up
  bridge:
    port:
    {port}
    - name: br-ex
- name: br-ex
  type: ovs-interface
  state: up
  {mac}
  ipv4:
    enabled: true
    address: [{{ip: {address}, prefix-length: 24}}]
  ipv6: {{enabled: false}}
dns-resolver: {{config: {{server: [{gateway}]}}}}
routes:
  config:
  - {{destination: 0.0.0.0/0, next-hop-address: {gateway}, next-hop-interface: br-ex}}
"""
OVS_BOND = f"""\
- name: ovs-bond0
      link-aggregation:
        mode: active-backup
        port: [{", ".join(f"{{name: {leg}}}" for leg in LEGS)}]"""


@dataclass(frozen=True, slots=True)
class Case:
    """A node file, and the cables that it needs."""

    name: str
    cables: tuple[str, ...]
    links: str
    port: str
    below: tuple[str, ...]
    """The ports of br-ex in Open vSwitch's database."""
    mac_of: str
    """A link that exists before: libnmstate copies no MAC of one that the same document makes."""
    tagged: bool = False

    def __str__(self) -> str:
        return self.name

    def node_file(self, lan: Lan) -> str:
        """Return the text of the file for a node whose br-ex is on *lan*."""
        mac = f"copy-mac-from: {self.mac_of}"
        address = lan.subnet4[HOST]
        return BR_EX.format(links=self.links, port=self.port, mac=mac, address=address, gateway=lan.gateway4)


def over(link: str) -> str:
    """Return the port of br-ex that *link* is."""
    return f"- name: {link}"


CASES = (
    Case(
        "vlan-on-bond",
        LEGS,
        BOND + VLAN.format(base="bond0", vid=VID, no_ip=NO_IP),
        over(f"bond0.{VID}"),
        (f"bond0.{VID}",),
        LEGS[0],
        tagged=True,
    ),
    Case(
        "ovs-bond",
        LEGS,
        "".join(ETH0.replace("eth0", leg) for leg in LEGS),
        OVS_BOND,
        ("ovs-bond0",),
        LEGS[0],
    ),
)


def holds(vm: Vm, lan: Lan, case: Case) -> None:
    """Assert that br-ex is what the file says, and that the node is reachable over it."""
    address, gateway = str(lan.subnet4[HOST]), str(lan.gateway4)
    document = settle(vm, timeout=PATIENCE)
    assert (document["health"], document["node_ips"], document["link"]) == ("ok", [address], "br-ex")
    skipped = stage(document, "configure-ovs")
    assert (skipped["status"], skipped["detail"]) == ("skipped", "cluster.yml defines br-ex itself")
    assert vm.addresses("br-ex") == [address]
    assert vm.run("ovs-vsctl list-ports br-ex").stdout.split() == list(case.below)
    routes = vm.json("ip -j route show default")
    assert [(route["dev"], route["gateway"]) for route in routes] == [("br-ex", gateway)]
    assert f"nameserver {gateway}" in vm.run("cat /etc/resolv.conf").stdout
    macs = {link["ifname"]: link["address"] for link in vm.json("ip -j link")}
    assert macs["br-ex"] == vm.mac(case.mac_of)
    with Pinger(lan, address, every=0.1) as pinger:
        pinger.wait_for_reply(timeout=60)
    assert checkpoints(vm) == "ao 0"
    assert causes(vm) == []


@pytest.mark.parametrize("case", CASES, ids=str)
def test_a_node_file_makes_the_links_below_br_ex_too(lab: Lab, vm: Vm, case: Case) -> None:
    """Applied before kubelet, the same after a true reboot (S5)."""
    lan = lay(Uplink(case.name, "br-ex", case.cables, tagged=case.tagged), lab, vm)
    vm.write(f"{NODE_FILES}/cluster.yml", case.node_file(lan))
    vm.run("systemctl enable nodenetd crio kubelet", timeout=60)
    vm.run("systemctl start nodenetd", timeout=PATIENCE)
    holds(vm, lan, case)
    vm.run("systemctl start kubelet", timeout=60)
    assert vm.record("kubelet").addresses
    vm.reboot()
    holds(vm, lan, case)


def test_another_link_takes_the_place_of_the_one_below_br_ex(
    lab: Lab, vm: Vm, record_property: Callable[[str, object], None]
) -> None:
    """NIC, bond of the kernel, bond of Open vSwitch, and one of its legs: address, MAC and port number stay."""
    lan = lab.lan()
    for nic in ("eth0", *LEGS):
        vm.plug(nic, lan)
    legs = "".join(ETH0.replace("eth0", leg) for leg in LEGS)
    swaps = (
        ("eth0", "eth0", ETH0, over("eth0")),
        ("bond0", "bond0", BOND, over("bond0")),
        ("ovs-bond0", LEGS[0], f"- name: bond0\n  type: bond\n  state: absent\n{legs}", OVS_BOND),
        ("eth2", "eth2", legs, over("eth2")),
    )
    mac = vm.mac("eth0")
    numbers = []
    for port, link, links, below in swaps:
        text = Case(port, LEGS, links, below, (port,), "eth0").node_file(lan)
        vm.write(f"{NODE_FILES}/cluster.yml", text.replace("copy-mac-from: eth0", f"mac-address: {mac}"))
        if port == "eth0":
            vm.run("systemctl start nodenetd", timeout=PATIENCE)
        else:
            with Pinger(lan, str(lan.subnet4[50]), every=0.1) as pinger:
                pinger.wait_for_reply(timeout=60)
                vm.run("nodenetctl reload --wait", timeout=PATIENCE)
                pinger.wait_for_reply(timeout=60)
            record_property(f"over {port}", f"silent for {pinger.outage:.2f} s")
        document = settle(vm, timeout=PATIENCE)
        assert (document["health"], document["node_ips"]) == ("ok", [str(lan.subnet4[50])]), document["problems"]
        assert vm.run("ovs-vsctl list-ports br-ex").stdout.split() == [port]
        assert vm.json("ip -j link show br-ex")[0]["address"] == mac
        numbers.append(vm.run(f"ovs-vsctl get interface {link} ofport").stdout.strip())
    assert numbers == [numbers[0]] * len(swaps)
    assert causes(vm) == []
    nothing_left(vm)
