"""`from-host` on hosts with a VLAN on a bond, and with a VRF: its file gives the same network and no difference."""

from __future__ import annotations

import pytest
from ruamel.yaml import YAML

from day_one.same_network import becomes, network, steady
from factories import NO_BRIDGE
from harness import Lab
from nmstate_call import call
from story import NODE_FILES, causes, settle, stage
from vm.harness import Vm
from vm.uplinks import LEGS, VID

PATIENCE = 400.0
"""Seconds for what takes some where nothing is emulated."""
OFF = "  ipv4: {enabled: false}\n  ipv6: {enabled: false}\n"
STATIC = (
    "  ipv4: {enabled: true, dhcp: false, address: [{ip: 10.88.0.50, prefix-length: 24}]}\n  ipv6: {enabled: false}\n"
)
ROUTE = """\
routes:
  config:
  - {{destination: 0.0.0.0/0, next-hop-address: 10.88.0.1, next-hop-interface: {link}}}
dns-resolver: {{config: {{server: [10.88.0.1]}}}}
"""


def bond(mode: str, options: str, ip: str) -> str:
    legs = "".join(f"- {{name: {leg}, type: ethernet, state: up}}\n" for leg in LEGS)
    section = f"  link-aggregation:\n    mode: {mode}\n    options: {{{options}}}\n    port: [{', '.join(LEGS)}]\n"
    return f"- name: bond0\n  type: bond\n  state: up\n  mtu: 1450\n{ip}{section}{legs}"


VLAN = (
    f"- name: bond0.{VID}\n  type: vlan\n  state: up\n  mtu: 1450\n{STATIC}  vlan: {{base-iface: bond0, id: {VID}}}\n"
)
BLUE = "- name: blue\n  type: vrf\n  state: up\n  vrf: {port: [eth1], route-table-id: 100}\n"
KINDS = {
    "vlan-on-bond": (
        "interfaces:\n"
        + bond("802.3ad", "miimon: 100, lacp_rate: fast", OFF)
        + VLAN
        + ROUTE.format(link=f"bond0.{VID}")
    ),
    "vrf": (
        f"interfaces:\n{BLUE}- name: eth1\n  type: ethernet\n  state: up\n"
        + STATIC.replace("10.88.0.50", "192.0.2.50")
        + f"- name: eth0\n  type: ethernet\n  state: up\n{STATIC}"
        + ROUTE.format(link="eth0")
    ),
}
PATIENT = "[Service]\nTimeoutStartSec=600\n"
"""An apply takes 40 s where everything is emulated on a busy machine; what is proved here is the network."""
FORGET = """
nmcli --terse --fields UUID connection show | xargs --no-run-if-empty -n 1 nmcli connection delete uuid
rm -rf /etc/NetworkManager/system-connections/* /var/lib/nodenet
for link in bond0 blue; do ip link delete $link 2>/dev/null; done
true
"""
"""What a node knows of its network, so that it is one that was never configured."""


@pytest.mark.parametrize("name", KINDS)
def test_its_file_gives_the_same_network(name: str, lab: Lab, vm: Vm) -> None:
    lan = lab.lan()
    for link in ("eth0", *LEGS):
        if f"name: {link}" in KINDS[name]:
            vm.plug(link, lan)
    call(vm, "apply", KINDS[name])
    before = steady(vm)
    done = vm.run(["nodenetctl", "day-one", "from-host"], timeout=PATIENCE)
    assert [line for line in done.stderr.splitlines() if "warning" in line] == []
    vm.run(FORGET, timeout=PATIENCE)
    assert network(vm)["addresses"] != before["addresses"]
    for path, text in NO_BRIDGE.items():
        vm.write(path, text)
    vm.run(f"mkdir -p {NODE_FILES}")
    vm.write(f"{NODE_FILES}/cluster.yml", done.stdout)
    vm.write("/etc/systemd/system/nodenetd.service.d/10-lab.conf", PATIENT)
    vm.run("systemctl daemon-reload && systemctl start nodenetd", timeout=PATIENCE)
    document = settle(vm, timeout=PATIENCE)
    assert stage(document, "nmstate")["status"] == "done", document
    assert causes(vm) == []
    becomes(vm, before, timeout=PATIENCE / 4)
    again = vm.run(["nodenetctl", "day-one", "from-host"], timeout=PATIENCE)
    assert [line for line in again.stderr.splitlines() if "warning" in line] == []
    reader = YAML(typ="safe", pure=True)
    assert reader.load(again.stdout) == reader.load(done.stdout)
